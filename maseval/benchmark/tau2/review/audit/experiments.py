"""Experiments: the reference solution is played with something changed, in the benchmark's world.

Its free texts are put in other words, and its writing calls and their lists in another order. Each
id in a writing call is replaced by those of the records that stand beside it, such as the other
cards of a customer. The world, the tools and the rules of the policy are those of a run. An agent
that does the same has done nothing wrong if the tools take every call, the rules have nothing
against it that they do not have against the reference solution, and the user's words neither name
nor compare what sets the two apart; where it misses the reward all the same, that is found.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice, permutations
from typing import NamedTuple

from maseval.benchmark.tau2.formats.message import render_call
from maseval.benchmark.tau2.review.audit.audited import (
    AuditedDomain,
    AuditedTask,
    TaskFinding,
    toolkit_with,
)
from maseval.benchmark.tau2.review.audit.values import (
    RecordHolder,
    holders_of,
    owner_of,
    replace_part,
    texts_in,
    values_of,
)
from maseval.benchmark.tau2.review.explain.snapshot import FieldPath
from maseval.benchmark.tau2.review.policy import check_gold, scenario_text
from maseval.benchmark.tau2.world.tasks import Action, RewardType
from maseval.core.words import count_of

TAKEN = "happened: accepted by the tools, no policy rule broken; the end state differs"
_MOST_ORDERS = 24
# Words of a user who asks for an order.
_ORDER = re.compile(r"\b(?:first|then|after|before)\b")


class Laboratory:
    """The place where a task's reference solution is varied; what it does itself is known once."""

    def __init__(self, task: AuditedTask) -> None:
        self.task = task
        self.actions = task.spec.actions

    @cached_property
    def writes(self) -> list[int]:
        """The places of the calls that change something and are not refused."""
        return [
            number
            for number, action in enumerate(self.actions)
            if self.task.setting.may_write(action.call())
            and not any(fault.action_id == action.action_id for fault in self.task.gold.errors)
        ]

    def is_another_way(self, actions: Sequence[Action]) -> bool:
        """Return True if tools and rules take calls that nevertheless miss the reward."""
        refused, passes = self._play(actions)
        if passes or refused > self._gold_refused:
            return False
        return self._breaches(actions) <= self._gold_breaches

    def vary(self, number: int, arguments: Mapping[str, object]) -> list[Action]:
        """Return the reference solution with other arguments of one of its calls."""
        changed = self.actions[number].model_copy(update={"arguments": dict(arguments)})
        return [*self.actions[:number], changed, *self.actions[number + 1 :]]

    @cached_property
    def _gold_refused(self) -> int:
        return self._play(self.actions)[0]

    @cached_property
    def _gold_breaches(self) -> frozenset[str]:
        return self._breaches(self.actions)

    def _play(self, actions: Sequence[Action]) -> tuple[int, bool]:
        """Make calls as a run would: how many are refused, and does the end earn the reward?"""
        task = self.task
        world = task.setting._replace(solo=False).world(task.spec.start.history)
        refused = sum(bool(world.respond(action.call())["error"]) for action in actions)
        if not task.looks_at_the_world:
            return refused, True
        if task.counts(RewardType.DB) and not world.same_state(task.gold.world):
            return refused, False
        asserted = task.counts(RewardType.ENV_ASSERTION)
        return refused, not asserted or task.assertions_hold(world)

    def _breaches(self, actions: Sequence[Action]) -> frozenset[str]:
        """Return the policy's rules that calls break, as far as the state decides it."""
        assert self.task.criteria is not None
        criteria = self.task.criteria.model_copy(update={"actions": tuple(actions)})
        spec = self.task.spec.model_copy(update={"evaluation_criteria": criteria})
        found = check_gold(self.task.setting._replace(task=spec), scenario_text(self.task.raw))
        return frozenset(each.rule for each in found.breaches)


def render_apart(action: Action, other: Action) -> str:
    """Return a call with the ids in it and what sets it apart from another, the rest left out."""
    kept = {
        name: value
        for name, value in action.arguments.items()
        if name.endswith("_id") or other.arguments.get(name) != value
    }
    return render_call({**action.call(), "arguments": kept})


