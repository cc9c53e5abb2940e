"""Findings about a record: why it is not what the benchmark would have written.

Their weight says what follows. Numbers of a record with one of weight ``state`` cannot be
certified. One of weight ``manner`` is a fault that leaves the numbers as they are. A ``remark`` is
a caution: something that deserves a look, and no fault. The evidence of a finding is what to try.
"""

import re
from collections.abc import Iterable, Sequence

from maseval.benchmark.tau2.rescoring.rescore import RescoredRecord
from maseval.benchmark.tau2.rescoring.verdict import RescoredSimulation
from maseval.core.finding import Finding, Weight

_LISTED = 5


def record_finding(
    kind: str, text: str, remedy: str | None = None, weight: Weight = "state"
) -> Finding:
    """Return a finding about a record; ``remedy`` says what to try."""
    evidence = () if remedy is None else (remedy,)
    return Finding(
        "record", "unclear", kind, "record", text, "proven", evidence=evidence, weight=weight
    )


def in_words(finding: Finding) -> str:
    """Return a finding about a record as one sentence, with its kind and what to try."""
    return "; ".join((f"{finding.kind}: {finding.text}", *finding.evidence))


def scoring_remedy(finding: Finding) -> tuple[str, str] | None:
    """Return the scoring options to try, as the query of an address, and what they do.

    ``("remap-tasks", "judges each by the task it is")``.
    """
    words = re.match(r"--([a-z-]{1,20})(?: (\S{1,60}))? (judges .*)", "; ".join(finding.evidence))
    return words and (f"{words[1]}={words[2]}" if words[2] else words[1], words[3])


def share_of(several: Sequence[RescoredSimulation], found: RescoredRecord) -> str:
    return f"{len(several)} of {len(found.simulations)} simulations"


def some_of(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - _LISTED} more" if len(every) > _LISTED else ""
    return ", ".join(every[:_LISTED]) + more
