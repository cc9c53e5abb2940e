"""What the engine costs: one empty repetition, many at once, and its import.

Run with ``python -m benchmarks.engine``. Every figure stands beside a yardstick taken in the same
run, so that it can be read on any machine.
"""

import json
import math
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from benchmarks.table import best, note, seconds, show
from maseval import AgentAdapter, Benchmark, Environment, Evaluator, Task

OVERHEAD_LIMIT_MS = 0.3
SHAPES = [(200, 16, 0.05, 1.15), (256, 64, 0.05, 1.3), (2_000, 500, 1.0, 1.25)]


class Nowhere(Environment):
    """An environment without anything in it."""

    def setup_state(self, task_data: dict[str, Any]) -> Any:
        return None

    def create_tools(self) -> dict[str, Any]:
        return {}


class Idler(AgentAdapter):
    """An agent that only takes its time."""

    def _run_agent(self, query: str) -> Any:
        if self.agent:
            time.sleep(self.agent)
        return query


class Indifferent(Evaluator):
    """An evaluator that passes everything."""

    def __call__(self, traces: dict[str, Any], final_answer: Any = None) -> dict[str, Any]:
        return {"passed": True}


class Idle(Benchmark):
    """The smallest benchmark; ``pause`` is how long its agent sleeps."""

    def __init__(self, pause: float = 0.0, num_workers: int = 1) -> None:
        super().__init__(num_workers=num_workers, progress_bar=False)
        self.pause = pause

    def setup_environment(self, agent_data, task, seed_generator):  # type: ignore[no-untyped-def]
        return Nowhere(task.environment_data)

    def setup_agents(self, agent_data, environment, task, user, seed_generator):  # type: ignore[no-untyped-def]
        agent = Idler(self.pause, "idler")
        return [agent], {"idler": agent}

    def setup_evaluators(self, environment, task, agents, user, seed_generator):  # type: ignore[no-untyped-def]
        return [Indifferent(task, environment, user)]


def tasks(count: int) -> list[Task]:
    return [Task("go", id=str(number)) for number in range(count)]


def bare_loop(benchmark: Idle, work: list[Task]) -> None:
    """The same callables one after another, without an engine around them."""
    for task in work:
        environment = benchmark.setup_environment({}, task, None)
        agents, by_name = benchmark.setup_agents({}, environment, task, None, None)
        evaluators = benchmark.setup_evaluators(environment, task, agents, None, None)
        answer = benchmark.run_agents(agents, task, environment, task.query)
        benchmark.evaluate(evaluators, by_name, answer, {})


def document() -> str:
    """A JSON document of 7 MB, made like a database of bookings that was written for reading."""
    bookings = {
        f"B{number:06}": {
            "guest": f"guest_{number % 997}",
            "room": "double",
            "nights": [
                {"date": f"2025-03-{day:02}", "place": "north", "price": 80 + number * day % 90}
                for day in range(1, 5)
            ],
            "guests": [
                {"first_name": name, "last_name": f"Lee {number % 83}", "born": "1980-02-03"}
                for name in ("Ann", "Bob")
            ],
            "paid": [{"method": f"card_{number}", "amount": 300 + number % 200}],
            "note": "late arrival " * 28,
        }
        for number in range(4_800)
    }
    return json.dumps(bookings, indent=4)


def yardstick() -> float:
    """Seconds for ``json.loads`` of that document, at best."""
    text = document()
    return best(lambda: json.loads(text))


def show_overhead() -> None:
    unit = yardstick()
    benchmark = Idle()
    benchmark.run(tasks(100))
    rows = []
    for count, times in ((1_000, 5), (20_000, 2)):
        work = tasks(count)
        engine = best(lambda work=work: benchmark.run(work), times) / count  # type: ignore[misc]
        bare = best(lambda work=work: bare_loop(benchmark, work), times) / count  # type: ignore[misc]
        limit = OVERHEAD_LIMIT_MS / 40
        note(f"engine, {count:,} tasks, in yardsticks", (engine - bare) / unit, at_most=limit)
        rows.append(
            (
                f"{count:,} tasks",
                f"{engine * 1e3:.3f} ms",
                f"{bare * 1e3:.3f} ms",
                f"{(engine - bare) * 1e3:.3f} ms",
                f"{(engine - bare) / unit:.5f}",
                f"{limit:.5f}",
            )
        )
    title = f"One empty repetition; yardstick: json.loads of 7 MB = {unit * 1e3:.0f} ms"
    show(title, ("", "engine", "bare loop", "overhead", "/ yardstick", "limit"), rows)


def pool(count: int, workers: int, pause: float) -> None:
    with ThreadPoolExecutor(workers) as threads:
        list(threads.map(lambda _: time.sleep(pause), range(count)))


def show_parallel() -> None:
    rows = []
    for count, workers, pause, limit in SHAPES:
        ideal = math.ceil(count / workers) * pause
        work = tasks(count)
        benchmark = Idle(pause, workers)
        benchmark.benchmark_level_config  # noqa: B018  gathered once for each benchmark
        engine = seconds(lambda: benchmark.run(work))  # noqa: B023
        bare = seconds(lambda: pool(count, workers, pause))  # noqa: B023
        note(f"engine, {count:,} x {pause:g} s, of the ideal", engine / ideal, at_most=limit)
        rows.append(
            (
                f"{count:,} x {pause:g} s, {workers} workers",
                f"{ideal:.2f} s",
                f"{bare / ideal:.3f}",
                f"{engine / ideal:.3f}",
                f"{limit:.2f}",
            )
        )
    show(
        "Parallel runs, as multiples of the ideal time",
        ("", "ideal", "bare pool", "engine", "limit"),
        rows,
    )


def import_seconds(module: str) -> float:
    """What ``import module`` adds to a fresh interpreter, at best."""
    program = (
        "import time\nbegan = time.perf_counter()\n"
        f"import {module}\nprint(time.perf_counter() - began)"
    )

    def once() -> float:
        command = [sys.executable, "-c", program]
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    return min(once() for _ in range(5))


def show_import() -> None:
    ours, pydantic = import_seconds("maseval"), import_seconds("pydantic")
    note("import maseval beyond pydantic, s", ours - pydantic, at_most=0.5)
    row = ("import", f"{ours:.3f} s", f"{pydantic:.3f} s", f"{ours - pydantic:+.3f} s", "+0.500 s")
    show("Import time, best of five", ("", "maseval", "pydantic", "difference", "limit"), [row])


def main() -> None:
    parts: list[Callable[[], None]] = [show_overhead, show_parallel, show_import]
    for part in parts:
        part()


if __name__ == "__main__":
    main()
