"""Replaying recorded vectors through a world, and telling where the two part.

Each function goes through a whole file and yields one line of text per difference, so that a
contract test is ``assert_same(replay_tool_calls(...))``. ``new_world`` makes a world in its
initial state; a domain with process-wide state (generated ids, shared defaults) resets it there.
"""

import gzip
import hashlib
import itertools
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from maseval.benchmark.tau2.domains.domain import Domain
from maseval.benchmark.tau2.messages import ToolCall, ToolMessage
from maseval.benchmark.tau2.world import World

Vector = dict[str, Any]
NewWorld = Callable[[], World]
TaskSets = Mapping[str, Mapping[str, Vector]]

RECORDED_WITH = (3, 11)
LIBRARY_VERSION_LINE = "For further information visit"


def records(path: Path) -> list[Vector]:
    """The records of a vector file: one document, or one record a line and zipped."""
    if path.suffix == ".gz":
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]
    document = json.loads(path.read_text(encoding="utf-8"))
    return document if isinstance(document, list) else [document]


def task_sets(domain: Domain, folder: Path) -> dict[str, dict[str, Vector]]:
    """A domain's task files as the vectors name them: ``telecom``, ``telecom_full``, by task id."""
    return {
        domain.name if split == "base" else f"{domain.name}_{split}": {
            task["id"]: task for task in json.loads((folder / file).read_text(encoding="utf-8"))
        }
        for split, file in domain.task_files.items()
    }


def assert_same(differences: Iterable[str], *, shown: int = 8) -> None:
    """Fail with the first few differences, if there are any."""
    found = list(differences)
    more = f"\n... and {len(found) - shown} more" if len(found) > shown else ""
    assert not found, f"{len(found)} differences\n" + "\n".join(found[:shown]) + more


def replay_tool_calls(
    new_world: NewWorld, path: Path, tasks: TaskSets | None = None
) -> Iterator[str]:
    """Every call of every sequence: text, error flag, and the state wherever it was noted."""
    for sequence in records(path):
        world = new_world()
        if sequence["task_id"] is not None:
            task = (tasks or {})[sequence["task_set"]][sequence["task_id"]]
            world.set_state(None, _initial(task, "initialization_actions"), [])
        yield from _state(world, sequence, f"{sequence['seq']} start", prefix="init_")
        for step in sequence["steps"]:
            where = f"{sequence['seq']} step {step['step']} {step['tool']}({step['arguments']})"
            response = world.respond(_call(step, step["tool"]))
            yield from _response(response, step, where)
            yield from _state(world, step, where)
        yield from _state(world, sequence, f"{sequence['seq']} end", prefix="final_")


def replay_tasks(new_world: NewWorld, vectors: Iterable[Vector], tasks: TaskSets) -> Iterator[str]:
    """Every task: its initial state, its assertions there, and both ways to replay its gold."""
    for vector in vectors:
        task = tasks[vector["task_set"]][vector["task_id"]]
        where = f"{vector['task_set']} {vector['task_id']}"
        yield from _check_initial_state(_ready(new_world, task), task, vector, where)
        yield from _check_bare_gold(_ready(new_world, task), task, vector, f"{where} gold, bare")
        yield from _check_answered_gold(
            _ready(new_world, task), task, vector, f"{where} gold, answered"
        )


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
            accepted = [value for key, value in tool.items() if key.startswith("schema")]
            schema = _without_descriptions(found[name])
            if schema not in accepted:
                yield from _difference(f"schema of {name}", schema, accepted[0])


def _initial(task: Vector, key: str) -> Any:
    return (task.get("initial_state") or {}).get(key)


def _criteria(task: Vector, key: str) -> list[Vector]:
    return (task.get("evaluation_criteria") or {}).get(key) or []


def _ready(new_world: NewWorld, task: Vector) -> World:
    world = new_world()
    world.set_state(
        _initial(task, "initialization_data"),
        _initial(task, "initialization_actions"),
        _initial(task, "message_history") or [],
    )
    return world


