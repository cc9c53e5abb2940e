"""Findings about the tools themselves, by trying them out in the benchmark's own world.

A reading tool must leave the world as it is, and find records by their values. A writing tool that
raises must leave the world as it was, must refuse what it does not offer, must not do twice what
can be done once, and must do the same in equal worlds. The calls that are varied are those of
reference solutions, each right before it is made.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from maseval.benchmark.tau2.domains.base import ToolKitBase, ToolType
from maseval.benchmark.tau2.formats.message import Tau2ToolCall, ToolMessage, render_call
from maseval.benchmark.tau2.review.audit.audited import (
    AuditedDomain,
    AuditedTask,
    ReadingTool,
    Severity,
    TaskFinding,
    reading_tools,
)
from maseval.benchmark.tau2.review.audit.knowledge import names_in
from maseval.benchmark.tau2.review.explain.explanation import format_value
from maseval.benchmark.tau2.review.explain.snapshot import (
    FieldDifference,
    WorldSnapshot,
    differences,
)
from maseval.benchmark.tau2.world.tasks import Action
from maseval.benchmark.tau2.world.world import World

_MOST_TRIALS = 30
_MOST_RECORDS = 120
_UNKNOWN = "no such thing"


class _Fault(NamedTuple):
    """A promise that a tool breaks, by which call, and what happened."""

    tool: str
    promise: str
    text: str
    tried: str
    happened: str
    severity: Severity = "warning"


def faulty_tools(audited: AuditedDomain, tasks: Sequence[AuditedTask]) -> Iterator[TaskFinding]:
    """Try the tools of a domain; one finding for each tool and promise, with the tasks that use it.

    A tool that finds nothing is an error only if a reference solution uses it.
    """
    using: dict[str, dict[str, None]] = defaultdict(dict)
    for task in tasks:
        for action in task.spec.actions:
            using[action.name][task.id] = None
    seen = set()
    for fault in _faults(audited, tasks):
        if (fault.tool, fault.promise) in seen:
            continue
        seen.add((fault.tool, fault.promise))
        unused = fault.severity == "error" and fault.tool not in using
        used = [f"used by: {', '.join(using[fault.tool])}"] if fault.tool in using else []
        yield audited.finding(
            "tool defect",
            "warning" if unused else fault.severity,
            f"{fault.tool} {fault.text}",
            f"tried: {fault.tried}",
            f"happened: {fault.happened}",
            *used,
            rule=f"{fault.tool} {fault.promise}",
        )


def _faults(audited: AuditedDomain, tasks: Sequence[AuditedTask]) -> Iterator[_Fault]:
    yield from _made_up_ids(audited.domain.toolkit)
    for tool in reading_tools(audited.world):
        if tool.parameters:
            yield from _fault_of_search(tool, audited)
    for trial in _trials(tasks):
        yield from _by_chance(trial)
        if trial.type is ToolType.READ:
            yield from _fault_of_read(trial.call(), trial.changes(trial.after()))
        elif trial.type is ToolType.WRITE:
            yield from _partial_change(trial)
            yield from _takes_anything(trial)
            yield from _done_twice(trial)


class _Trial(NamedTuple):
    """A call of a reference solution, and the world right before it."""

    action: Action
    before: World

    @property
    def tool(self) -> str:
        return self.action.name

    @property
    def kit(self) -> ToolKitBase[Any]:
        kit = self.before.user_tools if self.action.requestor == "user" else self.before.tools
        assert kit is not None  # its tool was called
        return kit

    @property
    def type(self) -> ToolType:
        return self.kit.tool_type(self.tool)

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


def _trials(tasks: Sequence[AuditedTask]) -> Iterator[_Trial]:
    """Yield the trials that reference solutions offer, a few for each tool."""
    counts: dict[str, int] = defaultdict(int)
    for task in tasks:
        wanted = [a for a in task.spec.actions if counts[a.name] < _MOST_TRIALS]
        if not wanted:
            continue
        world = task.new_world()
        for action in task.spec.actions:
            before = world.twin()
            answer = world.respond(action.call())
            if action in wanted and not answer["error"]:
                counts[action.name] += 1
                yield _Trial(action, before)


def _made_up_ids(kit: type[ToolKitBase[Any]]) -> Iterator[_Fault]:
    """Find the writes that use what is set apart for a reference solution: ids drawn at random."""
    if kit.as_reference is ToolKitBase.as_reference:
        return
    marks = {name for name in kit.as_reference.__code__.co_names if name.startswith("_")}
    for name, kind in kit.all_tools().items():
        if kind is ToolType.WRITE and marks & names_in(getattr(kit, name), kit, set()):
            text = "may make a record under a random id, which no two worlds have in common"
            tried = f"the code of {name}, and what it calls"
            yield _Fault(name, "makes up no ids", text, tried, ", ".join(sorted(marks)), "info")


def _fault_of_search(tool: ReadingTool, audited: AuditedDomain) -> Iterator[_Fault]:
    """Ask a reading tool for records by their own values."""
    asked, name = 0, tool.name
    tried: Mapping[str, str] = {}
    for texts in islice(audited.records_with(frozenset(tool.parameters)), _MOST_RECORDS):
        asked += 1
        arguments = {each: texts[each] for each in tool.parameters}
        try:
            tool.ask(**arguments)
            return
        except Exception as error:  # a tool that does not find what is there
            tried, refusal = tried or arguments, str(error)
    if asked:
        text = f"finds none of {asked} records by their own values: {refusal}"
        yield _Fault(name, "finds what is there", text, f"{name}(**{tried})", refusal, "error")


def _fault_of_read(call: Tau2ToolCall, changes: Sequence[FieldDifference]) -> Iterator[_Fault]:
    if changes:
        text = f"is declared as reading, but changes {changes[0].place}"
        yield _Fault(call["name"], "reads only", text, render_call(call), _describe(changes[0]))


def _partial_change(trial: _Trial) -> Iterator[_Fault]:
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
            text = f"raises for a wrong {name} after it has changed {changes[0].place}"
            happened = f"{answer['content']}; changed {_describe(changes[0])}"
            yield _Fault(trial.tool, "fails as a whole", text, render_call(call), happened)


def _takes_anything(trial: _Trial) -> Iterator[_Fault]:
    """Give words that are not on offer, and negative numbers."""
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
            yield _Fault(trial.tool, refuses, text, render_call(call), happened, "info")


def _by_chance(trial: _Trial) -> Iterator[_Fault]:
    """Make the same call in two equal worlds."""
    one, other = trial.after(), trial.after()
    if changes := differences(WorldSnapshot(one), WorldSnapshot(other)):
        text = (
            f"leads to another {changes[0].place} each time, by chance, the clock or another world"
        )
        tried, happened = render_call(trial.call()), _describe(changes[0])
        yield _Fault(trial.tool, "does the same each time", text, tried, happened, "error")


def _done_twice(trial: _Trial) -> Iterator[_Fault]:
    """Make a call that sets a status once more: what is cancelled cannot be cancelled again."""
    once = trial.after()
    if not any(change.place.path[-1:] == ("status",) for change in trial.changes(once)):
        return
    twice = once.twin()
    answer = twice.respond(trial.call())
    changes = differences(WorldSnapshot(once), WorldSnapshot(twice))
    if not answer["error"] and changes:
        text = f"is accepted a second time, and changes {changes[0].place} again"
        tried = f"{render_call(trial.call())}, twice"
        yield _Fault(trial.tool, "is done once", text, tried, _describe(changes[0]))


def _describe(change: FieldDifference) -> str:
    before, after = (format_value(value, 40) for value in (change.expected, change.found))
    return f"{change.place} from {before} to {after}"
