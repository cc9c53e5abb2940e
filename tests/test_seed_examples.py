"""The examples of the documented core API run as they are written there.

Each example is the published text with its indentation restored; the names that it leaves to the
reader come from the world built here.
"""

import subprocess
import textwrap
from pathlib import Path
from typing import Any

import pytest

from maseval import AgentError, ScriptedModelAdapter, TaskExecutionStatus, TraceableMixin
from maseval.core.engine.participants import Agents
from maseval.core.task.task import Task
from maseval.core.tracing import JsonObject
from maseval.core.user import User
from tests.core.task.building import InOrder
from tests.core.worlds import Customer, Shop, Worker, World, failing, numbered, tasks

CONFIG = {"model": "scripted"}


def run_example(text: str, **names: object) -> dict[str, object]:
    exec(textwrap.dedent(text), names)
    return names


class MyBenchmark(Shop):
    """A benchmark with one agent that is called ``my_agent``; its second task goes wrong."""

    def __init__(self, **settings: Any) -> None:
        super().__init__({"t001": failing(AgentError("bad"))}, **settings)
        self.agent_data_seen = []

    def setup_user(self, agent_data: JsonObject, environment: Any, task: Task) -> User | None:
        return Customer("hello", "bye")

    def setup_agents(
        self, agent_data: JsonObject, environment: Any, task: Task, user: Customer
    ) -> Agents:
        self.agent_data_seen.append(agent_data)
        worker = Worker(self.behaviour.get(task.id, str.upper), "my_agent")
        return [worker], {"my_agent": worker}


@pytest.fixture(autouse=True)
def in_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples print a commit and write files: both in a folder of the test's own."""
    identity = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
    commit = ["commit", "--quiet", "--allow-empty", "--message", "first"]
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    subprocess.run(["git", *identity, *commit], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)


def test_add_callback(tmp_path):
    names = run_example(
        """
        from maseval.core.callbacks import MessageTracingCallback

        benchmark = MyBenchmark(tasks=tasks, agent_data=config)
        benchmark.add_callback(MessageTracingCallback(output_dir="logs"))
        results = benchmark.run()
        """,
        MyBenchmark=MyBenchmark,
        tasks=numbered(2),
        config=CONFIG,
    )

    assert len(names["results"]) == 2
    assert len(list((tmp_path / "logs").iterdir())) == 2
    assert names["benchmark"].agent_data_seen == [CONFIG, CONFIG]


def test_collect_all_configs(capsys):
    run_example(
        """
        # Automatic collection (recommended)
        results = benchmark.run()

        # Access all collected reports (traces + configs) across repetitions
        for report in benchmark.reports:
            print(f"Task {report['task_id']}, Repeat {report['repeat_idx']}")
            # Agents is a dict: agent_name -> config
            print(f"Agent config: {report['config']['agents']['my_agent']}")
            # Environment and user are direct (not nested)
            print(f"Environment config: {report['config']['environment']}")
            print(f"User config: {report['config']['user']}")
            # Benchmark-level config
            print(f"Git commit: {report['config']['benchmark']['git']['commit_hash']}")
        """,
        benchmark=MyBenchmark(tasks=numbered(2)),
    )

    printed = capsys.readouterr().out
    head = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    assert f"Git commit: {head.stdout.strip()}" in printed
    assert "Environment config: {'name': 'env', 'type': 'World'" in printed
    assert "User config: {'name': 'user', 'type': 'Customer'" in printed


def test_collect_all_traces(capsys):
    run_example(
        """
        # Automatic collection (recommended)
        results = benchmark.run()

        # Access all collected reports (traces + configs) across repetitions
        for report in benchmark.reports:
            print(f"Task {report['task_id']}, Repeat {report['repeat_idx']}")
            # Agents is a dict: agent_name -> traces
            print(f"Agent messages: {report['traces']['agents']['my_agent']}")
            # Environment and user are direct (not nested)
            print(f"Environment state: {report['traces']['environment']}")
            print(f"User interactions: {report['traces']['user']}")
        """,
        benchmark=MyBenchmark(tasks=numbered(2), n_task_repeats=2),
    )

    assert "Task t001, Repeat 1" in capsys.readouterr().out


def test_get_failed_tasks(capsys):
    names = run_example(
        """
        # Run benchmark
        benchmark = MyBenchmark()
        reports = benchmark.run(tasks=tasks, agent_data=config)

        # Get all failed tasks (from internal state)
        failed = benchmark.get_failed_tasks()
        print(f"Failed: {len(failed)}/{len(benchmark.tasks)} tasks")

        # Or work with returned reports (safe from internal state changes)
        failed = benchmark.get_failed_tasks(reports=reports)

        # Get only tasks that failed during execution (not evaluation)
        execution_failures = benchmark.get_failed_tasks(
            TaskExecutionStatus.TASK_EXECUTION_FAILED,
            reports=reports
        )

        # Get setup and execution failures
        critical_failures = benchmark.get_failed_tasks(
            status_filter=[
                TaskExecutionStatus.SETUP_FAILED,
                TaskExecutionStatus.TASK_EXECUTION_FAILED
            ],
            reports=reports
        )

        # Retry failed tasks elegantly - this is the key use case!
        if len(failed) > 0:
            retry_reports = benchmark.run(tasks=failed)

        # Or more concisely
        reports = benchmark.run(tasks=tasks)
        retry_reports = benchmark.run(tasks=benchmark.get_failed_tasks())
        """,
        MyBenchmark=MyBenchmark,
        TaskExecutionStatus=TaskExecutionStatus,
        tasks=numbered(3),
        config=CONFIG,
    )

    assert capsys.readouterr().out == "Failed: 1/3 tasks\n"
    for found in ("failed", "execution_failures", "critical_failures"):
        assert [task.id for task in names[found]] == ["t001"]
    assert [report["task_id"] for report in names["retry_reports"]] == ["t001"]


