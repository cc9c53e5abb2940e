"""The rule that stands in for a judge of v1.0.1's retail: ``--judge rule``.

Retail's assertions say what the agent should tell, and nearly all restate a task's
``communicate_info``: a number or a word. The rule holds an assertion to be met if every such value
in it stands in what the agent said, whatever the commas and the case; a number counts as a whole
number, so that 10 is not in 2010. Where a task has no such values, its assertions restate changes
of the database, and the end state decides. It sees neither in which sense a word was used nor
whether a number was given for the right thing, so that it errs towards "met"; what it decides is
not the original's number and never bears its name.
"""

import re
from collections.abc import Sequence
from decimal import Decimal

from maseval.benchmark.tau2.formats.simulation import NLCheck

RULE = "rule"
"""The name of this judge, where a model would be named."""

DOMAIN, VERSION = "retail", "1.0.1"

MEASURED = (
    "measured: it agrees with careful reading in 44 of 44 real conversations, whose assertions are "
    "all met, and notices 67 of 67 values removed from what the agent said; of other tasks' "
    "assertions it wrongly accepts 85 of 8,584 with a number and 258 of 1,582 with words alone"
)

_NUMBER = re.compile(r"(?<![\w#.])\d+(?:\.\d+)?(?!\w)")


def decide_by_rule(
    assertions: Sequence[str],
    communicate_info: Sequence[str],
    said: Sequence[str],
    ended_as_wanted: bool | None,
) -> list[NLCheck] | None:
    """Return the outcome of each assertion; None if the rule cannot decide one of them.

    ``ended_as_wanted`` is None if the task has no end state to compare with.
    """
    checks: list[NLCheck] = []
    for assertion in assertions:
        values = [value for value in communicate_info if stands_in(value, assertion)]
        if values:
            lacking = [v for v in values if not any(stands_in(v, text) for text in said)]
            met, why = not lacking, f"not said: {', '.join(lacking)}" if lacking else "said"
        elif communicate_info or ended_as_wanted is None:
            return None
        else:
            met, why = ended_as_wanted, "by the end state of the database"
        checks.append({"nl_assertion": assertion, "met": met, "justification": f"rule: {why}"})
    return checks


def stands_in(value: str, text: str) -> bool:
    """Return True if a number or some words stand in a text, whatever the commas and the case."""
    wanted, plain = _plain(value), _plain(text)
    if _NUMBER.fullmatch(wanted):
        return any(Decimal(found) == Decimal(wanted) for found in _NUMBER.findall(plain))
    # "64GB" may be written in two words.
    loose = re.sub(r"(?<=\d)(?=[a-z])", r"\\s?", re.escape(wanted))
    return re.search(rf"(?<!\w){loose}(?!\w)", plain) is not None


def _plain(text: str) -> str:
    return " ".join(text.lower().replace(",", "").split())
