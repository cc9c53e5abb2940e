"""Findings about tasks that refuse a request and leave another way to it open.

The gold changes nothing, because the policy forbids what the user asks for. If a change that the
policy allows makes the same request allowed, an agent that offers the change, or a user who thinks
of it, ends elsewhere than the gold and has broken no rule.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice, product
from typing import Any

from maseval.benchmark.tau2.domains.base import ToolType
from maseval.benchmark.tau2.review.audit.criteria import finding_about
from maseval.benchmark.tau2.review.audit.experiments import TAKEN, Laboratory
from maseval.benchmark.tau2.review.audit.subject import (
    AuditedDomain,
    AuditedTask,
    Finding,
    words_of,
)
from maseval.benchmark.tau2.review.explain.explanation import render_call
from maseval.benchmark.tau2.world.tasks import Action, RewardType

_MOST_WAYS = 24


class WaysOfDomain:
    """The tools of a domain that end a record, and those that change one, with their arguments."""

    def __init__(self, audited: AuditedDomain, tasks: Sequence[AuditedTask]) -> None:
        self._audited = audited
        self._tasks = tasks

    @cached_property
    def _inputs(self) -> Mapping[str, Mapping[str, Any]]:
        kit = self._audited.domain.toolkit
        names = [each["function"]["name"] for each in kit.definitions()]
        writing = [name for name in names if kit.tool_type(name) is ToolType.WRITE]
        return {name: kit.get_tool_metadata(name)["inputs"] for name in writing}

    @cached_property
    def _fields(self) -> Mapping[tuple[str, str], frozenset[str]]:
        """The fields of the records in a list that is an argument, as reference solutions have."""
        found: dict[tuple[str, str], set[str]] = defaultdict(set)
        for task in self._tasks:
            for action in task.spec.actions:
                for name, value in action.arguments.items():
                    for each in value if isinstance(value, list) else ():
                        if isinstance(each, dict):
                            found[action.name, name] |= each.keys()
        return {place: frozenset(fields) for place, fields in found.items()}

    @property
    def enders(self) -> Iterator[tuple[str, str]]:
        """The tools that take a record's id alone, with the name of the argument."""
        for tool, inputs in self._inputs.items():
            if len(inputs) == 1 and next(iter(inputs)).endswith("_id"):
                yield tool, next(iter(inputs))

    def changes(self, key: str, argument: str, record: Mapping[str, Any]) -> Iterator[Action]:
        """Yield calls that change a record in what is chosen from a list, and in nothing else."""
        for tool, inputs in self._inputs.items():
            listed = [name for name, schema in inputs.items() if "enum" in schema]
            if argument not in inputs or not listed or not record.keys() >= {*listed}:
                continue
            values = [
                list(self._values(tool, name, schema, argument, key, record))
                for name, schema in inputs.items()
            ]
            for combination in islice(product(*values), _MOST_WAYS):
                arguments = dict(zip(inputs, combination, strict=True))
                yield Action(action_id="way", name=tool, arguments=arguments)

    def _values(
        self,
        tool: str,
        name: str,
        schema: Mapping[str, Any],
        argument: str,
        key: str,
        record: Mapping[str, Any],
    ) -> Iterator[object]:
        if name == argument:
            yield key
        elif "enum" in schema:
            yield from (each for each in schema["enum"] if each != record[name])
        elif isinstance(record.get(name), list):
            fields = self._fields.get((tool, name), frozenset())
            yield [{field: each[field] for field in sorted(fields)} for each in record[name]]
        elif name.endswith("_id"):
            owner = self._audited.owners.get(key, "")
            own = str(self._audited.table_of(owner).get(owner))
            yield from (each for each in self._audited.catalogue if each in own)


def ways_left_open(task: AuditedTask, domain: WaysOfDomain) -> Iterator[Finding]:
    """Change a record as the policy allows, and do then what it forbade before."""
    if not task.counts(RewardType.DB) or task.gold.state != task.start:
        return
    for ender, argument in domain.enders:
        if not re.search(rf"\b{ender.partition('_')[0]}", task.told, re.IGNORECASE):
            continue
        ways = {
            key: way
            for key in sorted(_records_in_hand(task))
            if (way := _way(task, domain, Action(**_end(ender, argument, key))))
        }
        if ways:
            way = next(iter(ways.values()))
            yield finding_about(
                task,
                "another way is left open",
                "info",
                f"{ender} of {', '.join(ways)} is against the policy, but after {way[0].name} it "
                "is not; who goes that way breaks no rule, and the task fails",
                tried=[render_call(each.call()) for each in way],
                happened=TAKEN,
                records=list(ways),
            )


def _end(tool: str, argument: str, key: str) -> dict[str, Any]:
    return {"action_id": "end", "name": tool, "arguments": {argument: key}}


def _way(task: AuditedTask, domain: WaysOfDomain, end: Action) -> list[Action]:
    """Return a change of a record, and its end; nothing if there is no such way, or no need."""
    laboratory = Laboratory(task)
    ((argument, key),) = end.arguments.items()
    record = task.audited.table_of(key).get(key)
    if not isinstance(record, dict) or not laboratory.breaches([end]):
        return []
    for change in domain.changes(key, argument, record):
        way = [change, end]
        if not laboratory.play(way).refused and not laboratory.breaches(way):
            return way
    return []


def _records_in_hand(task: AuditedTask) -> set[str]:
    """Return the records that the user or the reference solution names."""
    named = words_of(task.told)
    named |= {str(value) for action in task.spec.actions for value in action.arguments.values()}
    return named & task.audited.owners.keys()