def free_texts(task: AuditedTask) -> Iterator[TaskFinding]:
    """Put each text of several words that a write stores into other words of the same meaning."""
    laboratory = Laboratory(task)
    for number in laboratory.writes:
        action = laboratory.actions[number]
        flips = [
            (path, text, varied[number])
            for path, text in texts_in(action.arguments)
            if _is_free(text)
            for varied in [
                laboratory.vary(number, replace_part(action.arguments, path, _reword(text)))
            ]
            if laboratory.is_another_way(varied)
        ]
        if not flips:
            continue
        unheard = [text for _, text, _ in flips if not _is_given(laboratory, number, text)]
        listed = ", ".join(f"{path[0]} {text!r}" for path, text, _ in flips)
        words = (
            f"nobody gives the agent the words {unheard[0]!r}"
            if unheard
            else "the wording is given"
        )
        yield task.finding(
            "free text is compared",
            "warning" if unheard else "info",
            f"{action.name} is compared letter by letter in {listed}: reworded, the task "
            f"fails; {words}",
            *(f"tried: {render_apart(varied, action)}" for _, _, varied in flips),
            TAKEN,
            call=render_call(action.call()),
        )


def _is_free(text: str) -> bool:
    """Return True if a text has several words, as sentences, titles and lines of addresses have."""
    if re.search(r"[_@{]|\d[-:/]\d", text):  # a name in code, an address of mail, a time
        return False
    return bool(re.search(r"[A-Za-z]{2,}\W+\w|\w\W+[A-Za-z]{2,}", text))


def _reword(text: str) -> str:
    """Return a text that means the same."""
    if len(text.split()) > 4:
        return f"In short: {text[0].lower()}{text[1:]}"
    return text.lower() if text != text.lower() else text.capitalize()


def _is_given(laboratory: Laboratory, number: int, text: str) -> bool:
    """Return True if the user, the policy or a tool's answer before the call has the words."""
    task = laboratory.task
    world = task.new_world()
    heard = [task.scenario, task.audited.policy]
    for action in laboratory.actions[:number]:
        heard.append(world.respond(action.call())["content"] or "")
    sought = text.lower()
    return any(sought in each.lower() for each in heard) or task.is_in_the_world(text)


def order_of_writes(task: AuditedTask) -> Iterator[TaskFinding]:
    """Make the writing calls of one tool in every other order that tools and rules take.

    They are independent of each other: their order is nobody's business, while those of two tools
    may not be. Calls without arguments, as those that switch something over, depend on what was
    before.
    """
    laboratory = Laboratory(task)
    actions = laboratory.actions
    places = [place for place in laboratory.writes if actions[place].arguments]
    for order in _orders(actions, places):
        moved = list(actions)
        for place, source in zip(places, order, strict=True):
            moved[place] = actions[source]
        if laboratory.is_another_way(moved):
            yield task.finding(
                "order of writes is compared",
                "warning",
                f"with its {count_of(len(places), 'write')} in another order "
                f"({', '.join(_tool(moved[place]) for place in places)}) the end state differs, "
                "and the task fails",
                *(f"gold: {render_call(actions[place].call())}" for place in places),
                *(f"tried: {render_call(actions[source].call())}" for source in order),
                TAKEN,
            )
            return


def _orders(actions: Sequence[Action], places: Sequence[int]) -> Iterator[Sequence[int]]:
    for tool in dict.fromkeys(_tool(actions[place]) for place in places):
        own = [place for place in places if _tool(actions[place]) == tool]
        for order in islice(permutations(own), 1, _MOST_ORDERS):
            source = dict(zip(own, order, strict=True))
            yield [source.get(place, place) for place in places]


def _tool(action: Action) -> str:
    """Return the tool that a call means, also within another."""
    inner = (value for name, value in action.arguments.items() if name.endswith("tool_name"))
    return str(next(inner, action.name))


