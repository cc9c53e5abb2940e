"""An agent that carries out the reference solution passes every task of the live benchmark."""

from typing import Any

import pytest

from maseval.benchmark.tau2 import load_tasks
from maseval.benchmark.tau2.players import PlayerTau2Benchmark
from maseval.core.task.queues import SequentialTaskQueue

GOLD = {"player": "gold"}


def failures(tasks: SequentialTaskQueue, **settings: str) -> list[Any]:
    benchmark = PlayerTau2Benchmark(progress_bar=False, num_workers=4, **settings)
    reports = benchmark.run(tasks, agent_data=GOLD)
    assert len(reports) == len(tasks)
    return [
        (report["task_id"], report["error"] or report["eval"])
        for report in reports
        if report["status"] != "success" or report["eval"][0]["reward"] != 1.0
    ]


@pytest.mark.data
@pytest.mark.parametrize(("domain", "count"), [("airline", 50), ("retail", 114), ("telecom", 114)])
def test_gold_passes_every_base_task(domain, count, tau2_data):
    tasks = load_tasks(domain)

    assert len(tasks) == count
    assert failures(tasks) == []


@pytest.mark.data
def test_gold_passes_telecom_alone_with_both_sides_tools(tau2_data):
    assert failures(load_tasks("telecom"), mode="solo") == []
