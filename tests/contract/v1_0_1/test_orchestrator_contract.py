"""The run loop of v1.0.1: every recorded orchestration is reproduced."""

from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.conversation.orchestrator import Orchestrator
from maseval.benchmark.tau2.data_loader import load_raw_task
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.world.tasks import noted_reads_of
from maseval.benchmark.tau2.world.trajectory import cost_of
from tests.contract.replay import assert_same, records
from tests.contract.test_orchestrator_contract import (
    Scripted,
    ScriptRanOut,
    differences,
    packaged,
    shown,
    without_times,
)

pytestmark = [pytest.mark.contract, pytest.mark.data]


class Listening(Scripted):
    """A scripted side that also records what it receives at the end."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.goodbyes: list[Any] = []

    def stop(self, last: Any) -> None:
        self.goodbyes.append(None if last is None else packaged(last))


class Alone(Listening):
    """The original's solo agent, which stops with a token of its own."""

    def reply(self, incoming: Any) -> Any:
        said = super().reply(incoming)
        if not incoming:  # it speaks first
            self.inputs[-1] = None
        return said

    def is_stop(self, message: dict[str, Any]) -> bool:
        return "###STOP###" in (message["content"] or "")


def played(record: dict[str, Any], domain: Domain, data: Path) -> dict[str, Any]:
    """What our run loop makes of a recording."""
    task = load_raw_task(domain, record["task_id"])
    state = dict(task.get("initial_state") or {})
    noted = noted_reads_of((task["evaluation_criteria"] or {}).get("actions") or ())
    if record["message_history"] is not None:
        state["message_history"] = record["message_history"]
    folder = domain.data_dir or data / "domains" / domain.folder_name
    solo = record.get("solo_mode", False)
    agent = (Alone if solo else Listening)(record["agent_script"], "assistant")
    user = Listening(record["user_script"] or (), "user")
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


def test_every_recorded_orchestration_comes_out_the_same(vectors, data, domain_called):
    recorded = records(vectors / "orchestrator.jsonl.gz")

    assert len(recorded) >= 55
    assert_same(
        line
        for record in recorded
        for line in differences(record, played(record, domain_called(record["domain"]), data))
    )
