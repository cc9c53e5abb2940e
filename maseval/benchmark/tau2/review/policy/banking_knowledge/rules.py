"""The bank's policy as rules; ``statements.json`` says what of policy and documents they cover."""

from maseval.benchmark.tau2.review.policy.banking_knowledge import (
    account_rules,
    credit_card_rules,
    debit_card_rules,
    dispute_rules,
    identity_rules,
)
from maseval.benchmark.tau2.review.policy.rules import rules_in

_CARDS = (debit_card_rules, credit_card_rules, dispute_rules)
RULES = rules_in(*map(vars, (account_rules, *_CARDS, identity_rules)))
