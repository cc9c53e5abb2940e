"""Prohibitions of the carrier's policy, as far as the database decides them: some of its rules."""

from collections.abc import Iterator, Mapping
from typing import Any

from maseval.benchmark.tau2.domains.rules import Broken, Moment, Rule, Talk
from maseval.benchmark.tau2.domains.telecom.refuel_rules import check_data_limit
from maseval.benchmark.tau2.domains.telecom.rules import (
    check_bill_status,
    check_bills_paid,
    check_contract,
)
from maseval.benchmark.tau2.domains.telecom.tools import TelecomTools

_RULES: Mapping[str, tuple[Rule, ...]] = {
    "send_payment_request": (check_bill_status,),
    "resume_line": (check_bills_paid, check_contract),
    "refuel_data": (check_data_limit,),
}


class _Precondition:
    """The rules of state about a tool, asked without a conversation."""

    def __init__(self, tool: str) -> None:
        self.tool = tool

    def __call__(self, tools: TelecomTools, arguments: Mapping[str, Any]) -> Iterator[str]:
        call: Any = {"name": self.tool, "arguments": arguments, "requestor": "assistant"}
        moment = Moment(call, 0, tools, None, Talk([]))
        for rule in _RULES[self.tool]:
            answers = () if rule.check is None else rule.check(moment)
            yield from (answer.text for answer in answers if isinstance(answer, Broken))


PRECONDITIONS = {tool: _Precondition(tool) for tool in _RULES}
