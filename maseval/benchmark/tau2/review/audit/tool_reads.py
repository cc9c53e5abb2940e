"""Trials of reading tools: each must leave the world as it is, and find records by their values."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from maseval.benchmark.tau2.domains.base import ToolKitBase, ToolType
from maseval.benchmark.tau2.formats.message import Tau2ToolCall
from maseval.benchmark.tau2.review.audit.subject import AuditedDomain, AuditedTask, Severity
from maseval.benchmark.tau2.review.explain.explanation import format_value, render_call
from maseval.benchmark.tau2.review.explain.snapshot import (
    FieldDifference,
    WorldSnapshot,
    differences,
)
from maseval.benchmark.tau2.world.world import World, to_json_str

_MOST_RECORDS = 120


class ToolFault(NamedTuple):
    """A fault that a trial of a tool brought to light."""

    tool: str
    property: str
    text: str
    tried: str
    happened: str
    severity: Severity = "warning"


def describe(change: FieldDifference) -> str:
    """Say what a call changed."""
    before, after = (format_value(value, 40) for value in (change.expected, change.found))
    return f"{change.place} from {before} to {after}"


def fault_of_read(call: Tau2ToolCall, changes: Sequence[FieldDifference]) -> Iterator[ToolFault]:
    """Yield the fault of a reading call after which something is changed."""
    if changes:
        text = f"is said to read, and changes {changes[0].place}"
        yield ToolFault(call["name"], "reads only", text, render_call(call), describe(changes[0]))


def reads_without_arguments_that_write(tasks: Sequence[AuditedTask]) -> Iterator[ToolFault]:
    """Make every reading call that needs no arguments at the start of tasks."""
    for task in tasks:
        start = task.begun()
        before = WorldSnapshot(start)
        for kit, name in _reads(start):
            if _needed(kit, name):
                continue
            world = start.twin()
            call: Tau2ToolCall = {
                "id": name,
                "name": name,
                "arguments": {},
                "requestor": "user" if kit is start.user_tools else "assistant",
            }
            world.respond(call)
            yield from fault_of_read(call, differences(before, WorldSnapshot(world)))


def reads_that_find_nothing(audited: AuditedDomain) -> Iterator[ToolFault]:
    """Ask each reading tool for records by their own values."""
    for kit, name in _reads(audited.world):
        if parameters := _needed(kit, name):
            yield from _fault_of_search(kit, name, parameters, audited)


def _fault_of_search(
    kit: ToolKitBase[Any], name: str, parameters: Sequence[str], audited: AuditedDomain
) -> Iterator[ToolFault]:
    asked = 0
    failed: list[tuple[Mapping[str, str], str]] = []
    wrong: list[tuple[Mapping[str, str], str]] = []
    for key, texts in islice(audited.records_with(frozenset(parameters)), _MOST_RECORDS):
        asked += 1
        arguments = {each: texts[each] for each in parameters}
        try:
            answer = to_json_str(kit.tools[name](**arguments))
        except Exception as error:  # a tool that does not find what is there
            failed.append((arguments, str(error)))
            continue
        about = [*arguments.values(), *([key] if key else ())]
        if key and audited.names_another(key, answer) and not any(a in answer for a in about):
            wrong.append((arguments, answer))
    if asked and len(failed) == asked:
        tried, refusal = failed[0]
        text = f"finds none of {asked} records by their own values: {refusal}"
        yield ToolFault(
            name, "finds what is there", text, f"{name}(**{tried})", refusal, severity="error"
        )
    elif wrong:
        tried, other = wrong[0]
        text = f"answers with another record for {len(wrong)} of {asked}, as for {tried}"
        yield ToolFault(name, "finds the right one", text, f"{name}(**{tried})", other[:120])


def _reads(world: World) -> Iterator[tuple[ToolKitBase[Any], str]]:
    """Yield the reading tools of both sides."""
    for kit in (world.tools, world.user_tools):
        if kit is not None:
            yield from ((kit, name) for name in kit.tools if kit.tool_type(name) is ToolType.READ)


def _needed(kit: ToolKitBase[Any], tool: str) -> list[str]:
    """Return the parameters that a call of a tool has to give."""
    parameters = inspect.signature(kit.tools[tool]).parameters.values()
    return [each.name for each in parameters if each.default is each.empty]
