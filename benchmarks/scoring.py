"""How long it takes to score a recorded conversation: ``python -m benchmarks.scoring``.

All checks are made, reading the conversation's JSON is included, and the reference end states are
known. The unit is Y, the time in which ``json.loads`` reads the airline's database in the same
run, so that the figures of two machines can be compared.
"""

import gzip
import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from maseval.benchmark.tau2.data_loader import DataUnavailableError, ensure_data_exists
from maseval.benchmark.tau2.scoring import score_simulation

DOMAINS = ("airline", "retail", "telecom")
ROUNDS = 5


def main() -> None:
    """Print a table, or say what is missing for it."""
    beside = Path(__file__).parents[2] / "shared" / "contract"
    folder = Path(os.environ.get("MASEVAL_CONTRACT_DIR", beside)) / "conversations"
    if not folder.is_dir():
        print(f"no recorded conversations in {folder}; set MASEVAL_CONTRACT_DIR")
        return
    try:
        data = ensure_data_exists(verbose=0)
    except DataUnavailableError as error:
        print(f"no tau2 data: {error}")
        return
    database = (data / "domains" / "airline" / "db.json").read_text(encoding="utf-8")
    yardstick = best(lambda: json.loads(database))
    print(f"Y = {yardstick * 1e3:.1f} ms\n")
    print(f"{'domain':<10}{'conversations':>15}{'ms each':>10}{'Y / …':>8}")
    averages = []
    for domain in DOMAINS:
        with gzip.open(folder / f"{domain}.jsonl.gz", "rt", encoding="utf-8") as lines:
            conversations = list(lines)
        averages.append(average(domain, conversations))
        print(row(domain, len(conversations), averages[-1], yardstick))
    print(row("mean", None, statistics.fmean(averages), yardstick))


def average(domain: str, conversations: list[str]) -> float:
    """Seconds for one conversation, in the best of a few rounds over all of them."""

    def score_all() -> None:
        for line in conversations:
            record = json.loads(line)
            score_simulation(record["simulation"], domain=domain, solo=record["solo"])

    score_all()
    return best(score_all) / len(conversations)


def best(measured: Callable[[], object]) -> float:
    """Seconds of the fastest of a few rounds: what the others took longer was not ours."""
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        measured()
        times.append(time.perf_counter() - began)
    return min(times)


def row(name: str, count: int | None, seconds: float, yardstick: float) -> str:
    """One line of the table."""
    number = "" if count is None else f"{count:,}"
    return f"{name:<10}{number:>15}{seconds * 1e3:>10.2f}{yardstick / seconds:>8.1f}"


if __name__ == "__main__":
    main()
