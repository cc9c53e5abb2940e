"""What running costs besides the models: ``python -m benchmarks.tau2_run``.

First with models that answer at once: all that is left is our own work, by step. Then with a
thousand simulations in flight and models that take a second: ideally everything else happens while
somebody waits. If every answer takes exactly a second, all simulations want the processor at the
same moments and nothing can happen meanwhile, which is the worst case; so it is measured in one
domain, and in all with answers that take between half a second and one and a half. Five thousand at
once keep a single interpreter busy for longer than anybody waits, so that they run in a process for
each core; the processor time of all sets a bound there. Each simulation has 21 steps, of which 16
are a model's. At last the processor time of ``maseval demo``, of all its processes together. The
unit Y is the time in which ``json.loads`` reads the airline's database in the same run.
"""

import heapq
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from functools import cache, partial
from resource import RUSAGE_CHILDREN, RUSAGE_SELF
from typing import Any, NamedTuple

from benchmarks.table import best, note, show
from benchmarks.tau2 import in_y, yardstick
from maseval import ChatResponse, ModelAdapter, Report, Task, TaskQueue, tool_call
from maseval.benchmark.tau2 import DefaultAgentTau2Benchmark, load_tasks
from maseval.benchmark.tau2.data_loader import DataUnavailableError
from maseval.core.engine.engines import DEFAULT, AnyEngine
from maseval.core.engine.processes import ProcessEngine

DOMAINS = ("airline", "retail", "telecom")
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "airline": ("get_user_details", {"user_id": "mia_li_3668"}),
    "retail": ("get_order_details", {"order_id": "#W2378156"}),
    "telecom": ("get_customer_by_phone", {"phone_number": "555-123-2002"}),
}
ROUNDS = 5
STEPS, ANSWERS = 1 + 4 * ROUNDS, 1 + 3 * ROUNDS
IN_FLIGHT = 1000
WAVES = 2
MANY_IN_FLIGHT = 5000


class Latency(NamedTuple):
    """How long a model takes, in seconds: from the shortest to the longest answer."""

    shortest: float = 0.0
    longest: float = 0.0

    def drawn(self) -> float:
        """The time that one answer takes."""
        return random.uniform(self.shortest, self.longest)

    def __str__(self) -> str:
        one = f"{self.shortest:g}"
        return one if self.shortest == self.longest else f"{one} to {self.longest:g}"


AT_ONCE, A_SECOND, ABOUT_A_SECOND = Latency(), Latency(1.0, 1.0), Latency(0.5, 1.5)


class Script(ModelAdapter):
    """Says its lines; it keeps no record of what it is asked, as that would cost time."""

    def __init__(self, model_id: str, lines: Iterable[ChatResponse], latency: Latency) -> None:
        super().__init__()
        self._model_id = model_id
        self._lines = iter(lines)
        self._latency = latency
        self._waited = 0.0

    @property
    def model_id(self) -> str:
        return self._model_id

    def _chat_impl(self, *args: Any, **kwargs: Any) -> ChatResponse:
        pause = self._latency.drawn()
        self._waited += pause
        if pause:
            time.sleep(pause)
        return next(self._lines)

    def gather_traces(self) -> dict[str, Any]:
        return {**super().gather_traces(), "waited": self._waited}


class Conversations(DefaultAgentTau2Benchmark):
    """All have the same steps: in each round a tool is called, and then both sides speak."""

    latency = AT_ONCE

    def get_model_adapter(self, model_id: str, **kwargs: Any) -> ModelAdapter:
        adapter = Script(model_id, _lines_of(model_id), self.latency)
        return self.register("models", kwargs["register_name"], adapter)


@cache
def _lines_of(model_id: str) -> Sequence[ChatResponse]:
    if model_id == "user":
        lines = ["hello", *["go on"] * (ROUNDS - 1), "###STOP###"]
        return [ChatResponse(line) for line in lines]
    call = ChatResponse(tool_calls=[tool_call(*CALLS[model_id], id="call")])
    return [call, ChatResponse("done")] * ROUNDS


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
        f"{IN_FLIGHT:,} simulations in flight, with models that take their time",
        ("domain", "simulations", "an answer s", "ideal s", "taken s", "share (at least 90%)"),
        [
            *(in_flight(domain, ABOUT_A_SECOND) for domain in DOMAINS),
            in_flight("telecom", A_SECOND),  # which has the most to do
        ],
    )
    show(
        f"{MANY_IN_FLIGHT:,} simulations in flight, in a process for each core",
        (
            *("domain", "simulations", "an answer s", "ideal s", "processor s", "bound s"),
            *("taken s", "share (at least 90%)"),
        ),
        [in_processes("retail", ABOUT_A_SECOND, MANY_IN_FLIGHT)],
    )
    demo = demo_seconds()
    note("processor time of the demo, s", demo, at_most=9)
    show(
        "maseval demo: 1,112 simulations, explained, and the page",
        ("s of CPU",),
        [(f"{demo:.1f}",)],
    )
    return 0


