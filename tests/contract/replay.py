"""Reading recorded vectors, and telling where they and this implementation part.

Each function goes through a whole file and yields one line of text per difference, so that a
contract test is ``assert_same(differences(...))``.
"""

import gzip
import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from maseval.benchmark.tau2.domains.domain import Domain
from scripts.agreement import Outcome

Vector = dict[str, Any]


def records(path: Path) -> list[Vector]:
    """The records of a vector file: one document, or one record a line and zipped."""
    if path.suffix == ".gz":
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]
    document = json.loads(path.read_text(encoding="utf-8"))
    return document if isinstance(document, list) else [document]


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def assert_same(differences: Iterable[str], *, shown: int = 8) -> None:
    """Fail with the first few differences, if there are any."""
    found = list(differences)
    more = f"\n... and {len(found) - shown} more" if len(found) > shown else ""
    assert not found, f"{len(found)} differences\n" + "\n".join(found[:shown]) + more


def differences(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """One line of text per difference, of everything that was compared."""
    for outcome in outcomes:
        assert outcome.skipped is None, outcome
        for difference in outcome.differences:
            yield f"{outcome.where}: {difference}"


def schema_differences(domain: Domain, vector: Vector) -> Iterator[str]:
    """The tools a model is shown, against ``schemas.json``; descriptions are ours and left out."""
    sides = {"assistant": (domain.toolkit, "tool_order")}
    if domain.user_toolkit is not None:
        sides["user"] = (domain.user_toolkit, "user_tool_order")
    for requestor, (toolkit, order) in sides.items():
        found = {tool["function"]["name"]: tool for tool in toolkit.definitions()}
        yield from _difference(f"order of {requestor} tools", list(found), vector[order])
        for tool in vector["tools"]:
            name = tool["name"]
            if tool["requestor"] != requestor or name not in found:
                continue
            yield from _difference(f"type of {name}", toolkit.tool_type(name), tool["tool_type"])
            if "mutates_state" in tool:
                mutates = toolkit.mutates(name)
                yield from _difference(f"{name} mutates", mutates, tool["mutates_state"])
            accepted = [value for key, value in tool.items() if key.startswith("schema")]
            accepted += [_of_todays_library(value) for value in accepted]
            schema = _without_descriptions(found[name])
            if schema not in accepted:
                yield from _difference(f"schema of {name}", schema, accepted[0])


def _of_todays_library(schema: Any) -> Any:
    """With what newer releases of the library that makes schemas add to a bare ``dict``."""
    match schema:
        case {"type": "object"} if len(schema) == 1:
            return {"additionalProperties": True, "type": "object"}
        case dict():
            return {key: _of_todays_library(value) for key, value in schema.items()}
        case list():
            return [_of_todays_library(item) for item in schema]
        case _:
            return schema


def _without_descriptions(schema: Any) -> Any:
    match schema:
        case dict():
            return {
                key: _without_descriptions(value)
                for key, value in schema.items()
                if not (key == "description" and isinstance(value, str))
            }
        case list():
            return [_without_descriptions(item) for item in schema]
        case _:
            return schema


def _difference(what: str, found: object, recorded: object) -> Iterator[str]:
    if found != recorded:
        yield f"{what}\n    found    {found!r}\n    recorded {recorded!r}"


def request_body(
    model_id: str,
    messages: Iterable[Any],
    params: dict[str, Any],
    tools: Iterable[Any] | None = None,
    tool_choice: str | None = None,
    seed: int | None = None,
) -> dict[str, Any]:
    """A request as the original hands it to LiteLLM, its keys in order."""
    given = dict(params)
    last = {"thinking": given.pop("thinking")} if "thinking" in given else {}
    return {
        "model": model_id,
        "messages": list(messages),
        "tools": list(tools) if tools else None,
        "tool_choice": tool_choice,
        **given,
        **({} if seed is None else {"seed": seed}),
        "num_retries": given.get("num_retries", 3),
        **last,
    }
