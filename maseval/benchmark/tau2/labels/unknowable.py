"""A value of the reference solution that nobody could know: no text and no record has it."""

import json
from collections.abc import Iterator

from maseval.benchmark.tau2.domains.records import Table
from maseval.benchmark.tau2.formats.message import Tau2ToolCall
from maseval.benchmark.tau2.labels.failure import Failure, Label, Who
from maseval.benchmark.tau2.labels.topics import OWNERS, id_like, telling_values


def value_nobody_can_know(failure: Failure) -> Label | None:
    """A missing call has a date or an id that the task, the talk and the database do not have.

    If more than that is wrong, it would have failed anyhow.
    """
    for change in failure.to_add:
        call = change.call
        values = dict.fromkeys(telling_values(call["arguments"]))
        unknown = {value for value in values if _is_unknown(failure, call, value)}
        if unknown:
            evidence = tuple(
                f"{call['name']} needs {value!r}, which no text and no record has"
                for value in sorted(unknown)
            )
            who: Who = "task" if _only_these_differ(failure, unknown) else "unclear"
            return Label(who, "gold cannot be known", "value nobody can know", evidence)
    return None


def _only_these_differ(failure: Failure, unknown: set[str]) -> bool:
    expected = [field.expected for field in failure.explanation.wrong_fields]
    return all(isinstance(value, str) and value in unknown for value in expected)


def _is_unknown(failure: Failure, call: Tau2ToolCall, value: str) -> bool:
    if call["requestor"] != "assistant" or id_like(value) != [value]:
        return False
    if value.lower() in failure.scenario:
        return False
    sources = (_said(failure), _recorded(failure, call), _answered_before(failure, call))
    return not any(value in text for source in sources for text in source)


def _said(failure: Failure) -> Iterator[str]:
    return (message.get("content") or "" for message in failure.messages)


def _recorded(failure: Failure, call: Tau2ToolCall) -> Iterator[str]:
    """The records of the database that are this person's, or nobody's."""
    person = {call["arguments"].get(key) for key in OWNERS}
    for _, table in failure.subject.case.setting.world().tools.db:
        if not isinstance(table, Table):
            yield str(table)
            continue
        for key, record in table.shared.raw.items():
            owners = {record[name] for name in OWNERS if name in record}
            if not owners or owners & person or not any(person):
                yield f"{key} {json.dumps(record, ensure_ascii=False)}"


def _answered_before(failure: Failure, call: Tau2ToolCall) -> Iterator[str]:
    """What the tools answer to the steps of the reference solution before this one."""
    world = failure.subject.case.setting.world()
    for action in failure.gold:
        if action.action_id == call["id"]:
            return
        yield world.respond(action.call())["content"] or ""
