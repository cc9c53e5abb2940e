"""What trust costs: ``python -m benchmarks.trust``.

Explaining, and finding the cause of failures, is measured against scoring the same recorded
conversations in the same run, so that the ratio depends little on the machine. Reference end states
are known beforehand, and every call is made.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.table import best, note, seconds, show
from benchmarks.tau2 import contract_folder, conversations, every_call_made
from maseval.benchmark.tau2.certify import certify
from maseval.benchmark.tau2.results.recorded import Claims, report_of_recorded
from maseval.benchmark.tau2.review.audit import audit
from maseval.benchmark.tau2.review.causes import find_cause
from maseval.benchmark.tau2.review.explain import explain
from maseval.benchmark.tau2.scoring.score import score_simulation

DOMAINS = ("airline", "retail", "telecom")
ROUNDS = 3
MOST = 5.0
Record = dict[str, Any]


def main() -> None:
    """Print what was measured, or what is missing for it."""
    audited = seconds(audit)
    note("audit of three domains, s", audited, at_most=180)
    rows = [["audit of three domains", f"{audited:.1f} s", "180 s"]]
    if contract_folder() is None:
        print("no recorded conversations; set MASEVAL_CONTRACT_DIR")
    else:
        records = {domain: list(map(json.loads, conversations(domain))) for domain in DOMAINS}
        show(
            "Against scoring",
            ("domain", "conversations", "score", "explain", "cause"),
            ratios(records),
        )
        rows.append(["certify 1,000 simulations", f"{certifying(records):.1f} s", "a few seconds"])
    show("As a whole", ("what", "time", "at most"), rows)


def ratios(records: dict[str, list[Record]]) -> list[list[object]]:
    """For each domain, and for all conversations together, the times over that of scoring."""
    rows, totals = [], [0.0, 0.0, 0.0]
    for domain, those in records.items():
        times = [each_time(work, domain, those) for work in (score_simulation, explain, find_cause)]
        totals = [total + time for total, time in zip(totals, times, strict=True)]
        rows.append(row(domain, len(those), times))
    for name, time in zip(("explain", "cause"), totals[1:], strict=True):
        note(f"{name} over verdict", time / totals[0], at_most=MOST)
    return [*rows, row(f"all (at most {MOST:g})", sum(map(len, records.values())), totals)]


def each_time(work: Callable[..., object], domain: str, records: list[Record]) -> float:
    """Seconds for all conversations of a domain, in the best of a few rounds."""

    def run() -> None:
        for record in records:
            work(record["simulation"], domain=domain, solo=record["solo"])

    with every_call_made():
        run()
        return best(run, ROUNDS)


def row(name: str, count: int, times: list[float]) -> list[object]:
    """Milliseconds for scoring one conversation, and how many times that the others take."""
    scoring = times[0]
    others = [f"{time / scoring:.1f} x" for time in times[1:]]
    return [name, count, f"{scoring / count * 1e3:.2f} ms", *others]


def certifying(records: dict[str, list[Record]]) -> float:
    """Seconds to certify a thousand simulations, from those that there are."""
    count = sum(map(len, records.values()))

    def run() -> None:
        for domain, those in records.items():
            certify(Lines(domain, those))

    return best(run, ROUNDS) / count * 1000


class Lines:
    """Recorded conversations of a domain, like a file of them."""

    claims = Claims()

    def __init__(self, domain: str, records: list[Record]) -> None:
        self.domain, self.records = domain, records

    def reports(self, on_malformed: object = None) -> Iterator[Any]:
        """Yield a report on each conversation."""
        for each in self.records:
            about = {"solo": each["solo"], "verdict": each["reward_info"]}
            yield report_of_recorded(each["simulation"], domain=self.domain, **about)


if __name__ == "__main__":
    main()
