"""The shop's policy as rules; ``statements.json`` says what of the policy they cover."""

from maseval.benchmark.tau2.domains.retail import WRITES
from maseval.benchmark.tau2.review.policy.confirming import (
    explicit_yes,
    no_text_beside_a_call,
    nothing_after_a_transfer,
    one_call_at_a_time,
    transfer_is_announced,
)
from maseval.benchmark.tau2.review.policy.retail import (
    agreement,
    details,
    eligibility,
    identity,
)
from maseval.benchmark.tau2.review.policy.rules import rules_in

RULES = (
    *rules_in(*map(vars, (eligibility, identity, agreement, details))),
    explicit_yes("retail", "Introduction: 5th paragraph", WRITES),
    nothing_after_a_transfer("retail", "Introduction: 9th paragraph", WRITES),
    transfer_is_announced("retail", "Introduction: 9th paragraph"),
    one_call_at_a_time("retail", "Introduction: 7th paragraph"),
    no_text_beside_a_call("retail", "Introduction: 7th paragraph"),
)
