"""The run loop takes the original's steps: every recorded orchestration is reproduced."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.conversation.orchestrator import Orchestrator
from maseval.benchmark.tau2.data_loader import load_raw_task
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.formats.message import assistant_message, user_message
from maseval.benchmark.tau2.world.tasks import noted_reads_of
from maseval.benchmark.tau2.world.trajectory import cost_of
from tests.contract.replay import assert_same, records

pytestmark = [pytest.mark.contract, pytest.mark.data]

SHOWN = ("role", "id", "content", "tool_calls", "requestor", "error", "turn_idx")


class ScriptRanOut(Exception):
    """The recording's own sign that a script has no more lines."""


class Scripted:
    """A side that says what the recording says it said, and notes what it was handed."""

    def __init__(self, script: Sequence[dict[str, Any]], requestor: str) -> None:
        self.script = list(script)
        self.requestor = requestor
        self.inputs: list[Any] = []
        self.histories: list[Any] = []
        self.goodbyes: list[Any] = []

    def begin(self, history: Sequence[dict[str, Any]]) -> None:
        self.histories.append([shown(message) for message in history])

    def reply(self, incoming: Sequence[dict[str, Any]]) -> dict[str, Any]:
        self.inputs.append(packaged(incoming))
        if not self.script:
            raise ScriptRanOut
        line = self.script.pop(0)
        calls = line.get("tool_calls")
        if calls is not None:
            calls = [{**call, "requestor": self.requestor} for call in calls]
        make = assistant_message if self.requestor == "assistant" else user_message
        return make(line["content"], tool_calls=calls, cost=line.get("cost", 0.0))

    def is_stop(self, message: dict[str, Any]) -> bool:
        return "<<AGENT_STOP>>" in (message["content"] or "")

    def stop(self, last: Any) -> None:
        self.goodbyes.append(None if last is None else packaged(last))


def packaged(messages: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What a side is handed; several results at once come as one."""
    if len(messages) == 1:
        return shown(messages[0])
    return {"role": "multi_tool", "tool_messages": [shown(message) for message in messages]}


def shown(message: dict[str, Any]) -> dict[str, Any]:
    return {
        key: message.get(key)
        for key in SHOWN
        if key in message and not (key == "turn_idx" and message[key] is None)
    }


def without_times(text: str) -> str:
    text = re.sub(r"timestamp: \S+", "timestamp: <TS>", text)
    return text.replace("\ntimestamp: <TS>", "")


class Alone(Scripted):
    """The original's solo agent, which stops with a token of its own."""

    def reply(self, incoming: Any) -> Any:
        said = super().reply(incoming)
        if not incoming:  # it speaks first
            self.inputs[-1] = None
        return said

    def is_stop(self, message: dict[str, Any]) -> bool:
        return "###STOP###" in (message["content"] or "")


def played(record: dict[str, Any], domain: Domain, folder: Path) -> dict[str, Any]:
    """What our run loop makes of a recording."""
    task = load_raw_task(domain, record["task_id"])
    state = dict(task.get("initial_state") or {})
    noted = noted_reads_of((task["evaluation_criteria"] or {}).get("actions") or ())
    if record["message_history"] is not None:
        state["message_history"] = record["message_history"]
    solo = record.get("solo_mode", False)
    agent = (Alone if solo else Scripted)(record["agent_script"], "assistant")
    user = Scripted(record["user_script"] or (), "user")
    exception: dict[str, Any] | None = None
    environment = orchestrator = None
    try:
        environment = Tau2Environment(
            {
                "domain": domain,
                "initial_state": state,
                "noted_reads": noted,
                "solo": solo,
                "db_path": folder / domain.db_file,
            }
        )
        options = ("max_steps", "max_errors", "validate_communication", "timeout")
        given = {option: record[option] for option in options if option in record}
        orchestrator = Orchestrator(environment, agent, None if solo else user, **given)
        orchestrator.run()
    except ScriptRanOut:
        exception = {"type": "Stop"}
    except Exception as error:
        base = next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")
        exception = {"type": base.__name__, "message": without_times(str(error))}
    if orchestrator is None or environment is None:
        return {"exception": exception}
    trajectory = environment.trajectory
    messages = trajectory.messages
    if exception is None:
        messages = trajectory.to_simulation()["messages"]
    if orchestrator.from_role is None:  # refused before it began
        messages = []
    found = {
        "exception": exception,
        "termination_reason": trajectory.termination_reason,
        "step_count": trajectory.steps,
        "num_errors": orchestrator.num_errors,
        "done": orchestrator.done,
        "from_role": orchestrator.from_role,
        "to_role": orchestrator.to_role,
        "messages": [shown(message) for message in messages],
        "agent_inputs": agent.inputs,
        "user_inputs": user.inputs,
        "agent_init_history": agent.histories,
        "user_init_history": user.histories,
        "agent_stop_calls": agent.goodbyes,
        "user_stop_calls": user.goodbyes,
        "agent_cost": cost_of(trajectory.messages, "assistant"),
        "user_cost": cost_of(trajectory.messages, "user"),
        "final_agent_db_hash": environment.get_db_hash(),
        "final_user_db_hash": environment.get_user_db_hash(),
    }
    # The original has a user that says nothing where nobody is; here there is none.
    return {k: v for k, v in found.items() if not (solo and k.startswith("user_"))}


def differences(record: dict[str, Any], ours: dict[str, Any]) -> list[str]:
    found = []
    for key, value in ours.items():
        expected = record.get(key)
        if key == "exception" and expected and expected["type"] == "Stop":
            expected = {"type": "Stop"}
        elif key == "exception" and expected:
            expected = {**expected, "message": without_times(expected["message"])}
        if key in ("agent_cost", "user_cost") and ours["exception"]:
            continue
        if expected != value:
            found.append(f"{record['id']} ({record['label']}) {key}: {value!r} != {expected!r}")
    return found


RUNS = {"0.2.0": 90, "1.0.1": 55, "verified": 177}


def test_every_recorded_orchestration_comes_out_the_same(recorded):
    vectors = records(recorded.vectors / "orchestrator.jsonl.gz")
    found = []
    for record in vectors:
        name = record["domain"]
        ours = played(record, recorded.domain(name), recorded.folder(name))
        if recorded.version == "0.2.0":  # whose sides were not told of the end
            ours = {key: part for key, part in ours.items() if not key.endswith("_stop_calls")}
        found += differences(record, ours)

    assert_same(found)
    assert len(vectors) >= RUNS[recorded.version]
