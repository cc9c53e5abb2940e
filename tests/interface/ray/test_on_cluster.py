"""The same run, wherever it takes place: on a real cluster of three nodes."""

import json
import os
import time

import pytest

import maseval
from maseval import AgentError, TaskProtocol, TimeoutAction
from maseval.core.callbacks import BenchmarkCallback
from maseval.core.engine.engines import ThreadEngine
from maseval.core.engine.worker_setup import NodeMismatchError
from maseval.core.exceptions import RunStoppedError
from maseval.core.provider_errors import AuthenticationError
from maseval.interface.ray.engine import RayEngine
from tests.core.worlds import Shop, numbered, statuses, tasks
from tests.interface.ray.conftest import NODES
from tests.normalised import normalise
from tests.runs.worlds import desk


def results(reports):
    ordered = sorted(reports, key=lambda report: (report["task_id"], report["repeat_idx"]))
    return [json.dumps(normalise(report)) for report in ordered]


def test_one_thread_sixteen_threads_and_three_nodes_give_equal_results(engine):
    def run(workers, where):
        benchmark = desk(n_task_repeats=4, num_workers=workers)
        return results(benchmark.run(numbered(20), engine=where)), benchmark.usage_by_component

    alone = run(1, "threads")

    assert run(16, ThreadEngine()) == alone
    assert run(12, engine) == alone
    assert len(alone[0]) == 80


def sleep(query):
    time.sleep(60)


def fail(query):
    raise AgentError("no", component="agent", details={"why": "tired"})


def refuse(query):
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


def test_a_node_with_other_code_is_refused_by_name(nodes, tmp_path):
    sources = tmp_path / "sitecustomize.py"
    sources.write_text(
        "import importlib.util, sys\n"
        "class Older:\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name != 'maseval': return None\n"
        "        sys.meta_path.remove(self)\n"
        "        spec = importlib.util.find_spec('maseval')\n"
        "        run = spec.loader.exec_module\n"
        "        def older(module):\n"
        "            run(module)\n"
        "            module.__version__ = '0.1.0'\n"
        "        spec.loader.exec_module = older\n"
        "        return spec\n"
        "sys.meta_path.insert(0, Older())\n"
    )
    other = nodes.add(PYTHONPATH=f"{tmp_path}{os.pathsep}{os.environ['PYTHONPATH']}")
    try:
        with pytest.raises(NodeMismatchError) as caught:
            while True:  # Ray may not give work at once to a node that has just come
                Shop(num_workers=8).run(numbered(8), engine=RayEngine("auto", processes=8))
    finally:
        nodes.remove(other)

    assert other.node_id[:6] in str(caught.value)
    assert "maseval is 0.1.0 (code " in str(caught.value)
    assert f"there and {maseval.__version__} (code " in str(caught.value)


class StartedWorkers(BenchmarkCallback):
    def __init__(self):
        self.nodes = []

    def on_worker_event(self, benchmark, event):
        self.nodes.append(event.node)


def test_worker_processes_are_spread_over_all_nodes(nodes):
    for _ in range(3):
        started = StartedWorkers()
        shop = Shop(num_workers=NODES, callbacks=[started])
        shop.run(numbered(NODES), engine=RayEngine("auto", processes=NODES))

        assert len(set(started.nodes)) == len(started.nodes) == NODES
