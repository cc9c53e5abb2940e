"""Budgets: how they are written, and when they object."""

import pytest

from maseval.app.running.folder_run import Budget
from maseval.core.exceptions import ConfigurationError


@pytest.mark.parametrize(
    ("text", "amount", "unit"),
    [
        ("5usd", 5, "usd"),
        ("$5", 5, "usd"),
        ("$ 0.50", 0.5, "usd"),
        ("1,000 USD", 1000, "usd"),
        ("2M tokens", 2_000_000, "tokens"),
        ("500k tokens", 500_000, "tokens"),
        ("1.5m Tokens", 1_500_000, "tokens"),
        ("7_000tokens", 7000, "tokens"),
    ],
)
def test_money_and_tokens_are_understood(text, amount, unit):
    assert Budget.of(text) == (amount, unit)


@pytest.mark.parametrize("text", ["5", "", "five usd", "5eur", "-5usd", "$0", "1M", "$5 tokens"])
def test_anything_else_is_refused_with_the_way_to_write_it(text):
    with pytest.raises(ConfigurationError, match="5usd"):
        Budget.of(text)


def test_a_budget_objects_once_it_is_reached():
    money, tokens = Budget.of("$5"), Budget.of("1k tokens")

    assert money.objection(4.99, 10) is None
    assert "$5.00 is reached ($5.20 used)" in str(money.objection(5.2, 10))
    assert tokens.objection(100.0, 999) is None
    assert "1,000 tokens is reached" in str(tokens.objection(0.0, 1000))


def test_money_cannot_be_watched_without_prices():
    assert Budget.of("$5").objection(0.0, 0) is None
    assert "prices are not known" in str(Budget.of("$5").objection(0.0, 10))