def order_in_lists(task: AuditedTask) -> Iterator[TaskFinding]:
    """Turn round the lists of each writing call, those of one length together."""
    laboratory = Laboratory(task)
    for number in laboratory.writes:
        action = laboratory.actions[number]
        for names in _lists_of_one_length(task, action):
            turned = {name: action.arguments[name][::-1] for name in names}
            varied = laboratory.vary(number, {**action.arguments, **turned})
            if laboratory.is_another_way(varied):
                yield task.finding(
                    "order in a list is compared",
                    "info" if _ORDER.search(task.scenario) else "warning",
                    f"{action.name} with {' and '.join(names)} in another order leads to another "
                    "end state, and the task fails",
                    f"tried: {render_apart(varied[number], action)}",
                    TAKEN,
                    call=render_apart(action, varied[number]),
                )


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


_MONEY = frozenset({"price", "amount", "balance"})
# "The other card", "a brighter one", "the type you just ordered": the records decide.
_COMPARES = re.compile(
    r"\b(?:more|less|fewer|fewest|most|least|same|other|original|exact|type (?:that|you)|upgrade"
    r"|max\w*|minimi\w+|(?:bigg|small|larg|short|long|bright|dark|light|cheap|high|low|old|new"
    r"|fast|slow|eas[iy]|hard|earl[iy]|lat|strong|weak|wid|thick|thinn|soft|heav[iy])(?:er|est))\b"
)
_WORD = re.compile(r"[a-z]+|\d+(?:\.\d+)?")
_NO_CONTENT = {"the", "and", "with", "for", "not", "you", "your", "all", "one"}
_ROOT = 4
_MOST_SHOWN = 3

Holders = Mapping[str, Sequence[RecordHolder]]


def holders_beside(audited: AuditedDomain, tasks: Sequence[AuditedTask]) -> Holders:
    """Return the places that hold each record which a reference solution names."""
    actions = [action for task in tasks for action in task.spec.actions]
    wanted = frozenset(text for action in actions for _, text in texts_in(action.arguments))
    return holders_of(audited.tables, wanted)


class _Choice(NamedTuple):
    """A value of one of the reference solution's calls, and what stands beside it."""

    number: int
    path: FieldPath
    value: str
    others: Mapping[str, object]
    record: object


def undecided_choices(task: AuditedTask, beside: Holders) -> Iterator[TaskFinding]:
    """Find values for which another stands that the user's words do not rule out.

    Where assertions alone decide, another way that does not meet them has not done the task.
    """
    if not task.counts(RewardType.DB):
        return
    chooser = _Chooser(task, beside)
    for choice in chooser.of_records():
        rivals = [
            (other, varied[choice.number])
            for other in choice.others
            for varied in [chooser.vary(choice, other)]
            if chooser.laboratory.is_another_way(varied)
        ]
        if rivals:
            yield _finding(task, choice, rivals)


def _finding(
    task: AuditedTask, choice: _Choice, rivals: Sequence[tuple[str, Action]]
) -> TaskFinding:
    action = task.spec.actions[choice.number]
    listed = [_describe(other, choice.others[other], choice.record) for other, _ in rivals]
    more = f" and {len(listed) - _MOST_SHOWN} more" if len(listed) > _MOST_SHOWN else ""
    argument = [part for part in choice.path if isinstance(part, str)][-1]
    own = _describe(choice.value, choice.record, choice.others[rivals[0][0]])
    text = (
        f"nothing that the user knows decides {argument} of {action.name}: the gold has {own}, but "
        f"{'; '.join(listed[:_MOST_SHOWN])}{more} would do as well, and then the task fails"
    )
    tried = [f"tried: {render_apart(each, action)}" for _, each in rivals[:_MOST_SHOWN]]
    call = render_apart(action, rivals[0][1])
    return task.finding("several right end states", "warning", text, *tried, TAKEN, call=call)


def _describe(key: str, record: object, beside: object) -> str:
    own = sorted(values_of(record) - values_of(beside))
    differing = [f"{field} {value}" for field, value in own if value != key][:4]
    return f"{key} ({', '.join(differing)})" if differing else key


