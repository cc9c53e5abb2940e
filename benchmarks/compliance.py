"""How long the rules of a policy take for a conversation: ``python -m benchmarks.compliance``.

They are held against the verdict of the same conversation in the same run, for which every call is
made as it is for them: the goal is that they cost at most twice as much.
"""

import json
import sys

from benchmarks.table import best, note, show
from benchmarks.tau2 import conversations, every_call_made
from maseval.benchmark.tau2.data_loader import DataUnavailableError
from maseval.benchmark.tau2.review.policy import check_case
from maseval.benchmark.tau2.scoring.case import open_case
from maseval.benchmark.tau2.scoring.score import score_simulation

DOMAINS = ("airline", "retail", "telecom")


def main() -> int:
    """Print the tables; the exit status is 1 if what is to be measured is not there."""
    try:
        recorded = {domain: conversations(domain) for domain in DOMAINS}
        if not all(recorded.values()):
            print("no recorded conversations; set MASEVAL_CONTRACT_DIR to their folder")
            return 1
        rows = [speed(domain, lines) for domain, lines in recorded.items()]
    except DataUnavailableError as error:
        print(f"no tau2 data: {error}")
        return 1
    names = ("domain", "conversations", "verdict, ms", "rules, ms", "ratio (goal 2)")
    show("Rules of the policy beside the verdict of the same conversation", names, rows)
    return 0


def speed(domain: str, lines: list[str]) -> tuple[object, ...]:
    """Return the mean time of verdict and rules, each in the best of a few rounds."""
    records = [json.loads(line) for line in lines]

    def score_all() -> None:
        for record in records:
            score_simulation(record["simulation"], domain=domain, solo=record["solo"])

    cases = [open_case(each["simulation"], domain, solo=each["solo"]) for each in records]

    def check_all() -> None:
        for case in cases:
            check_case(case)

    with every_call_made():
        score_all()
        check_all()
        verdict, rules = (best(each) / len(lines) for each in (score_all, check_all))
    note(f"rules over verdict, {domain}", rules / verdict, at_most=2)
    times = f"{verdict * 1e3:.2f}", f"{rules * 1e3:.2f}"
    return domain, len(lines), *times, f"{rules / verdict:.2f}"


if __name__ == "__main__":
    sys.exit(main())