def test_get_model_adapter():
    class GoogleGenAIModelAdapter(ScriptedModelAdapter):
        def __init__(self, client, model_id):
            super().__init__(client, model_id=model_id)

    names = run_example(
        """
        def get_model_adapter(self, model_id: str, **kwargs: Any) -> ModelAdapter:
            adapter = GoogleGenAIModelAdapter(self.client, model_id=model_id)

            # Register for tracing if registration info provided
            category = kwargs.get("register_category", "models")
            name = kwargs.get("register_name", model_id)
            self.register(category, name, adapter)

            return adapter
        """,
        GoogleGenAIModelAdapter=GoogleGenAIModelAdapter,
        ModelAdapter=ScriptedModelAdapter,
        Any=object,
    )

    class Judged(Shop):
        client = ("yes",)
        get_model_adapter = names["get_model_adapter"]

        def setup_user(self, agent_data, environment, task):
            self.get_model_adapter("gemini-2.5-flash")
            self.get_model_adapter("gemini-2.5-flash", register_name="evaluator_user_gsr")

    report = Judged().run(tasks("a"))[0]
    assert set(report["traces"]["models"]) == {"gemini-2.5-flash", "evaluator_user_gsr"}


def test_register():
    class MyModelAdapter(TraceableMixin):
        def __init__(self, settings):
            self.settings = settings

    class MyAgent:
        def __init__(self, model):
            self.model = model

    class Adapter(Worker):
        def __init__(self, agent, name):
            super().__init__(lambda query: type(agent).__name__, name)

    names = run_example(
        """
        def setup_agents(self, agent_data, environment, task, user):
            # Create model (needs manual registration)
            model = MyModelAdapter(...)
            self.register("models", "main_model", model)

            # Create agent (auto-registered when returned)
            agent = MyAgent(model=model)
            agent_adapter = AgentAdapter(agent, "agent1")

            # Environment and user are also auto-registered
            return [agent_adapter], {"agent1": agent_adapter}
        """,
        MyModelAdapter=MyModelAdapter,
        MyAgent=MyAgent,
        AgentAdapter=Adapter,
    )

    class Registering(Shop):
        setup_agents = names["setup_agents"]

    report = Registering().run(tasks("a"))[0]
    assert report["status"] == "success", report["error"]
    assert set(report["traces"]["models"]) == {"main_model"}
    assert set(report["traces"]["agents"]) == {"agent1"}
    assert report["traces"]["environment"]["type"] == World.__name__


def test_run(capsys):
    names = run_example(
        """
        # Typical usage
        benchmark = MyBenchmark()
        reports = benchmark.run(tasks=tasks, agent_data=config)

        # Analyze results
        for report in reports:
            print(f"Task {report['task_id']}, Repeat {report['repeat_idx']}: {report['eval']}")
            print(f"Config: {report['config']}")
            print(f"Traces: {report['traces']}")

        # Parallel execution with 4 workers
        benchmark = MyBenchmark(num_workers=4)
        reports = benchmark.run(tasks=tasks, agent_data=config)

        # Single agent config for all tasks
        reports = benchmark.run(tasks=tasks, agent_data={"model": "gpt-4"})

        # Task-specific agent configs (must match task count)
        reports = benchmark.run(
            tasks=tasks,
            agent_data=[
                {"model": "gpt-4", "difficulty": "easy"},
                {"model": "gpt-4", "difficulty": "hard"},
            ]
        )

        # Priority-based execution
        from maseval.core.task import PriorityTaskQueue

        for task in tasks:
            task.protocol.priority = compute_priority(task)

        queue = PriorityTaskQueue(tasks)
        reports = benchmark.run(tasks=queue, agent_data=config)
        by_priority = list(benchmark.tasks)

        # Adaptive queue (auto-registered as callback)
        queue = MyAdaptiveTaskQueue(tasks)
        reports = benchmark.run(tasks=queue)  # queue receives on_task_complete callbacks
        """,
        MyBenchmark=MyBenchmark,
        MyAdaptiveTaskQueue=InOrder,
        compute_priority=lambda task: int(task.id[1:]),
        tasks=numbered(2),
        config=CONFIG,
    )

    assert "Task t000, Repeat 0: [{'passed': True" in capsys.readouterr().out
    assert [task.id for task in names["by_priority"]] == ["t001", "t000"]
    assert names["queue"].state == {"reports": 2}
    assert {data.get("difficulty") for data in names["benchmark"].agent_data_seen} == {
        *("easy", "hard", None)
    }
