"""Findings about the tools themselves, by trying them out in the benchmark's own world.

A reading tool must leave the world as it is and find each record by the record's own values. A
writing tool that raises must leave the world as it was, must refuse what it does not offer, must
not do twice what can be done once, and must keep copies like their originals. The calls that are
varied are those of reference solutions, each right before it is made.
"""

import inspect
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

from maseval.benchmark.tau2.audit.records import id_field, parts_of, texts_in
from maseval.benchmark.tau2.audit.subject import AuditedDomain, AuditedTask, Finding, Severity
from maseval.benchmark.tau2.domains.base import ToolKitBase, ToolType
from maseval.benchmark.tau2.domains.permanence import ABSENT
from maseval.benchmark.tau2.explain.explanation import format_value, render_call
from maseval.benchmark.tau2.explain.snapshot import (
    FieldDifference,
    FieldPlace,
    WorldSnapshot,
    differences,
)
from maseval.benchmark.tau2.formats.message import Tau2ToolCall
from maseval.benchmark.tau2.world.tasks import Action
from maseval.benchmark.tau2.world.world import World, to_json_str

_MOST_TRIALS = 30
_MOST_RECORDS = 120
_MOST_CREATED = 6
_UNKNOWN = "no such thing"


class Trial(NamedTuple):
    """A call of a reference solution, and the world right before it."""

    task: AuditedTask
    action: Action
    before: World

    def world(self) -> World:
        """Return a world of its own in the same state."""
        return self.before.twin()

    def after(self) -> World:
        """Return a world of its own in which the call was made."""
        world = self.world()
        world.respond(self.call())
        return world

    def call(self, **arguments: object) -> Tau2ToolCall:
        call = self.action.call()
        return {**call, "arguments": {**call["arguments"], **arguments}}


class ToolFault(NamedTuple):
    """A fault that a trial of a tool brought to light."""

    tool: str
    property: str
    severity: Severity
    text: str
    tried: str
    happened: str


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
                    found.append(Trial(task, action, before))
        return found

    @cached_property
    def _enders(self) -> Sequence[Trial]:
        """One call of each tool that cancels something."""
        found: dict[str, Trial] = {}
        for trial in self.trials:
            if _type_of(trial) is ToolType.WRITE and trial.action.name not in found:
                world = trial.after()
                if any("cancel" in str(change.found) for change in _change(trial, world)):
                    found[trial.action.name] = trial
        return list(found.values())

    def faults(self) -> Iterator[ToolFault]:
        """Try everything, and yield one fault for each tool and property."""
        seen = set()
        for fault in self._all():
            if (fault.tool, fault.property) not in seen:
                seen.add((fault.tool, fault.property))
                yield fault

    def _all(self) -> Iterator[ToolFault]:
        for kit in (self._audited.world.tools, self._audited.world.user_tools):
            if kit is not None:
                yield from _reads_that_find_nothing(kit, self._audited)
        yield from _reads_without_arguments_that_write(self._tasks)
        yield from _takes_from_what_it_names(self.trials, self._audited)
        for trial in self.trials:
            kind = _type_of(trial)
            if kind is ToolType.READ:
                yield from _read_that_writes(trial)
            elif kind is ToolType.WRITE:
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
        severity = fault.severity
        if severity == "error" and not using:
            severity = "warning"
        yield Finding(
            audited.domain.name,
            None,
            "tool defect",
            severity,
            f"{fault.tool} {fault.text}",
            {
                "tool": fault.tool,
                "property": fault.property,
                "tried": [fault.tried],
                "happened": fault.happened,
                "tasks": list(using),
            },
        )


def _type_of(trial: Trial) -> ToolType | None:
    kit = trial.before.user_tools if trial.action.requestor == "user" else trial.before.tools
    if kit is None or not kit.has_tool(trial.action.name):
        return None
    return kit.tool_type(trial.action.name)


def _change(trial: Trial, world: World) -> list[FieldDifference]:
    return differences(WorldSnapshot(trial.before), WorldSnapshot(world))


def _describe(change: FieldDifference) -> str:
    before, after = (format_value(value, 40) for value in (change.expected, change.found))
    return f"{change.place} from {before} to {after}"


def _read_that_writes(trial: Trial) -> Iterator[ToolFault]:
    yield from _fault_of_read(trial.call(), _change(trial, trial.after()))


def _fault_of_read(call: Tau2ToolCall, changes: Sequence[FieldDifference]) -> Iterator[ToolFault]:
    """Yield the fault of a reading call after which something is changed."""
    if changes:
        text = f"is said to read, and changes {changes[0].place}"
        shown = render_call(call), _describe(changes[0])
        yield ToolFault(call["name"], "reads only", "warning", text, *shown)


