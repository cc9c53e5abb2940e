"""How long it takes to score a recorded conversation: ``python -m benchmarks.scoring``.

All checks are made, and reading the conversation's JSON is included. In the first pass databases
are read and reference end states worked out; after it they are known. A verdict looks calls up that
were made in earlier conversations of the task, so there are three figures more: for one that makes
every call, for one that knows the other conversations of its task, and for one that has seen this
very conversation. Times are the processor's. The unit is Y, the time in which ``json.loads`` reads
the airline's database in the same run, so that the figures of two machines can be compared.
"""

import json
import statistics
import sys
import time

from benchmarks.table import best, note, seconds, show
from benchmarks.tau2 import (
    conversations,
    every_call_made,
    in_y,
    left_out,
    releases,
    yardstick,
)
from maseval.benchmark.tau2.data_loader import DataUnavailableError
from maseval.benchmark.tau2.scoring.score import score_simulation

DOMAINS = ("airline", "retail", "telecom")
# By the rules and tasks of 1.0.1, retail needs a judge.
IN_BOTH = ("airline", "telecom")
DEFAULT = "0.2.0"


def main() -> int:
    """Print a table; the exit status is 1 if what is to be measured is not there."""
    recorded = {domain: conversations(domain) for domain in DOMAINS}
    if not all(recorded.values()):
        print("no recorded conversations; set MASEVAL_CONTRACT_DIR to the folder that holds them")
        return 1
    try:
        unit = yardstick()
    except DataUnavailableError as error:
        print(f"no tau2 data: {error}")
        return 1
    wanted = [(DEFAULT, domain) for domain in DOMAINS]
    wanted += [(version, name) for version in releases() if version != DEFAULT for name in IN_BOTH]
    rows, averages = [], {}
    for version, domain in wanted:
        times = measure(version, domain, recorded[domain])
        averages[version, domain] = average = times[-1]
        note(f"verdict, {domain} {version}, in Y", average / unit)
        note(f"verdict, others of the task known, {domain} {version}, in Y", times[2] / unit)
        figures = [f"{time * 1e3:.2f}" for time in times]
        rows.append((domain, version, len(recorded[domain]), *figures, in_y(average, unit)))
    mean = statistics.fmean(averages[DEFAULT, domain] for domain in DOMAINS)
    note("verdict, mean, in Y", mean / unit, at_most=1 / 50)
    blank = ("",) * 4
    rows.append(("mean (at most Y/50)", DEFAULT, *blank, f"{mean * 1e3:.2f}", in_y(mean, unit)))
    title = f"Scoring a recorded conversation; Y = {unit * 1e3:.0f} ms"
    known = ("first pass, ms each", "every call made", "others known", "itself known", "in Y")
    columns = ("domain", "release", "conversations", *known)
    show(title, columns, rows)
    return 0


def measure(version: str, domain: str, lines: list[str]) -> tuple[float, ...]:
    """Seconds for one conversation: in the first round over all, and by what is known then."""

    def score(line: str) -> None:
        record = json.loads(line)
        score_simulation(record["simulation"], domain=domain, solo=record["solo"], version=version)

    def score_all() -> None:
        for line in lines:
            score(line)

    first = seconds(score_all, time.process_time) / len(lines)
    with every_call_made():
        made = best(score_all, clock=time.process_time) / len(lines)
    records = [json.loads(line) for line in lines]
    tasks = [(each["task_id"], each["solo"]) for each in records]
    others = left_out(score, zip(tasks, lines, strict=True))
    return first, made, others, best(score_all, clock=time.process_time) / len(lines)


if __name__ == "__main__":
    sys.exit(main())
