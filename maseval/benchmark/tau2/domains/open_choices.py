"""Open choices: arguments of writes that a policy leaves to the user, and a scenario often too.

Where nobody says which card to use, two agents that do all else alike reach two end states, and
both are right. A domain names such arguments, and the words by which a scenario settles them.
"""

import re
from collections.abc import Collection
from typing import NamedTuple

_PAYMENT = re.compile(
    r"gift ?card|\bGC\b|certificate|voucher|credit|debit|visa|master ?card|amex|american express"
    r"|paypal|\bcards?\b|payment|original|refund(?:ed)? (?:to|on|via|through|in)\b",
    re.IGNORECASE,
)


class OpenChoice(NamedTuple):
    """An argument of some tools for which several values do, unless the scenario settles it.

    ``settled_by`` finds the words that settle it; without it nothing does, as with a remark in
    free text. A list that is ``unordered`` means the same in any order, settled or not, as long as
    the lists ``beside`` it are in the same.
    """

    noun: str
    argument: str
    tools: Collection[str]
    settled_by: re.Pattern[str] | None = None
    unordered: bool = False
    beside: tuple[str, ...] = ()

    def allows(self, tool: str, argument: str, scenario: str) -> bool:
        """Return True if the argument of a tool is left open by what the user is told."""
        if argument != self.argument or tool not in self.tools or self.unordered:
            return False
        return self.settled_by is None or not self.settled_by.search(scenario)


def payment_choice(argument: str, *tools: str) -> OpenChoice:
    """Return the choice of a payment method."""
    return OpenChoice("payment method", argument, tools, _PAYMENT)
