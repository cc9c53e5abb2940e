"""Agreement with tau2-bench v0.2.0: what it recorded is done again here, and compared.

Each function goes through records and yields one ``Outcome`` for each thing that was compared, so
that agreement can be counted and every difference shown.
"""

import hashlib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from maseval.benchmark.tau2.data_loader import load_raw_task
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.releases import release_of
from maseval.benchmark.tau2.formats.message import Tau2ToolCall, ToolMessage
from maseval.benchmark.tau2.scoring.judge import NoJudgeError
from maseval.benchmark.tau2.scoring.score import score_simulation
from maseval.benchmark.tau2.world.world import World

Record = Mapping[str, Any]

_RECORDED_WITH = {"0.2.0": (3, 11), "1.0.1": (3, 12), "verified": (3, 11)}
_LIBRARY_VERSION = re.compile(r"^.*For further information visit.*\n?", re.MULTILINE)
_TIMESTAMP = re.compile(r"timestamp: \S+")


class Outcome(NamedTuple):
    """One comparison: of what, and where the two part. ``skipped`` says why there was none."""

    what: str
    where: str
    differences: tuple[str, ...] = ()
    skipped: str | None = None


def replay_tool_calls(
    domain: Domain, folder: Path, sequences: Iterable[Record], data_dir: Path | None = None
) -> Iterator[Outcome]:
    """Every call of every sequence: text, error flag, and the state wherever it was noted."""
    for sequence in sequences:
        world, name = _world(domain, folder), f"{domain.name} sequence {sequence['seq']}"
        if sequence["task_id"] is not None:
            start = load_raw_task(domain, sequence["task_id"], data_dir).get("initial_state") or {}
            world.set_state(
                start.get("initialization_data"), start.get("initialization_actions"), []
            )
        yield Outcome("state", f"{name}, start", _state(world, sequence, "init_"))
        for step in sequence["steps"]:
            answer = world.respond(_call(step, step["tool"]))
            where = f"{name}, step {step['step']}: {step['tool']}({step['arguments']})"
            found = _answer(answer, step, domain.version) + _state(world, step)
            yield Outcome("call", where, found)
        yield Outcome("state", f"{name}, end", _state(world, sequence, "final_"))


def replay_tasks(
    domain: Domain, folder: Path, records: Iterable[Record], data_dir: Path | None = None
) -> Iterator[Outcome]:
    """Every task: its beginning, its assertions there, and both ways to replay its solution."""
    for record in records:
        task = load_raw_task(domain, record["task_id"], data_dir)
        differences = (
            *_beginning(_begun(domain, folder, task), task, record),
            *_bare_solution(_begun(domain, folder, task), task, record["gold_evaluator_way"]),
            *_answered_solution(
                _begun(domain, folder, task), task, record["gold_get_response_way"]
            ),
        )
        yield Outcome("task", f"{record['task_set']} task {record['task_id']}", differences)


def score_evaluations(domain: Domain, records: Iterable[Record]) -> Iterator[Outcome]:
    """Every evaluation: the whole verdict, or the exception in its place."""
    for record in records:
        found = _scored(
            record["simulation"],
            domain=domain,
            task=_overridden(load_raw_task(domain, record["task_id"]), record["task_override"]),
            evaluation_type=record["evaluation_type"],
            strict=True,
        )
        where = f"{domain.name} {record['id']} ({record['variant']})"
        yield Outcome("evaluation", where, _verdicts(found, record["reward_info"], record))


def score_conversations(domain: Domain, records: Iterable[Record]) -> Iterator[Outcome]:
    """Every real conversation: the whole verdict, or the exception in its place."""
    for number, record in enumerate(records):
        simulation, verdict = record["simulation"], record["reward_info"]
        where = (
            f"simulation {number} (id {simulation['id']!r}, task {simulation['task_id']!r}, "
            f"trial {simulation.get('trial')})"
        )
        strict = record["exception"] is not None
        try:
            found = _scored(simulation, domain=domain, solo=record["solo"], strict=strict)
        except NoJudgeError:
            yield Outcome("simulation", where, skipped="its verdict needs a judge model")
        else:
            yield Outcome("simulation", where, _verdicts(found, verdict, record))


def _scored(simulation: Any, *, strict: bool, **how: Any) -> Record | Exception:
    if not strict:
        return score_simulation(simulation, **how)
    try:
        return score_simulation(simulation, strict=True, **how)
    except Exception as error:  # what the original raised here is part of the record
        return error


def _verdicts(
    found: Record | Exception,
    recorded: Record | None,
    record: Record,
) -> tuple[str, ...]:
    expected = record.get("exception")
    if isinstance(found, Exception):
        return _exceptions(found, expected)
    if recorded is None:
        return _difference("verdict", found, expected)
    differences: tuple[str, ...] = ()
    for key in recorded:
        differences += _difference(key, found.get(key), recorded.get(key))
    replay_error = (found.get("info") or {}).get("replay_error")
    if differences and replay_error:
        differences += (f"it cannot be replayed: {replay_error['error']}",)
    return differences


