"""Findings about how a reference solution may be carried out otherwise and still be right.

Its free texts are put in other words, and its writing calls are made in another order. An agent
that does either has done nothing wrong; where the verdict changes, it fails all the same.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise, permutations

from maseval.benchmark.tau2.review.audit.criteria import finding_about
from maseval.benchmark.tau2.review.audit.experiments import TAKEN, Laboratory, render_apart
from maseval.benchmark.tau2.review.audit.records import replace_part, texts_in
from maseval.benchmark.tau2.review.audit.subject import AuditedTask, Finding, toolkit_with
from maseval.benchmark.tau2.review.explain.explanation import render_call
from maseval.benchmark.tau2.world.tasks import Action
from maseval.core.words import count_of

_MOST_ORDERS = 24
# Words of a user who asks for an order.
_ORDER = re.compile(r"\b(?:first|then|after|before)\b")
_SPELLINGS = {
    "Street": "St",
    "St": "Street",
    "Avenue": "Ave",
    "Ave": "Avenue",
    "Road": "Rd",
    "Suite": "Ste",
    "Apt": "Apartment",
    "Drive": "Dr",
    "Lane": "Ln",
}


def free_texts(task: AuditedTask) -> Iterator[Finding]:
    """Put each text of several words that a write stores into other words of the same meaning."""
    laboratory = Laboratory(task)
    for number in laboratory.writes:
        action = laboratory.actions[number]
        flips = [
            (path, text, varied[number])
            for path, text in texts_in(action.arguments)
            if _is_free(text)
            for varied in [
                laboratory.vary(number, replace_part(action.arguments, path, in_other_words(text)))
            ]
            if laboratory.is_another_way(varied)
        ]
        if not flips:
            continue
        unheard = [text for _, text, _ in flips if not _is_given(laboratory, number, text)]
        listed = ", ".join(f"{path[0]} {text!r}" for path, text, _ in flips)
        words = f"nobody gives the words {unheard[0]!r}" if unheard else "its words are given"
        yield finding_about(
            task,
            "free text is compared",
            "warning" if unheard else "info",
            f"{action.name} is compared letter by letter in {listed}: put in other words, the "
            f"task fails; {words}",
            action_id=action.action_id,
            gold=render_call(action.call()),
            tried=[render_apart(varied, action) for _, _, varied in flips],
            happened=TAKEN,
        )


def _is_free(text: str) -> bool:
    """Tell whether a text has several words, as sentences, titles and lines of addresses have."""
    if re.search(r"[_@{]|\d[-:/]\d", text):  # a name in code, an address of mail, a time
        return False
    return bool(re.search(r"[A-Za-z]{2,}\W+\w|\w\W+[A-Za-z]{2,}", text))


def in_other_words(text: str) -> str:
    """Return a text that means the same: an abbreviation written out, or a sentence rearranged."""
    for word, other in _SPELLINGS.items():
        if re.search(rf"\b{word}\b", text):
            return re.sub(rf"\b{word}\b", other, text)
    if len(text.split()) > 4:
        return f"In short: {text[0].lower()}{text[1:]}"
    return text.lower() if text != text.lower() else text.capitalize()


def _is_given(laboratory: Laboratory, number: int, text: str) -> bool:
    """Tell whether the user, the policy or a tool's answer before the call has the same words."""
    task = laboratory.task
    world = task.begun()
    heard = [task.told, task.audited.policy]
    for action in laboratory.actions[:number]:
        heard.append(world.respond(action.call())["content"] or "")
    sought = text.lower()
    return any(sought in each.lower() for each in heard) or task.is_in_the_world(text)


def order_of_writes(task: AuditedTask) -> Iterator[Finding]:
    """Make writing calls in every other order that tools and rules take.

    Calls of one tool are independent of each other: their order is nobody's business. Calls of
    two tools may not be; a user may also ask for an order. Calls without arguments, as those that
    switch something over, depend on what was before.
    """
    laboratory = Laboratory(task)
    actions = laboratory.actions
    places = [place for place in laboratory.writes if actions[place].arguments]
    for order, alike in _orders(actions, places):
        moved = _in_order(actions, places, order)
        if not laboratory.is_another_way(moved):
            continue
        yield finding_about(
            task,
            "order of writes is compared",
            "warning" if alike else "info",
            f"with its {count_of(len(places), 'write')} in another order "
            f"({', '.join(_tool(moved[place]) for place in places)}) the end state differs, and "
            "the task fails",
            gold=[_short(actions, place) for place in places],
            tried=[_short(actions, source) for source in order],
            happened=TAKEN,
        )
        return


