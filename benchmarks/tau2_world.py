"""How fast and how small the tau2 environments are, beside the time to parse one database.

Run with ``python -m benchmarks.tau2_world``. Every figure is given in units of Y, the time that
``json.loads`` needs for airline's database in the same run, because machines differ.
"""

import gc
import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

from benchmarks.table import best, note, show
from benchmarks.tau2 import data_folder, in_y, releases, replayable, yardstick
from maseval.benchmark.tau2 import Tau2Environment, load_tasks
from maseval.benchmark.tau2.data_loader import load_raw_task
from maseval.benchmark.tau2.domains import domain_named
from maseval.benchmark.tau2.domains.arithmetic import calculate
from maseval.benchmark.tau2.world.world import World, calls_with_answers

COLD = """
import json, sys, time
from pathlib import Path
from maseval.benchmark.tau2.domains import domain_named
from maseval.benchmark.tau2.world.world import World
folder = Path(sys.argv[1])
text = (folder / "db.json").read_text()
times = []
for _ in range(3):
    start = time.perf_counter(); json.loads(text); times.append(time.perf_counter() - start)
yardstick = min(times)
start = time.perf_counter()
world = World(domain_named("airline"), folder)
call = {"id": "1", "name": "get_user_details", "arguments": {"user_id": "mia_li_3668"}}
world.respond({**call, "requestor": "assistant"})
first_call = time.perf_counter() - start
world.get_db_hash()
print(json.dumps([first_call / yardstick, (time.perf_counter() - start) / yardstick]))
"""


def each(work: Callable[[], object], number: int) -> float:
    """How long one of many equal calls takes at best."""

    def repeated() -> None:
        for _ in range(number):
            work()

    return best(repeated) / number


def cold(folder: Path) -> tuple[float, float]:
    """First tool call and first hash in a fresh process, in units of Y."""
    runs = []
    for _ in range(3):
        command = [sys.executable, "-c", COLD, str(folder / "domains/airline")]
        runs.append(json.loads(subprocess.check_output(command, env=os.environ)))
    return min(run[0] for run in runs), min(run[1] for run in runs)


def replayed(folder: Path, record: dict[str, Any]) -> World:
    """A world in which a recorded conversation's calls were made."""
    world = World(domain_named("airline"), folder / "domains/airline")
    state = load_raw_task("airline", record["task_id"]).get("initial_state") or {}
    world.set_state(state.get("initialization_data"), state.get("initialization_actions"), [])
    for _, call, _ in calls_with_answers(record["simulation"]["messages"]):
        world.respond(call)
    return world


def memory_per_environment(folder: Path, records: list[dict[str, Any]]) -> float:
    """Bytes for each of 1,000 environments alive at once, each after a conversation."""
    replayed(folder, records[0]).get_db_hash()
    for record in records:  # what is shared by all is made before anything is counted
        replayed(folder, record)
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    worlds = [replayed(folder, records[index % len(records)]) for index in range(1000)]
    gc.collect()
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return used / len(worlds)


def call(name: str, **arguments: object) -> Any:
    return {"id": "1", "name": name, "arguments": arguments, "requestor": "assistant"}


def begun(domain: str, version: str) -> Callable[[], object]:
    """Makes environments of a domain's tasks, one after the other, none for the first time."""
    data = [task.environment_data for task in load_tasks(domain, version=version)]
    for each_data in data:
        Tau2Environment(each_data)
    following = cycle(data)
    return lambda: Tau2Environment(next(following))


def environments(version: str, unit: float) -> list[tuple[str, str, str]]:
    """Environments that begin in a task; and how long it takes to set one up, not to copy it."""
    found = {name: each(begun(name, version), 100) for name in ("airline", "telecom")}
    tasks = load_tasks("telecom", version=version)
    stages = [Tau2Environment(task.environment_data)._stage for task in tasks]
    again, anew = cycle(stages), cycle(stages)
    copied = each(lambda: next(again).world(), 100)
    made = each(lambda: next(anew).set_up(), 100)
    return [
        limited(f"environment of a task, airline {version}", found["airline"] / unit, 1 / 150),
        limited(f"environment of a task, telecom {version}", found["telecom"] / unit, 1 / 300),
        ("  of that, the copy of its world", in_y(copied, unit), ""),
        ("  which set up from files takes", f"{made / copied:.1f} times that", ""),
    ]


def limited(what: str, measured: float, most: float) -> tuple[str, str, str]:
    """Return a row of the table, in units of Y, and note the figure."""
    note(f"{what}, in Y", measured, at_most=most)
    return what, in_y(measured, 1), in_y(most, 1)


HOSTILE = ("9**9**9", "1 " * 500_000, "1+" * 500_000 + "1", "(" * 1_000_000, "1" * 1_000_000)


def refused(expression: str) -> None:
    """What a model may send to keep the calculator busy; each is refused."""
    with suppress(Exception):
        calculate(expression)


def rows(folder: Path) -> list[tuple[str, str, str]]:
    unit = yardstick()
    first_call, first_hash = cold(folder)
    domain, airline = domain_named("airline"), folder / "domains/airline"
    world = World(domain, airline)
    world.get_db_hash()
    details = call("get_reservation_details", reservation_id="EHGLP3")
    search = call("search_onestop_flight", origin="SFO", destination="JFK", date="2024-05-20")
    left, right = World(domain, airline), World(domain, airline)
    for one in (left, right):
        for number in ("EHGLP3", "4OG6T3", "4WQ150"):
            one.respond(call("cancel_reservation", reservation_id=number))
    retail = World(domain_named("retail"), folder / "domains/retail")
    by_email = call("find_user_id_by_email", email="nobody@example.com")
    hostile = max(best(partial(refused, text)) for text in HOSTILE)
    measured = [
        ("Y: json.loads of airline's db.json", f"{unit * 1000:.0f} ms", ""),
        limited("cold start to the first tool call", first_call, 2),
        limited("cold start to the first hash", first_hash, 10),
        limited("further environment", each(lambda: World(domain, airline), 200) / unit, 1 / 500),
        *(row for version in releases() for row in environments(version, unit)),
        limited("read call", each(lambda: world.respond(details), 200) / unit, 1 / 300),
        limited(
            "read by email address", each(lambda: retail.respond(by_email), 50) / unit, 1 / 300
        ),
        limited("search_onestop_flight", each(lambda: world.respond(search), 20) / unit, 1 / 25),
        limited(
            "comparing two end states", each(lambda: left.same_state(right), 20) / unit, 1 / 100
        ),
        limited("full hash after a few writes", each(left.get_db_hash, 3) / unit, 1 / 5),
        limited("calculate, the slowest of a megabyte", hostile / unit, 2),
    ]
    records = replayable("airline")
    if records:
        used = memory_per_environment(folder, records)
        note("memory per environment, kB", used / 1000, at_most=80)
        measured.append(("memory per environment", f"{used / 1000:.1f} kB", "80 kB"))
    return measured


def main() -> None:
    show("tau2 environments", ("what", "measured", "at most"), rows(data_folder()))


if __name__ == "__main__":
    main()
