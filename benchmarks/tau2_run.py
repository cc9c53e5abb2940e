"""What running costs besides the models: ``python -m benchmarks.tau2_run``.

First with models that answer at once: all that is left is our own work, by step. Then with a
thousand simulations in flight and models that take a second: ideally everything else happens while
somebody waits. Each simulation has 21 steps, of which 16 are a model's. The unit Y is the time in
which ``json.loads`` reads the airline's database in the same run.
"""

import sys
import time
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from benchmarks.table import best, seconds, show
from benchmarks.tau2 import in_y, yardstick
from maseval import ChatResponse, ModelAdapter, Report, Task, TaskQueue, tool_call
from maseval.benchmark.tau2 import DefaultAgentTau2Benchmark, load_tasks
from maseval.benchmark.tau2.data_loader import DataUnavailableError

DOMAINS = ("airline", "retail", "telecom")
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "airline": ("get_user_details", {"user_id": "mia_li_3668"}),
    "retail": ("get_order_details", {"order_id": "#W2378156"}),
    "telecom": ("get_customer_by_phone", {"phone_number": "555-123-2002"}),
}
ROUNDS = 5
STEPS = 1 + 4 * ROUNDS
MODEL_CALLS = 1 + 3 * ROUNDS
IN_FLIGHT = 1000
WAVES = 2
LATENCY_SECONDS = 1.0


class Script(ModelAdapter):
    """Says its lines; it keeps no record of what it is asked, as that would cost time."""

    def __init__(self, model_id: str, lines: Iterable[ChatResponse], latency: float) -> None:
        super().__init__()
        self._model_id = model_id
        self._lines = iter(lines)
        self._latency = latency

    @property
    def model_id(self) -> str:
        return self._model_id

    def _chat_impl(self, *args: Any, **kwargs: Any) -> ChatResponse:
        if self._latency:
            time.sleep(self._latency)
        return next(self._lines)


class Conversations(DefaultAgentTau2Benchmark):
    """All have the same steps: in each round a tool is called, and then both sides speak."""

    latency = 0.0

    def get_model_adapter(self, model_id: str, **kwargs: Any) -> ModelAdapter:
        lines = ["hello", *["go on"] * (ROUNDS - 1), "###STOP###"]
        script = [ChatResponse(line) for line in lines]
        if model_id != "user":
            call = ChatResponse(tool_calls=[tool_call(*CALLS[model_id], id="call")])
            script = [call, ChatResponse("done")] * ROUNDS
        adapter = Script(model_id, script, self.latency)
        return self.register("models", kwargs["register_name"], adapter)


def main() -> int:
    """Print both figures; the exit status is 1 if there is no data to run on."""
    try:
        unit = yardstick()
    except DataUnavailableError as error:
        print(f"no tau2 data: {error}")
        return 1
    show(
        f"Our own work, with models that answer at once; Y = {unit * 1e3:.0f} ms, at most Y/100",
        ("domain", "simulations", "ms a step", "in Y"),
        [own_work(domain, unit) for domain in DOMAINS],
    )
    show(
        f"{IN_FLIGHT:,} simulations in flight, with models that take {LATENCY_SECONDS:.0f} s",
        ("domain", "simulations", "ideal s", "taken s", "share (at least 90%)"),
        [in_flight(domain) for domain in DOMAINS],
    )
    return 0


def own_work(domain: str, unit: float) -> tuple[object, ...]:
    """A row of the table: models that answer at once, all in one thread."""
    tasks = some_tasks(domain, 100)
    run(domain, tasks)
    step = best(partial(run, domain, tasks), times=3) / (len(tasks) * STEPS)
    return domain, len(tasks), f"{step * 1e3:.3f}", in_y(step, unit)


def in_flight(domain: str) -> tuple[object, ...]:
    """A row of the table: models that take their time, a thousand simulations at once."""
    tasks = some_tasks(domain, IN_FLIGHT * WAVES)
    ideal = MODEL_CALLS * LATENCY_SECONDS * WAVES
    taken = seconds(partial(run, domain, tasks, workers=IN_FLIGHT, latency=LATENCY_SECONDS))
    return domain, len(tasks), f"{ideal:.1f}", f"{taken:.1f}", f"{ideal / taken:.0%}"


def some_tasks(domain: str, count: int) -> TaskQueue:
    """So many tasks with ids of their own, made from those of the domain."""
    every = load_tasks(domain).to_list()
    return TaskQueue(_copy(every[number % len(every)], number) for number in range(count))


def _copy(task: Task, number: int) -> Task:
    user_data = {**task.user_data, "model_id": "user"}
    return Task(
        task.query,
        f"{number}",
        task.environment_data,
        user_data,
        task.evaluation_data,
        task.metadata,
        task.protocol,
    )


def run(
    domain: str, tasks: TaskQueue, *, workers: int = 1, latency: float = 0.0
) -> Sequence[Report]:
    """All conversations; raises if one of them was not what is to be measured."""
    benchmark = Conversations(num_workers=workers, progress_bar=False)
    benchmark.latency = latency
    reports = benchmark.run(tasks, agent_data={"model_id": domain})
    for report in reports:
        simulation = report["traces"]["environment"]["simulation"]
        if simulation["termination_reason"] != "user_stop" or report["status"] != "success":
            raise RuntimeError(f"not a conversation: {report['status']}, {report['error']}")
    return reports


if __name__ == "__main__":
    sys.exit(main())
