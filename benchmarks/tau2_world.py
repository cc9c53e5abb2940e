"""How fast and how small the tau2 environments are, beside the time to parse one database.

Run with ``python -m benchmarks.tau2_world``. Every figure is given in units of Y, the time that
``json.loads`` needs for airline's database in the same run, because machines differ.
"""

import gc
import gzip
import json
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.table import Row, show
from maseval.benchmark.tau2.data_loader import ensure_data_exists, load_raw_task
from maseval.benchmark.tau2.domains import domain_named
from maseval.benchmark.tau2.world import World, calls_with_answers

COLD = """
import json, sys, time
from pathlib import Path
from maseval.benchmark.tau2.domains import domain_named
from maseval.benchmark.tau2.world import World
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


def best(function: Callable[[], object], rounds: int = 5, number: int = 1) -> float:
    """The best time of one call, over several rounds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(number):
            function()
        times.append((time.perf_counter() - start) / number)
    return min(times)


def yardstick(folder: Path) -> float:
    """Y: the time to parse airline's database once."""
    text = (folder / "domains/airline/db.json").read_text()
    return best(lambda: json.loads(text))


def cold(folder: Path) -> tuple[float, float]:
    """First tool call and first hash in a fresh process, in units of Y."""
    runs = []
    for _ in range(3):
        command = [sys.executable, "-c", COLD, str(folder / "domains/airline")]
        runs.append(json.loads(subprocess.check_output(command, env=os.environ)))
    return min(run[0] for run in runs), min(run[1] for run in runs)


def conversations(contract: Path) -> list[dict[str, Any]]:
    """Recorded airline conversations that can be replayed."""
    with gzip.open(contract / "conversations/airline.jsonl.gz", "rt") as lines:
        records = [json.loads(line) for line in lines]
    return [record for record in records if record["exception"] is None]


def replayed(folder: Path, record: dict[str, Any]) -> World:
    """A world in which a recorded conversation's calls were made."""
    world = World(domain_named("airline"), folder / "domains/airline")
    state = load_raw_task("airline", record["task_id"]).get("initial_state") or {}
    world.initialize(state.get("initialization_data"), state.get("initialization_actions"))
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


def rows(folder: Path, contract: Path | None) -> list[Row]:
    unit = yardstick(folder)
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
    for one in (world, left):
        one.respond(search)

    def in_y(seconds: float) -> str:
        ratio = seconds / unit
        return f"{ratio:.2f} Y" if ratio > 0.5 else f"Y/{1 / ratio:,.0f}"

    measured = [
        Row("Y: json.loads of airline's db.json", f"{unit * 1000:.0f} ms", ""),
        Row("cold start to the first tool call", f"{first_call:.2f} Y", "2 Y"),
        Row("cold start to the first hash", f"{first_hash:.2f} Y", "10 Y"),
        Row("further environment", in_y(best(lambda: World(domain, airline), 5, 200)), "Y/500"),
        Row("read call", in_y(best(lambda: world.respond(details), 5, 200)), "Y/300"),
        Row("search_onestop_flight", in_y(best(lambda: world.respond(search), 5, 20)), "Y/25"),
        Row("comparing two end states", in_y(best(lambda: left.same_state(right), 5, 20)), "Y/100"),
        Row("full hash after a few writes", in_y(best(left.get_db_hash, 5, 3)), "Y/5"),
    ]
    if contract:
        used = memory_per_environment(folder, conversations(contract))
        measured.append(Row("memory per environment", f"{used / 1000:.1f} kB", "80 kB"))
    return measured


def contract_folder() -> Path | None:
    """The recorded vectors, where there are any."""
    beside = Path(__file__).parents[2] / "shared/contract"
    folder = Path(os.environ.get("MASEVAL_CONTRACT_DIR", beside))
    return folder if folder.is_dir() else None


def main() -> None:
    folder = ensure_data_exists(verbose=0)
    show("tau2 environments", rows(folder, contract_folder()))


if __name__ == "__main__":
    main()