def _orders(
    actions: Sequence[Action], places: Sequence[int]
) -> Iterator[tuple[Sequence[int], bool]]:
    """Yield other orders of calls, those that move only calls of one tool first."""
    for tool in dict.fromkeys(_tool(actions[place]) for place in places):
        own = [place for place in places if _tool(actions[place]) == tool]
        for order in islice(permutations(own), 1, _MOST_ORDERS):
            source = dict(zip(own, order, strict=True))
            yield [source.get(place, place) for place in places], True
    for first, second in pairwise(places):
        if _tool(actions[first]) != _tool(actions[second]):
            swapped = {first: second, second: first}
            yield [swapped.get(place, place) for place in places], False


def _short(actions: Sequence[Action], place: int) -> str:
    """Return a call with what sets it apart from the other calls of its tool."""
    action = actions[place]
    others = [each for each in actions if _tool(each) == _tool(action) and each is not action]
    return render_apart(action, others[0]) if others else render_call(action.call())


def _tool(action: Action) -> str:
    """Return the tool that a call means, also within another."""
    inner = (value for name, value in action.arguments.items() if name.endswith("tool_name"))
    return str(next(inner, action.name))


def _in_order(
    actions: Sequence[Action], places: Sequence[int], order: Sequence[int]
) -> list[Action]:
    moved = list(actions)
    for place, source in zip(places, order, strict=True):
        moved[place] = actions[source]
    return moved


def fewer_calls(task: AuditedTask) -> Iterator[Finding]:
    """Leave out a call whose record the next call of the same tool changes as well."""
    laboratory = Laboratory(task)
    for first, second in pairwise(laboratory.writes):
        one, other = laboratory.actions[first], laboratory.actions[second]
        both = [each for each in _records(task, one) if each in task.audited.owners]
        if one.name != other.name or not both or not {*both} <= {*_records(task, other)}:
            continue
        fewer = [*laboratory.actions[:first], *laboratory.actions[first + 1 :]]
        if laboratory.is_another_way(fewer):
            yield finding_about(
                task,
                "several right end states",
                "warning",
                f"what the gold does by two calls of {one.name} can be done by the second alone, "
                "and then the task fails",
                action_id=one.action_id,
                gold=[render_call(one.call()), render_call(other.call())],
                tried=[render_call(other.call())],
                happened=TAKEN,
            )


def _records(task: AuditedTask, action: Action) -> list[str]:
    """Return the records that a call names, other than in lists."""
    texts = [value for value in action.arguments.values() if isinstance(value, str)]
    return [each for each in texts if any(each in table for table in task.audited.tables.values())]


def order_in_lists(task: AuditedTask) -> Iterator[Finding]:
    """Turn round the lists of each writing call, those of one length together."""
    laboratory = Laboratory(task)
    for number in laboratory.writes:
        action = laboratory.actions[number]
        for names in _lists_of_one_length(task, action):
            turned = {name: action.arguments[name][::-1] for name in names}
            varied = laboratory.vary(number, {**action.arguments, **turned})
            if not laboratory.is_another_way(varied):
                continue
            yield finding_about(
                task,
                "order in a list is compared",
                "info" if _ORDER.search(task.told) or _is_kept(task, action, names) else "warning",
                f"{action.name} with {' and '.join(names)} in another order leads to another end "
                "state, and the task fails",
                action_id=action.action_id,
                gold=render_apart(action, varied[number]),
                tried=[render_apart(varied[number], action)],
                happened=TAKEN,
            )


def _is_kept(task: AuditedTask, action: Action, names: Sequence[str]) -> bool:
    """Tell whether a record that a call names has such a list, whose order a user would keep."""
    tables = task.audited.tables.values()
    records = [table[key] for key in _records(task, action) for table in tables if key in table]
    return any(name in record for record in records for name in names if isinstance(record, dict))


def _lists_of_one_length(task: AuditedTask, action: Action) -> list[list[str]]:
    """Return the names of lists that belong together.

    A list whose order means something, as the tool says, is not among them, nor one of one value.
    """
    kit = toolkit_with(task.audited.domain, action)
    inputs = kit.get_tool_metadata(action.name)["inputs"] if kit else {}
    lengths: dict[int, list[str]] = defaultdict(list)
    for name, value in action.arguments.items():
        meaning = str(inputs.get(name, {}).get("description", ""))
        if isinstance(value, list) and len(value) > 1 and "in the order of" not in meaning:
            lengths[len(value) if isinstance(value[0], str) else -len(lengths) - 1].append(name)
    return list(lengths.values())
