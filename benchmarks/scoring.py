"""How long it takes to score a recorded conversation: ``python -m benchmarks.scoring``.

All checks are made, reading the conversation's JSON is included, and the reference end states are
known. The unit is Y, the time in which ``json.loads`` reads the airline's database in the same
run, so that the figures of two machines can be compared.
"""

import json
import statistics
import sys

from benchmarks.table import best, show
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
    averages = {key: average(*key, recorded[key[1]]) for key in wanted}
    rows = [
        (domain, version, len(recorded[domain]), f"{seconds * 1e3:.2f}", in_y(seconds, unit))
        for (version, domain), seconds in averages.items()
    ]
    mean = statistics.fmean(averages[DEFAULT, domain] for domain in DOMAINS)
    rows.append(("mean (at most Y/50)", DEFAULT, "", f"{mean * 1e3:.2f}", in_y(mean, unit)))
    title = f"Scoring a recorded conversation; Y = {unit * 1e3:.0f} ms"
    show(title, ("domain", "release", "conversations", "ms each", "in Y"), rows)
    return 0


def average(version: str, domain: str, lines: list[str]) -> float:
    """Seconds for one conversation, in the best of a few rounds over all of them."""

    def score_all() -> None:
        for line in lines:
            record = json.loads(line)
            score_simulation(
                record["simulation"], domain=domain, solo=record["solo"], version=version
            )

    score_all()
    return best(score_all) / len(lines)


if __name__ == "__main__":
    sys.exit(main())
