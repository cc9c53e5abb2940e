"""The bank's policy as rules; ``statements.json`` says what of policy and documents they cover."""

from maseval.benchmark.tau2.review.policy.banking_knowledge.account_rules import ACCOUNT_RULES
from maseval.benchmark.tau2.review.policy.banking_knowledge.credit_card_rules import (
    CREDIT_CARD_RULES,
)
from maseval.benchmark.tau2.review.policy.banking_knowledge.dealing_rules import DEALING_RULES
from maseval.benchmark.tau2.review.policy.banking_knowledge.debit_card_rules import DEBIT_CARD_RULES
from maseval.benchmark.tau2.review.policy.banking_knowledge.dispute_rules import DISPUTE_RULES
from maseval.benchmark.tau2.review.policy.banking_knowledge.identity_rules import IDENTITY_RULES
from maseval.benchmark.tau2.review.policy.rules import Rule

RULES: tuple[Rule, ...] = (
    *ACCOUNT_RULES,
    *DEBIT_CARD_RULES,
    *CREDIT_CARD_RULES,
    *DISPUTE_RULES,
    *IDENTITY_RULES,
    *DEALING_RULES,
)