def _exceptions(found: Exception, expected: Record | None) -> tuple[str, ...]:
    if expected is None:
        return (f"raised {type(found).__name__}: {found}, where a verdict was recorded",)
    kinds = [kind.__name__ for kind in type(found).__mro__]
    if expected["type"] not in kinds:
        return _difference("exception", f"{kinds[0]}: {found}", expected)
    if not _comparable(expected["type"]):
        return ()
    # Long texts are recorded by their beginning only.
    recorded = _normal(expected["message"])
    return _difference("exception", _normal(str(found))[: len(recorded)], recorded)


def _normal(text: str) -> str:
    return _TIMESTAMP.sub("timestamp: <TS>", _LIBRARY_VERSION.sub("", text))


def _overridden(task: dict[str, Any], override: Record | None) -> dict[str, Any]:
    if override is None:
        return task
    changed = override["evaluation_criteria"]
    criteria = task.get("evaluation_criteria") or {}
    return {**task, "evaluation_criteria": None if changed is None else {**criteria, **changed}}


def _world(domain: Domain, folder: Path) -> World:
    return World(domain, folder, rules=release_of(domain).rules.replay)


def _begun(domain: Domain, folder: Path, task: Record) -> World:
    world, start = _world(domain, folder), task.get("initial_state") or {}
    world.set_state(
        start.get("initialization_data"),
        start.get("initialization_actions"),
        start.get("message_history") or [],
    )
    return world


def _beginning(world: World, task: Record, record: Record) -> tuple[str, ...]:
    found = _state(world, record["init"])
    found += _assertions(world, task, record["assertions_after_init"])
    return found + _state(world, {"user_db_hash": record["init_after_assertions_user_db_hash"]})


def _bare_solution(world: World, task: Record, record: Record) -> tuple[str, ...]:
    """As the evaluator does it: nothing synchronised, errors passed over."""
    raised: list[str | None] = []
    for action in _criteria(task, "actions"):
        try:
            world.call(action["name"], action.get("requestor", "assistant"), action["arguments"])
            raised.append(None)
        except Exception as error:  # a tool called on a task's behalf: its errors are findings
            raised.append(f"{type(error).__name__}: {error}")
    found = _difference("errors of the solution", raised, record["exceptions"])
    return found + _state(world, record) + _assertions(world, task, record["assertions"])


def _answered_solution(world: World, task: Record, record: Record) -> tuple[str, ...]:
    """As a conversation does it: each call answered, both sides kept in step."""
    found: tuple[str, ...] = ()
    for action, step in zip(_criteria(task, "actions"), record["steps"], strict=True):
        answer = world.respond(_call(action, action["name"]))
        found += _answer(answer, step, world.domain.version)
    return found + _state(world, record) + _assertions(world, task, record["assertions"])


def _assertions(world: World, task: Record, recorded: list[Record]) -> tuple[str, ...]:
    found = []
    for assertion in _criteria(task, "env_assertions"):
        outcome = {"func": assertion["func_name"], "env_type": assertion["env_type"]}
        try:
            found.append({**outcome, "met": world.check(assertion)})
        except Exception as error:  # an assertion that raises is a finding too
            found.append({**outcome, "exception": type(error).__name__, "message": str(error)})
    return _difference("assertions", found, recorded)


def _criteria(task: Record, key: str) -> list[Record]:
    return (task.get("evaluation_criteria") or {}).get(key) or []


def _call(step: Record, name: str) -> Tau2ToolCall:
    requestor = step.get("requestor", "assistant")
    return {"id": "", "name": name, "arguments": step["arguments"], "requestor": requestor}


def _answer(found: ToolMessage, recorded: Record, version: str) -> tuple[str, ...]:
    flags = _difference("error flag", found["error"], recorded["error"])
    if recorded["error"] and not _comparable(recorded.get("exc_type"), version):
        return flags
    content = found["content"] or ""
    if recorded["content"] is None:
        digest = hashlib.sha256(content.encode()).hexdigest()
        return flags + _difference("hash of the text", digest, recorded["content_sha256"])
    return flags + _difference("text", _normal(content), _normal(recorded["content"]))


def _comparable(exception_name: str | None, version: str = "0.2.0") -> bool:
    """Python's own words change from one version to the next; the original's do not."""
    return exception_name == "ValueError" or sys.version_info[:2] == _RECORDED_WITH[version]


def _state(world: World, recorded: Record, prefix: str = "") -> tuple[str, ...]:
    """Compare the hashes that a record has; most records of airline and retail have none."""
    found: tuple[str, ...] = ()
    if company := recorded.get(f"{prefix}agent_db_hash"):
        found += _difference("database", world.get_db_hash(), company)
    if customer := recorded.get(f"{prefix}user_db_hash"):
        found += _difference("user database", world.get_user_db_hash(), customer)
    return found


def _difference(name: str, found: object, recorded: object) -> tuple[str, ...]:
    return () if found == recorded else (f"{name}: found {found!r}, recorded {recorded!r}",)
