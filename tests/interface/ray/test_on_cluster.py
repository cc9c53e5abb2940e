"""The same run, wherever it takes place: on a real cluster of three nodes."""

import json
import os
import re
import signal
import time
from collections.abc import Collection, Mapping
from typing import Any

import pytest

from maseval import AgentError, TaskProtocol, TimeoutAction
from maseval.core.benchmark import Benchmark
from maseval.core.callbacks import BenchmarkCallback
from maseval.core.engine.engines import ThreadEngine
from maseval.core.exceptions import RunStoppedError
from maseval.core.provider_errors import AuthenticationError
from maseval.interface.ray.engine import RayEngine
from maseval.interface.ray.worker import NodeMismatchError
from tests.core.worlds import Shop, numbered, statuses, tasks
from tests.interface.ray.conftest import NODES
from tests.normalised import normalise
from tests.runs.worlds import desk

# In tracebacks: on another machine maseval and one's own code lie where Ray has put them.
# Up to the last such folder, as a checkout may be called maseval as well.
PLACE = re.compile(r'File \\"[^"]*/(?=(maseval|tests)/)')


def results(reports: list[dict[str, Any]]) -> list[Any]:
    ordered = sorted(reports, key=lambda report: (report["task_id"], report["repeat_idx"]))
    return [PLACE.sub("", json.dumps(normalise(report))) for report in ordered]


def test_one_thread_sixteen_threads_and_three_nodes_give_equal_results(engine):
    def run(workers, where):
        benchmark = desk(n_task_repeats=4, num_workers=workers)
        return results(benchmark.run(numbered(20), engine=where)), benchmark.usage_by_component

    alone = run(1, "threads")

    assert run(16, ThreadEngine()) == alone
    assert run(12, engine) == alone
    assert len(alone[0]) == 80


def sleep(query: str) -> None:
    time.sleep(60)


def fail(query: str) -> None:
    raise AgentError("no", component="agent", details={"why": "tired"})


def refuse(query: str) -> None:
    raise AuthenticationError("no such key", provider="openai", model_id="gpt", status=401)


def test_timeouts_retries_and_errors_are_those_of_threads(engine):
    given = [
        *tasks("slow", protocol=TaskProtocol(timeout_seconds=2, timeout_action=TimeoutAction.SKIP)),
        *tasks("wrong", "odd", protocol=TaskProtocol(max_retries=1)),
        *tasks("fine"),
    ]
    behaviour = {"slow": sleep, "wrong": fail, "odd": lambda query: 1 / 0}

    here = Shop(behaviour, num_workers=4).run(given)
    there = Shop(behaviour, num_workers=4).run(given, engine=engine)

    assert statuses(there) == {
        **{"slow": "task_timeout", "wrong": "agent_error"},
        **{"odd": "unknown_execution_error", "fine": "success"},
    }
    assert results(there) == results(here)
    [odd] = [report for report in there if report["task_id"] == "odd"]
    assert len(odd["attempts"]) == 1 and "site-packages/ray" not in odd["error"]["traceback"]


def test_the_exception_itself_arrives_and_ends_the_run_as_it_would_here(engine):
    with pytest.raises(AgentError) as caught:
        Shop(fail, fail_on_task_error=True).run(numbered(3), engine=engine)

    assert caught.value.details == {"why": "tired"}
    with pytest.raises(RunStoppedError, match="no such key"):
        Shop(refuse, stop_when_hopeless=True).run(numbered(3), engine=engine)


class StartedWorkers(BenchmarkCallback):
    def __init__(self) -> None:
        self.nodes = []

    def on_worker_event(self, benchmark: Benchmark, event: Any) -> None:
        self.nodes.append(event.node)


class OwnData(Shop):
    """Its data is what a variable of the machine says."""

    def data_checksums(self, domains: Collection[str]) -> Mapping[str, str]:
        return {"stock.json": os.environ.get("STOCK", "here")}


def test_a_node_gets_the_code_of_the_program_and_is_refused_with_other_data(nodes, tmp_path):
    other_code = tmp_path / "maseval" / "__init__.py"
    other_code.parent.mkdir()
    other_code.write_text("raise ImportError('the maseval of last year')\n")
    path = f"{tmp_path}{os.pathsep}{os.environ['PYTHONPATH']}"
    other, everywhere = nodes.add(PYTHONPATH=path, STOCK="there"), NODES + 1
    try:
        started = StartedWorkers()
        shop = Shop(num_workers=everywhere, callbacks=[started])
        reports = shop.run(numbered(8), engine=RayEngine("auto", processes=everywhere))
        with pytest.raises(NodeMismatchError) as caught:
            shop = OwnData(lambda query: time.sleep(1), num_workers=everywhere)
            shop.run(numbered(99), engine=RayEngine("auto", processes=everywhere))
    finally:
        nodes.remove(other)

    assert set(statuses(reports).values()) == {"success"} and len(started.nodes) >= 1
    assert f"({other.node_id[:6]}) is refused: stock.json is there there" in str(caught.value)


def test_a_program_starts_its_processes_once_and_on_all_nodes(nodes):
    started = StartedWorkers()
    shop = Shop(lambda query: time.sleep(0.5), num_workers=NODES, callbacks=[started])
    with RayEngine("auto", processes=NODES) as engine:
        for _ in range(3):
            shop.run(numbered(12 * NODES), engine=engine)

    assert len(set(started.nodes)) == len(started.nodes) == NODES


@pytest.mark.parametrize("most_deaths", [1, 3])
def test_a_simulation_that_kills_its_process_is_given_up_and_harms_no_other(most_deaths, nodes):
    behaviour = {"t003": lambda query: os.kill(os.getpid(), signal.SIGKILL)}
    engine = RayEngine("auto", processes=NODES, most_deaths=most_deaths)

    reports = Shop(behaviour, num_workers=6).run(numbered(12), engine=engine)

    found = statuses(reports)
    assert found.pop("t003") == "worker_died"
    assert most_deaths == 1 or set(found.values()) == {"success"}
    [died] = [one["error"] for one in reports if one["task_id"] == "t003"]
    assert f"died {most_deaths} times" in died["error_message"]
