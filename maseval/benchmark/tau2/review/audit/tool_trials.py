"""Findings about the tools themselves, by trying them out in the benchmark's own world.

A writing tool that raises must leave the world as it was, must refuse what it does not offer, must
not do twice what can be done once, and must keep copies like their originals. The calls that are
varied are those of reference solutions, each right before it is made.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from maseval.benchmark.tau2.domains.base import ToolKitBase, ToolType
from maseval.benchmark.tau2.formats.message import Tau2ToolCall, ToolMessage
from maseval.benchmark.tau2.review.audit.records import id_field, is_number, parts_of, texts_in
from maseval.benchmark.tau2.review.audit.subject import AuditedDomain, AuditedTask, Finding
from maseval.benchmark.tau2.review.audit.tool_reads import (
    ToolFault,
    describe,
    fault_of_read,
    reads_that_find_nothing,
    reads_without_arguments_that_write,
)
from maseval.benchmark.tau2.review.explain.explanation import format_value, render_call
from maseval.benchmark.tau2.review.explain.snapshot import (
    FieldDifference,
    FieldPlace,
    WorldSnapshot,
    differences,
)
from maseval.benchmark.tau2.world.state.permanence import ABSENT
from maseval.benchmark.tau2.world.tasks import Action
from maseval.benchmark.tau2.world.world import World

_MOST_TRIALS = 30
_MOST_CREATED = 6
_UNKNOWN = "no such thing"


class Trial(NamedTuple):
    """A call of a reference solution, and the world right before it."""

    action: Action
    before: World

    @property
    def tool(self) -> str:
        return self.action.name

    @property
    def kit(self) -> ToolKitBase[Any] | None:
        """The tools of the side that makes the call, if they have this one."""
        kit = self.before.user_tools if self.action.requestor == "user" else self.before.tools
        return kit if kit is not None and kit.has_tool(self.tool) else None

    @property
    def writes(self) -> bool:
        return self.kit is not None and self.kit.tool_type(self.tool) is ToolType.WRITE

    def after(self) -> World:
        """Return a world of its own in which the call was made."""
        return self.respond(self.call())[1]

    def call(self, **arguments: object) -> Tau2ToolCall:
        call = self.action.call()
        return {**call, "arguments": {**call["arguments"], **arguments}}

    def respond(self, call: Tau2ToolCall) -> tuple[ToolMessage, World]:
        """Make another call instead; return its answer, and the world afterwards."""
        world = self.before.twin()
        return world.respond(call), world

    def changes(self, world: World) -> list[FieldDifference]:
        """Return what is different in a world from how it was before the call."""
        return differences(WorldSnapshot(self.before), WorldSnapshot(world))


class ToolTrials:
    """The trials that reference solutions of a domain offer, a few for each tool."""

    def __init__(self, audited: AuditedDomain, tasks: Sequence[AuditedTask]) -> None:
        self._audited = audited
        self._tasks = tasks

    @cached_property
    def using(self) -> Mapping[str, Sequence[str]]:
        """The tasks whose reference solution uses each tool."""
        found: dict[str, dict[str, None]] = defaultdict(dict)
        for task in self._tasks:
            for action in task.spec.actions:
                found[action.name][task.id] = None
        return {name: list(ids) for name, ids in found.items()}

    @cached_property
    def trials(self) -> Sequence[Trial]:
        counts: dict[str, int] = defaultdict(int)
        found = []
        for task in self._tasks:
            wanted = [a for a in task.spec.actions if counts[a.name] < _MOST_TRIALS]
            if not wanted:
                continue
            world = task.begun()
            for action in task.spec.actions:
                before = world.twin()
                answer = world.respond(action.call())
                if action in wanted and not answer["error"]:
                    counts[action.name] += 1
                    found.append(Trial(action, before))
        return found

    @cached_property
    def _enders(self) -> Sequence[Trial]:
        """One call of each tool that cancels something."""
        found: dict[str, Trial] = {}
        for trial in self.trials:
            if trial.writes and trial.tool not in found:
                changes = trial.changes(trial.after())
                if any("cancel" in str(change.found) for change in changes):
                    found[trial.tool] = trial
        return list(found.values())

    def faults(self) -> Iterator[ToolFault]:
        """Try everything, and yield one fault for each tool and property."""
        seen = set()
        for fault in self._all():
            if (fault.tool, fault.property) not in seen:
                seen.add((fault.tool, fault.property))
                yield fault

    def _all(self) -> Iterator[ToolFault]:
        yield from reads_that_find_nothing(self._audited)
        yield from reads_without_arguments_that_write(self._tasks[:_MOST_TRIALS])
        yield from _takes_from_what_it_names(self.trials, self._audited)
        for trial in self.trials:
            if not trial.writes:
                if trial.kit and trial.kit.tool_type(trial.tool) is ToolType.READ:
                    yield from fault_of_read(trial.call(), trial.changes(trial.after()))
                continue
            yield from _partial_change(trial)
            yield from _takes_anything(trial)
            yield from _done_twice(trial)
            yield from _copies_unlike(trial, self._audited)
            yield from _runs_out(trial)
            yield from _not_given_back(trial, self.trials)
            yield from _refunds_too_much(trial, self._enders)


def faulty_tools(audited: AuditedDomain, tasks: Sequence[AuditedTask]) -> Iterator[Finding]:
    """Try the tools of a domain, and name the tasks that use those with a fault."""
    trials = ToolTrials(audited, tasks)
    for fault in trials.faults():
        using = trials.using.get(fault.tool, ())
        severity = "warning" if fault.severity == "error" and not using else fault.severity
        evidence = {
            "tool": fault.tool,
            "property": fault.property,
            "tried": [fault.tried],
            "happened": fault.happened,
            "tasks": list(using),
        }
        text = f"{fault.tool} {fault.text}"
        yield Finding(audited.domain.name, None, "tool defect", severity, text, evidence)


def _partial_change(trial: Trial) -> Iterator[ToolFault]:
    """Spoil one argument after the other; a call that fails must not have done half."""
    for name, value in trial.action.arguments.items():
        spoilt: object = _UNKNOWN
        if isinstance(value, list) and value:
            spoilt = [*value[:-1], _UNKNOWN if isinstance(value[-1], str) else {}]
        elif not isinstance(value, str):
            spoilt = None
        call = trial.call(**{name: spoilt})
        answer, world = trial.respond(call)
        if answer["error"] and (changes := trial.changes(world)):
            text = f"raises for a wrong {name} when it has already changed {changes[0].place}"
            happened = f"{answer['content']}; changed {describe(changes[0])}"
            yield ToolFault(trial.tool, "fails as a whole", text, render_call(call), happened)


def _takes_anything(trial: Trial) -> Iterator[ToolFault]:
    """Give words that are not on offer, and negative numbers."""
    assert trial.kit is not None
    inputs: Mapping[str, Any] = trial.kit.get_tool_metadata(trial.tool)["inputs"]
    for name, value in trial.action.arguments.items():
        if "enum" in inputs.get(name, {}):
            odd: object = _UNKNOWN
        elif isinstance(value, int | float) and not isinstance(value, bool):
            odd = -3
        else:
            continue
        call = trial.call(**{name: odd})
        answer, world = trial.respond(call)
        if not answer["error"] and trial.changes(world):
            text, refuses = f"takes {odd!r} for {name}", f"refuses a wrong {name}"
            happened = f"answered {(answer['content'] or '')[:80]!r}"
            yield ToolFault(trial.tool, refuses, text, render_call(call), happened, "info")


def _done_twice(trial: Trial) -> Iterator[ToolFault]:
    """Make a call that sets a status once more: what is cancelled cannot be cancelled again."""
    once = trial.after()
    if not any(change.place.path[-1:] == ("status",) for change in trial.changes(once)):
        return
    twice = once.twin()
    answer = twice.respond(trial.call())
    changes = differences(WorldSnapshot(once), WorldSnapshot(twice))
    if not answer["error"] and changes:
        text = f"is taken a second time, and changes {changes[0].place} again"
        tried = f"{render_call(trial.call())}, twice"
        yield ToolFault(trial.tool, "is done once", text, tried, describe(changes[0]))


def _copies_unlike(trial: Trial, audited: AuditedDomain) -> Iterator[ToolFault]:
    """Compare what a call stored of a record with the record itself."""
    world = trial.after()
    after = WorldSnapshot(world)
    for place in dict.fromkeys(change.place.whole for change in trial.changes(world)):
        for part in parts_of(after.value(place)) if after.value(place) is not ABSENT else ():
            original = _original(part, audited)
            common = [name for name in part if name in original and name != id_field(part)]
            unlike = [name for name in common if original[name] != part[name]]
            if len(common) > 1 and unlike and not _was_there(place.record, part, audited):
                key = part[str(id_field(part))]
                text = f"stores {key} in {place} with {' and '.join(unlike)} other than {key} has"
                stored, own = (format_value(each[unlike[0]], 60) for each in (part, original))
                happened = f"{unlike[0]} is {stored}, where {key} has {own}"
                tried = render_call(trial.call())
                yield ToolFault(trial.tool, "copies what it names", text, tried, happened)
                return


def _original(part: Mapping[str, Any], audited: AuditedDomain) -> Mapping[str, Any]:
    """Return the record of a catalogue that a part of another record is a copy of."""
    field = id_field(part)
    known = audited.catalogue.get(str(part[field])) if field else None
    return known if known is not None and known is not part else {}


def _was_there(record: str | None, part: Mapping[str, Any], audited: AuditedDomain) -> bool:
    """Tell whether a record had the same part before, as it was when it was stored."""
    field = str(id_field(part))
    return any(
        each.get(field) == part[field]
        for table in audited.tables.values()
        if record is not None and record in table
        for each in parts_of(table[record])
    )


def _runs_out(trial: Trial) -> Iterator[ToolFault]:
    """Make a call that creates a record again and again."""
    world = trial.after()
    made = [each for each in trial.changes(world) if each.expected is ABSENT]
    if not any(isinstance(each.found, dict) for each in made):
        return
    for number in range(2, _MOST_CREATED + 1):
        answer = world.respond(trial.call())
        if answer["error"] and "too many" in (answer["content"] or "").lower():
            text = f"can make only {number - 1} more: {answer['content']}"
            tried, refusal = f"{render_call(trial.call())}, {number} times", answer["content"] or ""
            yield ToolFault(trial.tool, "has enough ids", text, tried, refusal, "info")
            return


def _not_given_back(trial: Trial, trials: Sequence[Trial]) -> Iterator[ToolFault]:
    """Create a record, cancel it by each tool that takes its id alone, and look what is left."""
    world = trial.after()
    changes = trial.changes(world)
    created = [each for each in changes if each.expected is ABSENT and not each.place.path]
    if len(created) != 1:
        return
    key, table = created[0].place.record, created[0].place.table
    enders = {
        other.tool: name
        for other in trials
        for name in other.action.arguments
        if len(other.action.arguments) == 1 and other.writes
    }
    for ender, argument in enders.items():
        after = world.twin()
        answer = after.respond(
            {**trial.call(), "name": ender, "arguments": {argument: key}, "requestor": "assistant"}
        )
        left = [
            change
            for change in trial.changes(after)
            if change.place.table != table and is_number(change.found)
        ]
        if not answer["error"] and left:
            text = f"ends what {trial.tool} began, and does not give back {left[0].place}"
            tried = f"{render_call(trial.call())}, then {ender}({argument}={key!r})"
            yield ToolFault(ender, "gives back", text, tried, describe(left[0]))


def _refunds_too_much(trial: Trial, enders: Sequence[Trial]) -> Iterator[ToolFault]:
    """Cancel what another call changed before, and add up what was paid and given back."""
    for ender in enders:
        target = _same_argument(trial, ender)
        if target is None:
            continue
        argument, key = target
        changed, call = trial.after(), ender.call(**{argument: key})
        answer = changed.respond(call)
        record = _record_of(changed, key)
        if answer["error"] or "cancel" not in str(record.get("status")):
            continue
        left = round(sum(_money(entry) for entry in record.get("payment_history", ())), 2)
        if left:
            wrong = f"{abs(left)} {'more' if left < 0 else 'less'} than was paid"
            text = f"after {trial.tool} gives back {wrong}"
            tried = f"{render_call(trial.call())}, then {render_call(call)}"
            happened = f"payments and refunds of {key} add up to {left}"
            yield ToolFault(ender.tool, "gives back what was paid", text, tried, happened)
            return


def _same_argument(trial: Trial, other: Trial) -> tuple[str, str] | None:
    """Return the id that a call names and that another call could name under the same word."""
    for name, value in trial.action.arguments.items():
        shared = name.endswith("_id") and name in other.action.arguments
        few = other.tool != trial.tool and len(other.action.arguments) < 3
        if shared and few and isinstance(value, str):
            return name, value
    return None


def _record_of(world: World, key: str) -> Mapping[str, Any]:
    found = WorldSnapshot(world)
    for table in found.side("company"):
        value = found.value(FieldPlace("company", table, key))
        if isinstance(value, dict):
            return value
    return {}


def _money(entry: Mapping[str, Any]) -> float:
    amount = float(entry.get("amount", 0))
    return -amount if entry.get("transaction_type") == "refund" else amount


def _has_balance(record: Mapping[str, Any]) -> bool:
    return any(is_number(value) for name, value in record.items() if name in ("balance", "amount"))


def _takes_from_what_it_names(
    trials: Sequence[Trial], audited: AuditedDomain
) -> Iterator[ToolFault]:
    """Compare tools that name records under the same word: does each take from what it names?"""
    takes: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    shown: dict[tuple[str, str], Trial] = {}
    for trial in trials:
        if not trial.writes:
            continue
        changes = trial.changes(trial.after())
        touched = {step for each in changes for step in (each.place.record, *each.place.path)}
        for name, value in trial.action.arguments.items():
            named = [text for _, text in texts_in(value)]
            if isinstance(value, list):
                records = [text for text in named if _record_of(trial.before, text)]
            else:
                records = [text for text in named if _has_balance(audited.catalogue.get(text, {}))]
            if records:
                takes[name][trial.tool].append(any(each in touched for each in records))
                shown.setdefault((name, trial.tool), trial)
    for name, by_tool in takes.items():
        if not any(any(found) for found in by_tool.values()):
            continue
        always = max(by_tool, key=lambda tool: sum(by_tool[tool]) / len(by_tool[tool]))
        for tool, found in by_tool.items():
            if not any(found):
                text = (
                    f"leaves the records that {name} names as they are, where {always} changes them"
                )
                tried = render_call(shown[name, tool].call())
                happened = "no record that it names was changed"
                yield ToolFault(tool, f"takes from {name}", text, tried, happened, "info")
