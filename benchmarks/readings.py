"""How often causes blame whom a reader blames: ``python -m benchmarks.readings``.

The readings are tuned material: the steps were written with them at hand. A new step is made from
the first half alone, and shown on both. With ``--wrong`` each cause that does not name the reader's
first party is printed.
"""

import math
import sys
from collections.abc import Iterable, Sequence
from itertools import chain

from benchmarks.table import show
from benchmarks.tau2 import contract_folder
from maseval.stats.intervals import two_sided_z
from tests.benchmark.tau2.readings.reading import Compared, compare_readings, count_agreement

NAMES = ("failures", "read", "first party", "95% CI", "always the agent", "a named party", "open")


def main() -> int:
    """Print the tables; the exit status is 1 if there are no conversations."""
    folder = contract_folder()
    if folder is None:
        print("no recorded conversations; set MASEVAL_CONTRACT_DIR to the folder that holds them")
        return 1
    groups = {name: list(compare_readings(name, folder)) for name in ("readings", "earlier")}
    for name, found in groups.items():
        show(f"{name}.jsonl (tuned)", NAMES, rows(found))
    once = each_once(groups.values())
    show("Both files by half (tuned)", NAMES, rows_by_half(once))
    show("Both files by step (tuned)", NAMES, rows_by_step(once))
    if "--wrong" in sys.argv:
        for each in once:
            if not each.names_the_first:
                print(describe(each))
    return 0


def each_once(groups: Iterable[Iterable[Compared]]) -> list[Compared]:
    """Return what was found of each failure; one that is in both files as it was read last."""
    late_first = {each.reading["id"]: each for each in chain(*reversed(list(groups)))}
    return list(late_first.values())


def rows_by_half(found: Iterable[Compared]) -> list[tuple[object, ...]]:
    """Return a row for each half, which the last digit of an id tells, and for its retail."""
    halves: dict[str, list[Compared]] = {}
    for each in found:
        half = ("first", "second")[int(each.reading["id"], 16) % 2]
        for name in (f"{half} half", f"{half} half, {each.domain}"):
            halves.setdefault(name, []).append(each)
    return [_row(name, those) for name, those in sorted(halves.items())]


def rows(found: Sequence[Compared]) -> list[tuple[object, ...]]:
    """Return a row for each domain, and one for all."""
    domains = ("airline", "retail", "telecom")
    groups = {name: [each for each in found if each.domain == name] for name in domains}
    return [_row(name, each) for name, each in (*groups.items(), ("all", found))]


def rows_by_step(found: Iterable[Compared]) -> list[tuple[object, ...]]:
    """Return a row for each step that answered, the most frequent first."""
    steps: dict[str, list[Compared]] = {}
    for each in found:
        steps.setdefault(each.cause.rule, []).append(each)
    return [_row(name, those) for name, those in sorted(steps.items(), key=lambda e: -len(e[1]))]


def _row(name: str, found: Sequence[Compared]) -> tuple[object, ...]:
    total = count_agreement(found)
    low, high = _wilson(total["first"], total["read"])
    first, named = (
        f"{total[key]} ({total[key] / total['read']:.0%})" for key in ("first", "named")
    )
    bounds = f"{100 * low:.0f}-{high:.0%}"
    return name, total["read"], first, bounds, total["agent"], named, total["open"]


def _wilson(passed: int, total: int) -> tuple[float, float]:
    """Return Wilson's 95% interval for a share of independent readings (1927)."""
    share, spread = passed / total, two_sided_z(0.95) ** 2 / total
    centre, half = share + spread / 2, math.sqrt(spread * (share * (1 - share) + spread / 4))
    return max(0.0, (centre - half) / (1 + spread)), min(1.0, (centre + half) / (1 + spread))


def describe(each: Compared) -> str:
    """Return a cause and the reading that it does not agree with, in a line."""
    reading, cause = each.reading, each.cause
    where = f"{each.domain} {reading['task'][:40]} {reading['id'][:8]}"
    read = " and ".join((reading["who"], *reading.get("also", ())))
    return f"{where}: {cause.name} ({cause.rule}); read {read}: {reading['what']}"


if __name__ == "__main__":
    sys.exit(main())
