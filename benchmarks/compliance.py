"""How long the rules of a policy take for a conversation: ``python -m benchmarks.compliance``.

They are held against the verdict of the same conversation in the same run: the goal is that they
cost at most as much. With ``--breaches`` every rule is also tried on gold conversations into which
a breach of it was written, and the table says how many were found and named.
"""

import json
import sys
from importlib import import_module
from random import Random

from benchmarks.table import best, show
from benchmarks.tau2 import conversations
from maseval.benchmark.tau2.compliance import check_case
from maseval.benchmark.tau2.data_loader import DataUnavailableError, load_raw_tasks
from maseval.benchmark.tau2.scoring.case import open_case
from maseval.benchmark.tau2.scoring.score import score_simulation

DOMAINS = ("airline", "retail", "telecom")
ROUNDS = 3


def main() -> int:
    """Print the tables; the exit status is 1 if what is to be measured is not there."""
    recorded = {domain: conversations(domain) for domain in DOMAINS}
    if not all(recorded.values()):
        print("no recorded conversations; set MASEVAL_CONTRACT_DIR to the folder that holds them")
        return 1
    try:
        rows = [speed(domain, lines) for domain, lines in recorded.items()]
    except DataUnavailableError as error:
        print(f"no tau2 data: {error}")
        return 1
    names = ("domain", "conversations", "verdict, ms", "rules, ms", "ratio (goal 1)")
    show("Rules of the policy beside the verdict of the same conversation", names, rows)
    if "--breaches" in sys.argv:
        for domain in DOMAINS:
            show(f"Breaches written into gold conversations: {domain}", *breaches(domain))
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

    score_all()
    check_all()
    verdict, rules = (best(each) / len(lines) for each in (score_all, check_all))
    ratio = f"{rules / verdict:.2f}"
    return domain, len(lines), f"{verdict * 1e3:.2f}", f"{rules * 1e3:.2f}", ratio


def breaches(domain: str) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """Return how many of the breaches of each rule were found, and named by it."""
    written = import_module(f"tests.benchmark.tau2.compliance.breaches_{domain}")
    talk = import_module("tests.benchmark.tau2.compliance.gold_talk")
    tasks, rows = load_raw_tasks(domain), []
    for rule, mutate in written.MUTANTS.items():
        made = found = 0
        for number in range(ROUNDS):
            for task in tasks:
                steps = written.clean_steps(task)
                changed = mutate(steps, task, Random(f"{rule} {task['id']} {number}"))
                if changed is not None:
                    made += 1
                    seen = talk.compliance_of(domain, task, changed).breaches
                    found += any(each.rule == rule for each in seen)
        rows.append((rule, made, found, f"{found / made:.1%}" if made else ""))
    return ("rule", "breaches", "found and named", "share"), rows


if __name__ == "__main__":
    sys.exit(main())
