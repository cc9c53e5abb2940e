"""How far tau2 in maseval agrees with the original: counts, and every difference.

Compares with vectors recorded from tau2-bench v0.2.0. For results files there is
`maseval score`.
"""

import argparse
import gzip
import json
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from maseval.benchmark.tau2.data_loader import VALID_DOMAINS, load_domain_config
from maseval.benchmark.tau2.domains import domain_named
from maseval.core.exceptions import MASEvalError
from scripts.agreement import (
    Outcome,
    replay_tasks,
    replay_tool_calls,
    score_conversations,
    score_evaluations,
)

AGREES, DIFFERS, BAD_INPUT = 0, 1, 2
BESIDE = Path(__file__).parents[2] / "shared" / "contract"

EXAMPLES = """\
examples:
  python -m scripts.validate_tau2                        the vectors beside this checkout
  python -m scripts.validate_tau2 --contract vectors/    vectors kept elsewhere

exit code: 0 all agrees, 1 something differs, 2 something could not be read
"""


class Tally:
    """Counts outcomes of one source and prints those that differ."""

    def __init__(self, title: str, *, counted: str) -> None:
        self.title = title
        self.counted = counted
        self.compared = 0
        self.differing = 0
        self.skipped: dict[str, int] = {}

    def take(self, outcomes: Iterable[Outcome]) -> "Tally":
        for outcome in outcomes:
            self._note(outcome)
            if sys.stderr.isatty() and self.compared % 50 == 0:
                print(f"\r{self.title}: {self.compared} ", end="", file=sys.stderr, flush=True)
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr)
        print(self)
        return self

    def _note(self, outcome: Outcome) -> None:
        if outcome.skipped:
            self.skipped[outcome.skipped] = self.skipped.get(outcome.skipped, 0) + 1
            return
        self.compared += outcome.what == self.counted
        if outcome.differences:
            self.differing += 1
            print(f"DIFFERS  {outcome.where}")
            for difference in outcome.differences:
                print(f"         {difference}")

    def __str__(self) -> str:
        line = f"{self.title}: {self.compared} {self.counted}s compared, {self.differing} differ"
        if self.compared:
            line += f", agreement {max(0.0, 1 - self.differing / self.compared):.2%}"
        reasons = [f"{count} not compared: {reason}" for reason, count in self.skipped.items()]
        return "; ".join([line, *reasons])


def contract_tallies(folder: Path) -> Iterator[Tally]:
    """All vectors of the published domains; the mock domain is a fixture of the tests."""
    tasks = json.loads((folder / "tasks.json").read_text(encoding="utf-8"))
    for name in VALID_DOMAINS:
        domain = domain_named(name)
        home = load_domain_config(domain)["db_path"].parent
        calls = vectors(folder / "tool_calls" / f"{name}.jsonl.gz")
        yield Tally(f"tool calls, {name}", counted="call").take(
            replay_tool_calls(domain, home, calls)
        )
        own = [record for record in tasks if record["domain"] == name]
        yield Tally(f"tasks, {name}", counted="task").take(replay_tasks(domain, home, own))
        evaluations = vectors(folder / "evaluations" / f"{name}.jsonl.gz")
        yield Tally(f"evaluations, {name}", counted="evaluation").take(
            score_evaluations(domain, evaluations)
        )
        conversations = vectors(folder / "conversations" / f"{name}.jsonl.gz")
        yield Tally(f"conversations, {name}", counted="simulation").take(
            score_conversations(domain, conversations)
        )


def vectors(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--contract", type=Path, metavar="DIR", help="a folder of vectors")
    given = parser.parse_args(argv)
    if not given.contract:
        given.contract = Path(os.environ.get("MASEVAL_CONTRACT_DIR", BESIDE))
        if not given.contract.is_dir():
            parser.error(f"nothing to compare with: there are no vectors in {given.contract}")
    return given


def main(argv: list[str] | None = None) -> int:
    given = arguments(argv)
    try:
        tallies = list(contract_tallies(given.contract))
    except (MASEvalError, OSError, EOFError, ValueError, KeyError) as error:
        print(f"error: {error}", file=sys.stderr)
        return BAD_INPUT
    compared = sum(tally.compared for tally in tallies)
    differing = sum(tally.differing for tally in tallies)
    print(f"total: {compared} compared, {differing} differ")
    return DIFFERS if differing or not compared else AGREES


if __name__ == "__main__":
    sys.exit(main())