def demo_seconds() -> float:
    """The processor time of a whole demo, from its start as a command."""
    before = processor_seconds(RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "maseval", "demo", "--output", f"{folder}/run"]
        subprocess.run(command, check=True, capture_output=True)
    return processor_seconds(RUSAGE_CHILDREN) - before


def processor_seconds(*whose: int) -> float:
    """The processor time so far of this process, or of those that it started and that ended."""
    used = [resource.getrusage(each) for each in whose]
    return sum(each.ru_utime + each.ru_stime for each in used)


def own_work(domain: str, unit: float) -> tuple[object, ...]:
    """A row of the table: models that answer at once, all in one thread."""
    tasks = some_tasks(domain, 100)
    run(domain, tasks)
    step = best(partial(run, domain, tasks), times=3) / (len(tasks) * STEPS)
    note(f"our own work a step, {domain}, in Y", step / unit, at_most=1 / 100)
    return domain, len(tasks), f"{step * 1e3:.3f}", in_y(step, unit)


def in_flight(domain: str, latency: Latency) -> tuple[object, ...]:
    """A row of the table: models that take their time, a thousand simulations at once."""
    tasks = some_tasks(domain, IN_FLIGHT * WAVES)
    began = time.perf_counter()
    reports = run(domain, tasks, workers=IN_FLIGHT, latency=latency)
    taken = time.perf_counter() - began
    ideal = ideal_seconds(reports, IN_FLIGHT)
    what = f"share of the ideal in flight, {domain}, answers of {latency} s"
    note(what, ideal / taken, at_least=0.9)
    return domain, len(tasks), str(latency), f"{ideal:.1f}", f"{taken:.1f}", f"{ideal / taken:.0%}"


def in_processes(domain: str, latency: Latency, in_flight: int) -> tuple[object, ...]:
    """A row of the table: as many at once as one interpreter cannot serve, on all cores.

    The bound is what the same waiting and the same processor time take if no core is ever idle
    while a simulation wants it.
    """
    tasks, everybody = some_tasks(domain, in_flight), (RUSAGE_SELF, RUSAGE_CHILDREN)
    before, began = processor_seconds(*everybody), time.perf_counter()
    reports = run(domain, tasks, workers=in_flight, latency=latency, engine=ProcessEngine())
    taken = time.perf_counter() - began
    work, cores = processor_seconds(*everybody) - before, os.cpu_count() or 1
    ideal, bound = ideal_seconds(reports, in_flight), bound_seconds(reports, work, cores)
    what = f"share of the bound with {in_flight:,} in flight, processes, {domain}"
    note(what, bound / taken, at_least=0.9)
    times = (f"{each:.1f}" for each in (ideal, work / cores, bound, taken))
    return domain, len(tasks), str(latency), *times, f"{bound / taken:.0%}"


def bound_seconds(reports: Sequence[Report], work: float, cores: int) -> float:
    """How long it takes if all begin at once, and whoever has an answer gets the next free core.

    Each simulation has an equal share of the processor time, before each of its answers and after
    the last.
    """
    turn = work / len(reports) / (ANSWERS + 1)
    free = [0.0] * cores
    ready = [(0.0, number, ANSWERS) for number in range(len(reports))]
    waits = [waited(report) / ANSWERS for report in reports]
    while ready:
        since, number, left = heapq.heappop(ready)
        done = max(since, free[0]) + turn
        heapq.heapreplace(free, done)
        if left:
            heapq.heappush(ready, (done + waits[number], number, left - 1))
    return max(free)


def waited(report: Report) -> float:
    """How long a simulation waited for its models."""
    models: dict[str, dict[str, float]] = report["traces"]["models"]
    return sum(each["waited"] for each in models.values())


def ideal_seconds(reports: Iterable[Report], in_flight: int) -> float:
    """How long it takes if nothing but models takes time, so many simulations at once."""
    free = [0.0] * in_flight
    for report in sorted(reports, key=lambda report: int(report["task_id"])):
        heapq.heapreplace(free, free[0] + waited(report))
    return max(free)


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
    domain: str,
    tasks: TaskQueue,
    *,
    workers: int = 1,
    latency: Latency = AT_ONCE,
    engine: AnyEngine = DEFAULT,
) -> Sequence[Report]:
    """All conversations; raises if one of them was not what is to be measured."""
    benchmark = Conversations(num_workers=workers, progress_bar=False)
    benchmark.latency = latency
    reports = benchmark.run(tasks, agent_data={"model_id": domain}, engine=engine)
    for report in reports:
        simulation = report["traces"]["environment"]["simulation"]
        if simulation["termination_reason"] != "user_stop" or report["status"] != "success":
            raise RuntimeError(f"not a conversation: {report['status']}, {report['error']}")
    return reports


if __name__ == "__main__":
    sys.exit(main())
