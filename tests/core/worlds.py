"""Small benchmarks in which every component is scripted."""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from maseval import AgentAdapter, Benchmark, BenchmarkCallback, Environment, Evaluator, Task, User
from maseval.core.engine.participants import Agents
from maseval.core.seeding import SeedGenerator
from maseval.core.task import AdaptiveTaskQueue
from maseval.core.tracing import JsonObject

Behaviour = Callable[[str], Any]
"""What an agent does with its query."""


def tasks(*ids: str, **fields: Any) -> list[Task]:
    return [Task(query=f"do {each}", id=each, **fields) for each in ids]


def numbered(count: int) -> list[Task]:
    return tasks(*(f"t{number:03}" for number in range(count)))


def answer(query: str) -> str:
    return f"did {query}"


def failing(error: BaseException) -> Callable[..., Any]:
    def fail(*args: object, **kwargs: object) -> Any:
        raise error

    return fail


class World(Environment):
    """A world without tools."""

    def setup_state(self, task_data: dict[str, Any]) -> Any:
        return dict(task_data)

    def create_tools(self) -> dict[str, Any]:
        return {}


class Worker(AgentAdapter):
    """A scripted agent that counts its calls."""

    def __init__(self, behaviour: Behaviour = answer, name: str = "worker") -> None:
        super().__init__(behaviour, name)
        self.runs = 0

    def _run_agent(self, query: str) -> Any:
        self.runs += 1
        return self.agent(query)


class Judge(Evaluator):
    """Passes everything that was answered."""

    def __call__(self, traces: dict[str, Any], final_answer: Any = None) -> dict[str, Any]:
        return {"passed": final_answer is not None, "answer": final_answer}


class Customer(User):
    """A user who says its lines one after another."""

    def __init__(self, *lines: str) -> None:
        self.lines = list(lines)
        self.heard: list[str] = []

    def get_initial_query(self) -> str:
        return self.lines.pop(0)

    def respond(self, message: str) -> str:
        self.heard.append(message)
        return self.lines.pop(0)

    def is_done(self) -> bool:
        return not self.lines


class Shop(Benchmark):
    """A benchmark of which any part can be replaced: ``Shop(behaviour, evaluate=...)``.

    ``behaviour`` is what the agent does, for all tasks or by task id.
    """

    REPLACEABLE = (
        *("setup_environment", "setup_user", "setup_agents", "setup_evaluators"),
        *("execution_loop", "run_agents", "evaluate"),
    )

    def __init__(
        self,
        behaviour: Behaviour | Mapping[str, Behaviour] = answer,
        *,
        judge: type[Evaluator] = Judge,
        **settings: Any,
    ) -> None:
        replaced = {name: settings.pop(name) for name in self.REPLACEABLE if name in settings}
        super().__init__(**{"progress_bar": False, **settings})
        self.behaviour = behaviour
        self.judge = judge
        for name, part in replaced.items():
            setattr(self, name, part)

    def setup_environment(
        self, agent_data: JsonObject, task: Task, seed_generator: SeedGenerator
    ) -> Environment:
        return World(task.environment_data)

    def setup_agents(
        self,
        agent_data: JsonObject,
        environment: Any,
        task: Task,
        user: User | None,
        seed_generator: SeedGenerator,
    ) -> Agents:
        behaviour = self.behaviour
        if isinstance(behaviour, Mapping):
            behaviour = behaviour.get(task.id, answer)
        worker = Worker(behaviour)
        return [worker], {"worker": worker}

    def setup_evaluators(
        self,
        environment: Any,
        task: Task,
        agents: Sequence[AgentAdapter],
        user: User | None,
        seed_generator: SeedGenerator,
    ) -> Sequence[Evaluator]:
        return [self.judge(task, environment, user)]


class Diary(BenchmarkCallback):
    """Writes down every event, and the thread it came in."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []
        self.threads: set[threading.Thread] = set()

    def on_run_start(self, benchmark: Benchmark) -> None:
        self._note("run start")

    def on_run_end(self, benchmark: Benchmark, results: Any) -> None:
        self._note("run end", len(results))

    def on_task_start(self, benchmark: Benchmark, task: Task) -> None:
        self._note("task start", task.id)

    def on_task_end(self, benchmark: Benchmark, task: Task, result: Any) -> None:
        self._note("task end", task.id, result["repeat_idx"])

    def on_task_repeat_start(self, benchmark: Benchmark, task: Task, repeat_idx: int) -> None:
        self._note("repeat start", task.id, repeat_idx)

    def on_task_repeat_end(self, benchmark: Benchmark, report: Any) -> None:
        self._note("repeat end", report["task_id"], report["repeat_idx"])

    def _note(self, *event: Any) -> None:
        self.events.append(event)
        self.threads.add(threading.current_thread())

    def of(self, kind: str) -> list[tuple[Any, ...]]:
        return [event[1:] for event in self.events if event[0] == kind]

    def most_unfinished(self) -> int:
        """The most repetitions that were started and not ended at one time."""
        open_now = most = 0
        for event in self.events:
            open_now += (event[0] == "repeat start") - (event[0] == "repeat end")
            most = max(most, open_now)
        return most


def only(reports: Sequence[Any]) -> Any:
    assert len(reports) == 1
    return reports[0]


def statuses(reports: Sequence[Any]) -> dict[str, str]:
    return {report["task_id"]: report["status"] for report in reports}


class FirstOnly(AdaptiveTaskQueue):
    """Chooses one repetition, and then no more."""

    def initial_state(self) -> dict[str, object]:
        return {"selections": 0}

    def select_next_task(self, remaining: Sequence[Task], state: dict[str, object]) -> Task | None:
        state["selections"] += 1
        return remaining[0] if state["selections"] == 1 else None

    def update_state(self, task: Task, report: Any, state: dict[str, Any]) -> dict[str, Any]:
        return state
