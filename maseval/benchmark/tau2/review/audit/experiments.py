"""Experiments: the reference solution is played with something changed, in the benchmark's world.

Its free texts are put in other words, and its writing calls and their lists in another order. The
world, the tools and the rules of the policy are those of a run. An agent that does the same has
done nothing wrong if the tools take every call and the rules have nothing against it that they do
not have against the reference solution; where it misses the reward all the same, that is found.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice, permutations

from maseval.benchmark.tau2.formats.message import render_call
from maseval.benchmark.tau2.review.audit.audited import AuditedTask, TaskFinding, toolkit_with
from maseval.benchmark.tau2.review.audit.values import replace_part, texts_in
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
