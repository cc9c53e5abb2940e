"""Exact limits of a share."""

import math

import pytest

from maseval.stats.exact import binomial_limits


@pytest.mark.parametrize(
    ("found", "total", "low", "high"),
    [  # the closed forms at the ends, and values of Clopper and Pearson's tables
        (0, 60, 0.0, 1 - 0.025 ** (1 / 60)),
        (60, 60, 0.025 ** (1 / 60), 1.0),
        (7, 20, 0.1539092, 0.5921885),
        (1, 2, 1 - math.sqrt(0.975), math.sqrt(0.975)),
    ],
)
def test_limits_are_those_of_the_tables(found, total, low, high):
    assert binomial_limits(found, total) == pytest.approx((low, high), abs=1e-7)


def test_without_a_case_nothing_is_known():
    assert binomial_limits(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5, 0.93])
def test_the_limits_hold_the_share_at_least_as_often_as_they_say(share):
    total = 30
    covered = 0.0
    for found in range(total + 1):
        low, high = binomial_limits(found, total)
        if low <= share <= high:
            covered += math.comb(total, found) * share**found * (1 - share) ** (total - found)
    assert covered >= 0.95


def test_more_than_all_is_refused():
    with pytest.raises(ValueError, match="between 0 and the 3 cases"):
        binomial_limits(4, 3)