class _Chooser:
    """The choices that a task's reference solution makes and the user's words leave open."""

    def __init__(self, task: AuditedTask, beside: Holders) -> None:
        self.laboratory = Laboratory(task)
        self._beside = beside
        self._tables = task.audited.tables
        self._choices = task.audited.domain.choices
        self._words = _Words(task.scenario)
        self._used = {
            text for action in task.spec.actions for _, text in texts_in(action.arguments)
        }

    def of_records(self) -> Iterator[_Choice]:
        """Yield ids with the records beside theirs that would do as well."""
        for number in self.laboratory.writes:
            arguments = self.laboratory.actions[number].arguments
            named = [text for _, text in texts_in(arguments)]
            owners = self._owners(named)
            for path, value in texts_in(arguments):
                if named.count(value) > 1 or self._is_decided(number, path, value):
                    continue  # the same again, or in the user's own words
                before = self._values_before(named, value)
                for holder in self._beside.get(value, ()):
                    if holder.root in owners or not self._owner(holder):
                        record = holder.members[value]
                        others = {
                            key: other
                            for key, other in holder.members.items()
                            if key not in named
                            and not (key in self._used and self._is_root(key))
                            and self._fits(record, other, before)
                        }
                        yield _Choice(number, path, value, others, record)

    def _is_decided(self, number: int, path: FieldPath, value: str) -> bool:
        """Return True if the user's words decide a value, by naming it or by a comparison.

        Where the domain says which choices it leaves open, and by which words they are settled,
        that counts.
        """
        if value.lower() in self._words.text:
            return True
        tool, name = self.laboratory.actions[number].name, str(path[0])
        listed = [e for e in self._choices if e.argument == name and tool in e.tools]
        if any(not each.unordered for each in listed):
            return not any(each.allows(tool, name, self._words.text) for each in listed)
        return _COMPARES.search(self._words.text) is not None

    def vary(self, choice: _Choice, other: str) -> list[Action]:
        """Return the calls with another value; a record of its own is another one in all calls."""
        if not self._is_root(choice.value):
            arguments = self.laboratory.actions[choice.number].arguments
            return self.laboratory.vary(choice.number, replace_part(arguments, choice.path, other))
        varied = []
        for action in self.laboratory.actions:
            arguments = action.arguments
            for path, text in texts_in(arguments):
                if text == choice.value:
                    arguments = replace_part(arguments, path, other)
            varied.append(action.model_copy(update={"arguments": arguments}))
        return varied

    def _is_root(self, key: str) -> bool:
        return any(key in table for table in self._tables.values())

    def _owners(self, named: Sequence[str]) -> set[str]:
        """Return the records that a call names, and those to which they belong."""
        tables = self._tables.values()
        roots = [table[key] for key in named for table in tables if key in table]
        return {*filter(None, (owner_of(root, self._tables) for root in roots)), *named}

    def _owner(self, holder: RecordHolder) -> str | None:
        return owner_of(self._tables[holder.table][holder.root], self._tables)

    def _values_before(self, named: Sequence[str], value: str) -> set[tuple[str, str]]:
        """Return the values of the other records that a call names: an exchange takes them away.

        A user who does not speak of such a value wants to keep it.
        """
        return {
            pair
            for each in named
            if each != value
            for holder in self._beside.get(each, ())
            if holder.root in named
            for pair in values_of(holder.members[each])
        }

    def _fits(self, record: object, other: object, before: set[tuple[str, str]]) -> bool:
        """Return True if the words fit another record as well as the gold's."""
        for field, value in values_of(record) - values_of(other):
            if field in _MONEY:
                continue
            if field == "name" or (field, value) in before or self._words.name(value, field):
                return False
        return True


class _Words:
    """The words of a user's text, by their first letters."""

    def __init__(self, text: str) -> None:
        self.text = text.lower()
        self._roots = frozenset(word[:_ROOT] for word in _WORD.findall(self.text))

    def name(self, value: str, field: str = "") -> bool:
        """Return True if a value is named: its numbers, or else one of its words.

        Of a value that has several words joined, as in credit_card, all must be there, and of a
        yes or a no the field.
        """
        own = [word[:_ROOT] for word in _WORD.findall(value.lower())]
        if any(word[0].isdigit() for word in own):
            return all(word in self._roots for word in own if word[0].isdigit())
        if value.lower() in ("yes", "no", "none", "not"):
            return any(map(self.name, re.findall(r"[a-z]{3,}", field.lower())))
        content = [word for word in own if len(word) > 2 and word not in _NO_CONTENT] or own
        found = [word in self._roots for word in content]
        return bool(found) and (all(found) if "_" in value else any(found))
