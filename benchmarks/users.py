"""Faults of the simulated user that are found: ``python -m benchmarks.users [FOLDER]``.

The first table is about gold conversations: with a fault of the user written into them, of which
each kind should be found, and without any, in which nothing should be. With the folder of the
contract vectors, the second one counts what is found in public conversations, by user model, and
``--list SEED`` prints forty of these findings to read.
"""

import gzip
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.table import show
from maseval.benchmark.tau2.data_loader import DataUnavailableError, load_raw_tasks
from maseval.benchmark.tau2.review.users import UserFault, check_user
from tests.benchmark.tau2.injected.blaming import DOMAINS, faults_of
from tests.benchmark.tau2.injected.finding import found_in_gold, found_with, is_found

MOST = 12
ROUNDS = 4
READ = 40


def main() -> int:
    """Print the tables; the exit status is 1 if there is no data."""
    try:
        show("Faults of the user in gold conversations", ("domain", *NAMES), list(injected()))
    except DataUnavailableError as error:
        print(f"no tau2 data: {error}")
        return 1
    folders = [Path(each) for each in sys.argv[1:] if Path(each).is_dir()]
    if folders:
        public(folders[0])
    return 0


NAMES = ("fault", "conversations", "found")


def injected() -> Iterator[tuple[object, ...]]:
    """Yield a row for each kind of fault, and one for conversations without any."""
    total: Counter[str] = Counter()
    for domain in DOMAINS:
        tasks = load_raw_tasks(domain)
        for fault in (each for each in faults_of(domain) if each.who == "user"):
            made = found = 0
            for number in range(ROUNDS):
                for task in Random(f"{fault.name} {number}").sample(tasks, len(tasks)):
                    rng = Random(f"{fault.name} {task['id']} {number}")
                    faults = found_with(fault, domain, task, rng) if made < MOST else None
                    if faults is not None:
                        made, found = made + 1, found + is_found(fault, faults)
            total += Counter(made=made, found=found)
            yield domain, fault.name.replace("_", " "), made, found
        clean = [each for task in tasks if (each := found_in_gold(domain, task)) is not None]
        yield domain, "none: false alarms", len(clean), sum(bool(each.faults) for each in clean)
    yield "all", "faults", total["made"], total["found"]


def public(folder: Path) -> None:
    """Count what is found in the public conversations, by domain and user model."""
    counts: Counter[tuple[str, str]] = Counter()
    kinds: dict[tuple[str, str], Counter[str]] = {}
    listed: list[tuple[dict[str, Any], UserFault]] = []
    spent = 0.0
    for domain in DOMAINS:
        with gzip.open(folder / "conversations" / f"{domain}.jsonl.gz") as lines:
            rows = [json.loads(line) for line in lines]
        for row in (each for each in rows if not each["solo"]):
            began = time.process_time()
            faults = check_user(row["simulation"], domain=domain).faults
            spent += time.process_time() - began
            key = domain, row["user_model"]
            counts[key] += 1
            kinds.setdefault(key, Counter()).update({each.kind.value for each in faults})
            kinds[key]["any"] += bool(faults)
            listed += [(row, each) for each in faults]
    names = ("any", *sorted({kind for each in kinds.values() for kind in each} - {"any"}))
    rows_of = [(*key, n, *(kinds[key][name] for name in names)) for key, n in counts.items()]
    show("Public conversations", ("domain", "user model", "conversations", *names), rows_of)
    print(f"{spent / counts.total() * 1000:.1f} ms of the processor for a conversation")
    if "--list" in sys.argv:
        seed = int(sys.argv[sys.argv.index("--list") + 1])
        for row, each in random.Random(seed).sample(listed, min(READ, len(listed))):
            where = f"{row['domain']} {row['task_id'][:40]} {row['id'][:8]} {row['user_model']}"
            print(f"{where} [{each.message_index}] {each.kind}: {each.text}\n    {each.quote!r}")


if __name__ == "__main__":
    sys.exit(main())
