"""How long it takes to score a recorded conversation: ``python -m benchmarks.scoring``.

All checks are made, and reading the conversation's JSON is included. In the first pass databases
are read and reference end states worked out; after it they are known. The unit is Y, the time in
which ``json.loads`` reads the airline's database in the same run, so that the figures of two
machines can be compared.
"""

import json
import statistics
import sys

from benchmarks.table import best, note, seconds, show
from benchmarks.tau2 import conversations, in_y, releases, yardstick
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
        first, average = measure(version, domain, recorded[domain])
        averages[version, domain] = average
        note(f"verdict, {domain} {version}, in Y", average / unit)
        times = (f"{first * 1e3:.2f}", f"{average * 1e3:.2f}", in_y(average, unit))
        rows.append((domain, version, len(recorded[domain]), *times))
    mean = statistics.fmean(averages[DEFAULT, domain] for domain in DOMAINS)
    note("verdict, mean, in Y", mean / unit, at_most=1 / 50)
    rows.append(("mean (at most Y/50)", DEFAULT, "", "", f"{mean * 1e3:.2f}", in_y(mean, unit)))
    title = f"Scoring a recorded conversation; Y = {unit * 1e3:.0f} ms"
    columns = ("domain", "release", "conversations", "first pass, ms each", "then", "in Y")
    show(title, columns, rows)
    return 0


def measure(version: str, domain: str, lines: list[str]) -> tuple[float, float]:
    """Seconds for one conversation: in the first round over all, and in the best of a few more."""

    def score_all() -> None:
        for line in lines:
            record = json.loads(line)
            score_simulation(
                record["simulation"], domain=domain, solo=record["solo"], version=version
            )

    return seconds(score_all) / len(lines), best(score_all) / len(lines)


if __name__ == "__main__":
    sys.exit(main())