def _call(step: Vector, name: str) -> ToolCall:
    requestor = step.get("requestor", "assistant")
    return {"id": "", "name": name, "arguments": step["arguments"], "requestor": requestor}


def _check_initial_state(world: World, task: Vector, vector: Vector, where: str) -> Iterator[str]:
    yield from _state(world, vector["init"], where)
    yield from _assertions(world, task, vector["assertions_after_init"], where)
    user_hash = vector["init_after_assertions_user_db_hash"]
    yield from _state(world, {"user_db_hash": user_hash}, f"{where} after its assertions")


def _check_bare_gold(world: World, task: Vector, vector: Vector, where: str) -> Iterator[str]:
    """As the evaluator does it: no synchronisation, errors passed over."""
    recorded = vector["gold_evaluator_way"]
    raised: list[str | None] = []
    for action in _criteria(task, "actions"):
        requestor = action.get("requestor", "assistant")
        try:
            world.call(action["name"], requestor, action["arguments"])
            raised.append(None)
        except Exception as error:
            raised.append(f"{type(error).__name__}: {error}")
    yield from _difference(f"{where}: errors", raised, recorded["exceptions"])
    yield from _state(world, recorded, where)
    yield from _assertions(world, task, recorded["assertions"], where)


def _check_answered_gold(world: World, task: Vector, vector: Vector, where: str) -> Iterator[str]:
    """As a conversation does it: each call answered, both sides kept in step."""
    recorded = vector["gold_get_response_way"]
    actions = _criteria(task, "actions")
    for action, step in itertools.zip_longest(actions, recorded["steps"]):
        here = f"{where} {action['name']}({action['arguments']})"
        yield from _response(world.respond(_call(action, action["name"])), step, here)
    yield from _state(world, recorded, where)
    yield from _assertions(world, task, recorded["assertions"], where)


def _assertions(world: World, task: Vector, recorded: list[Vector], where: str) -> Iterator[str]:
    found = []
    for assertion in _criteria(task, "env_assertions"):
        outcome = {"func": assertion["func_name"], "env_type": assertion["env_type"]}
        try:
            found.append({**outcome, "met": world.check(assertion)})
        except Exception as error:
            problem = {"exception": type(error).__name__, "message": str(error)}
            found.append({**outcome, **problem})
    yield from _difference(f"{where}: assertions", found, recorded)


def _response(found: ToolMessage, recorded: Vector, where: str) -> Iterator[str]:
    yield from _difference(f"{where}: error flag", found["error"], recorded["error"])
    if recorded["error"] and not _comparable(recorded.get("exc_type")):
        return
    content = found["content"] or ""
    if recorded["content"] is None:
        digest = hashlib.sha256(content.encode()).hexdigest()
        yield from _difference(f"{where}: content", digest, recorded["content_sha256"])
        yield from _difference(f"{where}: length", len(content), recorded["content_len"])
    else:
        expected = _without_library_version(recorded["content"])
        yield from _difference(f"{where}: content", _without_library_version(content), expected)


def _comparable(exception_name: str | None) -> bool:
    """Python's own words change from one version to the next; ours do not."""
    return exception_name == "ValueError" or sys.version_info[:2] == RECORDED_WITH


def _without_library_version(text: str) -> str:
    lines = text.split("\n")
    return "\n".join(line for line in lines if not line.strip().startswith(LIBRARY_VERSION_LINE))


def _state(world: World, recorded: Vector, where: str, *, prefix: str = "") -> Iterator[str]:
    """Compare the hashes that a record has; most records of airline and retail have none."""
    if agent_hash := recorded.get(f"{prefix}agent_db_hash"):
        yield from _difference(f"{where}: database", world.get_db_hash(), agent_hash)
    if user_hash := recorded.get(f"{prefix}user_db_hash"):
        yield from _difference(f"{where}: user database", world.get_user_db_hash(), user_hash)


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