def _reads_without_arguments_that_write(tasks: Sequence[AuditedTask]) -> Iterator[ToolFault]:
    """Make every reading call that needs no arguments at the start of a few tasks."""
    for task in tasks[:_MOST_TRIALS]:
        start = task.begun()
        before = WorldSnapshot(start)
        kits = {"assistant": start.tools, "user": start.user_tools}
        for requestor, kit in kits.items():
            for name, method in kit.tools.items() if kit else ():
                if kit is None or kit.tool_type(name) is not ToolType.READ:
                    continue
                if any(p.default is p.empty for p in inspect.signature(method).parameters.values()):
                    continue
                world = start.twin()
                call: Tau2ToolCall = {
                    "id": name,
                    "name": name,
                    "arguments": {},
                    "requestor": "user" if requestor == "user" else "assistant",
                }
                world.respond(call)
                yield from _fault_of_read(call, differences(before, WorldSnapshot(world)))


def _partial_change(trial: Trial) -> Iterator[ToolFault]:
    """Spoil one argument after the other; a call that fails must not have done half."""
    for name, value in trial.action.arguments.items():
        spoilt: object = _UNKNOWN
        if isinstance(value, list) and value:
            spoilt = [*value[:-1], _UNKNOWN if isinstance(value[-1], str) else {}]
        elif not isinstance(value, str):
            spoilt = None
        world, call = trial.world(), trial.call(**{name: spoilt})
        answer = world.respond(call)
        if answer["error"] and (changes := _change(trial, world)):
            yield ToolFault(
                trial.action.name,
                "fails as a whole",
                "warning",
                f"raises for a wrong {name} when it has already changed {changes[0].place}",
                render_call(call),
                f"{answer['content']}; changed {_describe(changes[0])}",
            )


def _takes_anything(trial: Trial) -> Iterator[ToolFault]:
    """Give words that are not on offer, and negative numbers."""
    kit = trial.before.user_tools if trial.action.requestor == "user" else trial.before.tools
    assert kit is not None
    inputs: Mapping[str, Any] = kit.get_tool_metadata(trial.action.name)["inputs"]
    for name, value in trial.action.arguments.items():
        if "enum" in inputs.get(name, {}):
            odd: object = _UNKNOWN
        elif isinstance(value, int | float) and not isinstance(value, bool):
            odd = -3
        else:
            continue
        world, call = trial.world(), trial.call(**{name: odd})
        answer = world.respond(call)
        if not answer["error"] and _change(trial, world):
            yield ToolFault(
                trial.action.name,
                f"refuses a wrong {name}",
                "info",
                f"takes {odd!r} for {name}",
                render_call(call),
                f"answered {(answer['content'] or '')[:80]!r}",
            )


def _done_twice(trial: Trial) -> Iterator[ToolFault]:
    """Make a call that sets a status once more: what is cancelled cannot be cancelled again."""
    once = trial.after()
    if not any(change.place.path[-1:] == ("status",) for change in _change(trial, once)):
        return
    twice = once.twin()
    answer = twice.respond(trial.call())
    changes = differences(WorldSnapshot(once), WorldSnapshot(twice))
    if not answer["error"] and changes:
        yield ToolFault(
            trial.action.name,
            "is done once",
            "warning",
            f"is taken a second time, and changes {changes[0].place} again",
            f"{render_call(trial.call())}, twice",
            _describe(changes[0]),
        )


def _copies_unlike(trial: Trial, audited: AuditedDomain) -> Iterator[ToolFault]:
    """Compare what a call stored of a record with the record itself."""
    world = trial.after()
    after = WorldSnapshot(world)
    for place in dict.fromkeys(change.place.whole for change in _change(trial, world)):
        for part in parts_of(after.value(place)) if after.value(place) is not ABSENT else ():
            original = _original(part, audited)
            common = [name for name in part if name in original and name != id_field(part)]
            unlike = [name for name in common if original[name] != part[name]]
            if len(common) > 1 and unlike and not _was_there(place.record, part, audited):
                key = part[str(id_field(part))]
                yield ToolFault(
                    trial.action.name,
                    "copies what it names",
                    "warning",
                    f"stores {key} in {place} with {' and '.join(unlike)} other than {key} has",
                    render_call(trial.call()),
                    f"{unlike[0]} is {format_value(part[unlike[0]], 60)}, where {key} has "
                    f"{format_value(original[unlike[0]], 60)}",
                )
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
    made = [each for each in _change(trial, world) if each.expected is ABSENT]
    if not any(isinstance(each.found, dict) for each in made):
        return
    for number in range(2, _MOST_CREATED + 1):
        answer = world.respond(trial.call())
        if answer["error"] and "too many" in (answer["content"] or "").lower():
            yield ToolFault(
                trial.action.name,
                "has enough ids",
                "info",
                f"can make only {number - 1} more: {answer['content']}",
                f"{render_call(trial.call())}, {number} times",
                answer["content"] or "",
            )
            return


