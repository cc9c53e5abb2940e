"""Who is blamed for a fault in a gold conversation: ``python -m benchmarks.blame``.

The faults are written into the conversations. The tables say for each kind of fault how many
failures it made, and how many labels blame the party whose fault it is, leave it open, or blame
somebody else. With ``--wrong`` each label that is not right is printed.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from random import Random

from benchmarks.table import show
from maseval.benchmark.tau2.data_loader import DataUnavailableError, load_raw_tasks
from tests.benchmark.tau2.injected.blaming import DOMAINS, Blamed, blame, faults_of

MOST = 12
ROUNDS = 4


def main() -> int:
    """Print the tables; the exit status is 1 if there is no data."""
    try:
        for domain in DOMAINS:
            show(f"Blame for faults in gold conversations: {domain}", NAMES, list(rows(domain)))
    except DataUnavailableError as error:
        print(f"no tau2 data: {error}")
        return 1
    return 0


NAMES = ("fault", "whose", "failures", "right", "left open", "wrong", "share")


def rows(domain: str) -> Iterator[tuple[object, ...]]:
    """Yield a row for each kind of fault, and one for all."""
    total: Counter[str] = Counter()
    for fault in faults_of(domain):
        found = Counter(each.verdict for each in blamed(domain, fault.name))
        total += found
        yield fault.name.replace("_", " "), fault.who, *_counts(found)
    yield "all", "", *_counts(total)


def _counts(found: Counter[str]) -> tuple[object, ...]:
    made = found.total()
    share = f"{found['right'] / made:.1%}" if made else ""
    return made, found["right"], found["left open"], found["wrong"], share


def blamed(domain: str, name: str) -> list[Blamed]:
    """Return the labels of up to ``MOST`` failures with a fault, over tasks in a fixed order."""
    found: list[Blamed] = []
    tasks = load_raw_tasks(domain)
    for number in range(ROUNDS):
        for task in Random(f"{name} {number}").sample(tasks, len(tasks)):
            if len(found) == MOST:
                return found
            each = blame(domain, name, task, Random(f"{name} {task['id']} {number}"))
            if each is not None:
                found.append(each)
                if "--wrong" in sys.argv and each.verdict != "right":
                    print(f"{domain} {name} task {task['id']}: {each.label}")
    return found


if __name__ == "__main__":
    sys.exit(main())
