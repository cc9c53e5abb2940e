"""How long the rules of a policy take for a conversation: ``python -m benchmarks.compliance``.

They are held against the verdict of the same conversation in the same run, for which every call is
made as it is for them: the goal is that they cost at most as much. With ``--breaches`` every rule
is also tried on gold conversations into which a breach of it was written, and the table says how
many were found and named.
"""

import json
import sys
from importlib import import_module
from itertools import product
from random import Random

from benchmarks.table import best, note, show
from benchmarks.tau2 import conversations, every_call_made
from maseval.benchmark.tau2.data_loader import DataUnavailableError, load_raw_tasks
from maseval.benchmark.tau2.review.policy import check_case
from maseval.benchmark.tau2.scoring.case import open_case
from maseval.benchmark.tau2.scoring.score import score_simulation

DOMAINS = ("airline", "retail", "telecom")
# How many breaches of a rule are tried at most, and how often each task is taken for them.
MOST = 60
ROUNDS = 8
VERSIONS = {"banking_knowledge": "1.0.1"}
BASES = {
    "airline": "gold_steps",
    "retail": "conversation_without_wish",
    "telecom": "clean_steps",
    "banking_knowledge": "clean_steps",
}


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
        for domain in BASES:
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

    with every_call_made():
        score_all()
        check_all()
        verdict, rules = (best(each) / len(lines) for each in (score_all, check_all))
    note(f"rules over verdict, {domain}", rules / verdict, at_most=1)
    times = f"{verdict * 1e3:.2f}", f"{rules * 1e3:.2f}"
    return domain, len(lines), *times, f"{rules / verdict:.2f}"


def breaches(domain: str) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """Return how many of the breaches of each rule were found, and named by it."""
    written = import_module(f"tests.benchmark.tau2.compliance.breaches_{domain}")
    talk = import_module("tests.benchmark.tau2.compliance.gold_talk")
    version, base = VERSIONS.get(domain), getattr(written, BASES[domain])
    staged = getattr(written, "STAGED_MUTANTS", {})
    tasks, rows = load_raw_tasks(domain, version=version), []
    for rule in (*written.MUTANTS, *staged):
        made = found = 0
        for number, task in product(range(ROUNDS), tasks):
            rng = Random(f"{rule} {task['id']} {number}")
            if rule in staged:
                changed = staged[rule](task, rng)
            else:
                steps = written.MUTANTS[rule](base(task), task, rng)
                changed = None if steps is None else (task, steps)
            if changed is not None and made < MOST:
                made += 1
                seen = talk.compliance_of(domain, *changed, version=version).breaches
                found += any(each.rule == rule for each in seen)
        rows.append((rule, made, found, f"{found / made:.1%}" if made else ""))
    total, all_found = (sum(row[at] for row in rows) for at in (1, 2))
    rows.append(("all", total, all_found, f"{all_found / total:.2%}"))
    return ("rule", "breaches", "found and named", "share"), rows


if __name__ == "__main__":
    sys.exit(main())
