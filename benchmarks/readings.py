"""How often labels blame whom a reader blames: ``python -m benchmarks.readings``.

With ``--wrong`` each label that does not agree with the reader is printed.
"""

import sys
from collections.abc import Sequence

from benchmarks.table import show
from benchmarks.tau2 import contract_folder
from maseval.stats.intervals import wilson
from tests.benchmark.tau2.readings.reading import Compared, compared, counts

NAMES = ("failures", "read", "right", "95% CI", "left open", "wrong", "always the agent")


def main() -> int:
    """Print the tables; the exit status is 1 if there are no conversations."""
    folder = contract_folder()
    if folder is None:
        print("no recorded conversations; set MASEVAL_CONTRACT_DIR to the folder that holds them")
        return 1
    for name, title in (("readings", "Drawn and read blind"), ("earlier", "Used for the rules")):
        found = list(compared(name, folder))
        show(title, NAMES, rows(found))
        if "--wrong" in sys.argv:
            for each in found:
                if each.agreement != "right":
                    print(describe(each))
    return 0


def rows(found: Sequence[Compared]) -> list[tuple[object, ...]]:
    """Return a row for each domain, one without telecom, and one for all."""
    domains = {
        name: [each for each in found if each.domain == name]
        for name in ("airline", "retail", "telecom")
    }
    groups = {
        **domains,
        "without telecom": [*domains["airline"], *domains["retail"]],
        "all": list(found),
    }
    return [_row(name, each) for name, each in groups.items()]


def _row(name: str, found: Sequence[Compared]) -> tuple[object, ...]:
    total, of = counts(found), len(found)
    interval = wilson(total["right"], of)
    share = f"{total['right']} ({total['right'] / of:.0%})"
    bounds = f"{interval.low:.0%} to {interval.high:.0%}"
    return name, of, share, bounds, total["left open"], total["wrong"], total["always the agent"]


def describe(each: Compared) -> str:
    """Return a label and the reading that it does not agree with, in a line."""
    reading, label = each.reading, each.label
    named = "passed" if label is None else f"{label.who}: {label.what} ({label.rule})"
    where = f"{each.domain} {reading['task'][:40]} {reading['id'][:8]}"
    return f"{each.agreement}: {where}: label {named}; read {reading['who']}: {reading['what']}"


if __name__ == "__main__":
    sys.exit(main())
