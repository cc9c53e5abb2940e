"""Differences from MASEval that the manual lists, and that no other test shows."""

from collections.abc import Sequence
from typing import Any

import pytest

from maseval import BenchmarkCallback, ScriptedModelAdapter, SequentialTaskQueue, Task, TaskProtocol
from maseval.benchmark.tau2 import compute_pass_at_k, compute_pass_hat_k
from maseval.core.agent import AgentAdapter
from maseval.core.call_policy import CallPolicy
from maseval.core.provider_errors import OverloadedError
from tests.core.worlds import Shop


class Asking(Shop):
    """Asks a model whose provider is overloaded so often, without waiting in between."""

    def __init__(self, failures: int, **options: Any) -> None:
        super().__init__(**options)
        self.failures = failures

    def run_agents(
        self, agents: Sequence[AgentAdapter], task: Task, environment: Any, query: str
    ) -> Any:
        busy = OverloadedError("", provider="acme")
        model = ScriptedModelAdapter([*[busy] * self.failures, "done"])
        model.policy = CallPolicy(sleep=lambda seconds: None)
        return model.generate(query)


def test_a_provider_that_fails_is_asked_again():
    [late] = Asking(5).run([Task("a")], {})
    [never] = Asking(6).run([Task("a")], {})

    assert (late["status"], late["final_answer"]) == ("success", "done")
    assert never["status"] == "provider_error"


def test_a_dict_keeps_all_parts_of_its_task():
    described = {"query": "q", "id": "7", "user_data": {"u": 1}, "protocol": {"priority": 3}}

    [task] = SequentialTaskQueue.from_list([described])

    assert (task.id, task.user_data, task.protocol) == ("7", {"u": 1}, TaskProtocol(priority=3))


def test_the_callers_list_of_callbacks_stays_as_it_is():
    given = [BenchmarkCallback()]

    assert len(Shop(callbacks=given, progress_bar=True).callbacks) == 2 and len(given) == 1


def test_no_process_is_started_to_list_packages(monkeypatch):
    def refuse(*args, **kwargs):
        assert "pip" not in str(args)
        raise FileNotFoundError("no git either")

    monkeypatch.setattr("subprocess.run", refuse)

    assert "pytest" in Shop().benchmark_level_config["packages"]


def test_a_report_has_further_keys():
    [report] = Shop(seed=3).run([Task("a")], {})

    further = ["final_answer", "run_id", "started_at", "duration_seconds", "seed", "attempts"]
    assert list(report)[9:] == further and (report["final_answer"], report["seed"]) == ("did a", 3)


def trials(*passed: bool) -> list[dict[str, Any]]:
    """Reports of task ``a`` with these outcomes, and two passes of task ``b``."""
    outcomes = [*(("a", each) for each in passed), ("b", True), ("b", True)]
    return [
        {"task_id": task, "repeat_idx": at, "status": "success", "eval": [{"passed": each}]}
        for at, (task, each) in enumerate(outcomes)
    ]


def test_pass_at_k_does_not_depend_on_the_order_of_reports():
    first, last = trials(True, False, False), trials(False, False, True)

    assert compute_pass_at_k(first, [1]) == compute_pass_at_k(last, [1])
    assert compute_pass_at_k(first, [1])["pass@1"] == pytest.approx((1 / 3 + 1) / 2)


def test_a_k_above_the_trials_of_a_task_is_left_out(caplog):
    reports = trials(True, True, True)

    assert compute_pass_hat_k(reports, [2, 3]) == {"pass^2": 1.0}
    assert compute_pass_at_k(reports, [3]) == {} and "pass@3 left out" in caplog.text