def _not_given_back(trial: Trial, trials: Sequence[Trial]) -> Iterator[ToolFault]:
    """Create a record, cancel it by each tool that takes its id alone, and look what is left."""
    world = trial.after()
    changes = _change(trial, world)
    created = [each for each in changes if each.expected is ABSENT and not each.place.path]
    if len(created) != 1:
        return
    key, table = created[0].place.record, created[0].place.table
    enders = {
        other.action.name: name
        for other in trials
        for name in other.action.arguments
        if len(other.action.arguments) == 1 and _type_of(other) is ToolType.WRITE
    }
    for ender, argument in enders.items():
        after = world.twin()
        answer = after.respond(
            {**trial.call(), "name": ender, "arguments": {argument: key}, "requestor": "assistant"}
        )
        left = [
            change
            for change in _change(trial, after)
            if change.place.table != table and _is_number(change.found)
        ]
        if not answer["error"] and left:
            yield ToolFault(
                ender,
                "gives back",
                "warning",
                f"ends what {trial.action.name} began, and does not give back {left[0].place}",
                f"{render_call(trial.call())}, then {ender}({argument}={key!r})",
                _describe(left[0]),
            )


def _refunds_too_much(trial: Trial, enders: Sequence[Trial]) -> Iterator[ToolFault]:
    """Cancel what another call changed before, and add up what was paid and given back."""
    for ender in enders:
        target = _same_argument(trial, ender)
        if target is None:
            continue
        argument, key = target
        changed = trial.after()
        answer = changed.respond(ender.call(**{argument: key}))
        record = _record_of(changed, key)
        if answer["error"] or "cancel" not in str(record.get("status")):
            continue
        left = round(sum(_money(entry) for entry in record.get("payment_history", ())), 2)
        if left:
            yield ToolFault(
                ender.action.name,
                "gives back what was paid",
                "warning",
                f"after {trial.action.name} gives back {abs(left)} "
                f"{'more' if left < 0 else 'less'} than was paid",
                f"{render_call(trial.call())}, then {render_call(ender.call(**{argument: key}))}",
                f"payments and refunds of {key} add up to {left}",
            )
            return


def _same_argument(trial: Trial, other: Trial) -> tuple[str, str] | None:
    """Return the id that a call names and that another call could name under the same word."""
    for name, value in trial.action.arguments.items():
        shared = name.endswith("_id") and name in other.action.arguments
        few = other.action.name != trial.action.name and len(other.action.arguments) < 3
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
    return any(_is_number(value) for name, value in record.items() if name in ("balance", "amount"))


def _takes_from_what_it_names(
    trials: Sequence[Trial], audited: AuditedDomain
) -> Iterator[ToolFault]:
    """Compare tools that name records under the same word: does each take from what it names?"""
    takes: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    shown: dict[tuple[str, str], Trial] = {}
    for trial in trials:
        if _type_of(trial) is not ToolType.WRITE:
            continue
        world = trial.after()
        changes = _change(trial, world)
        touched = {step for each in changes for step in (each.place.record, *each.place.path)}
        for name, value in trial.action.arguments.items():
            named = [text for _, text in texts_in(value)]
            if isinstance(value, list):
                records = [text for text in named if _record_of(trial.before, text)]
            else:
                records = [text for text in named if _has_balance(audited.catalogue.get(text, {}))]
            if records:
                takes[name][trial.action.name].append(any(each in touched for each in records))
                shown.setdefault((name, trial.action.name), trial)
    for name, by_tool in takes.items():
        if not any(any(found) for found in by_tool.values()):
            continue
        always = max(by_tool, key=lambda tool: sum(by_tool[tool]) / len(by_tool[tool]))
        for tool, found in by_tool.items():
            if not any(found):
                yield ToolFault(
                    tool,
                    f"takes from {name}",
                    "info",
                    f"leaves the records that {name} names as they are, where {always} changes "
                    "them",
                    render_call(shown[name, tool].call()),
                    "no record that it names was changed",
                )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _reads_that_find_nothing(kit: ToolKitBase[Any], audited: AuditedDomain) -> Iterator[ToolFault]:
    """Ask each reading tool for records by their own values."""
    for name, method in kit.tools.items():
        parameters = [
            each.name
            for each in inspect.signature(method).parameters.values()
            if each.default is each.empty
        ]
        if kit.tool_type(name) is not ToolType.READ or not parameters:
            continue
        asked = 0
        failed: list[tuple[Mapping[str, str], str]] = []
        wrong: list[tuple[Mapping[str, str], str]] = []
        known = audited.records_with(frozenset(parameters))
        for key, texts in islice(known, _MOST_RECORDS):
            asked += 1
            arguments = {each: texts[each] for each in parameters}
            try:
                answer = to_json_str(method(**arguments))
            except Exception as error:  # a tool that does not find what is there
                failed.append((arguments, str(error)))
                continue
            about = [*arguments.values(), *([key] if key else ())]
            if key and audited.names_another(key, answer) and not any(a in answer for a in about):
                wrong.append((arguments, answer))
        if asked and len(failed) == asked:
            tried, refusal = failed[0]
            yield ToolFault(
                name,
                "finds what is there",
                "error",
                f"finds none of {asked} records by their own values: {refusal}",
                f"{name}(**{tried})",
                refusal,
            )
        elif wrong:
            tried, other = wrong[0]
            yield ToolFault(
                name,
                "finds the right one",
                "warning",
                f"answers with another record for {len(wrong)} of {asked}, as for {tried}",
                f"{name}(**{tried})",
                other[:120],
            )
