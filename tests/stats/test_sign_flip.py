"""The sign-flip test."""

from fractions import Fraction
from itertools import product
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maseval.stats import sign_flip
from maseval.stats.sign_flip import EXACT, SAMPLED, sign_flip_test, subsets_within
from tests.stats.made_up import rng

QUARTERS = st.integers(-4, 4).map(lambda n: Fraction(n, 4))


@given(st.lists(QUARTERS, min_size=1, max_size=9))
def test_it_is_the_share_of_all_sign_choices_that_are_as_extreme(differences):
    found = abs(sum(differences))
    totals = [
        abs(sum(sign * each for sign, each in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    test = sign_flip_test(differences)

    assert test.p_value == pytest.approx(sum(total >= found for total in totals) / len(totals))
    assert test.discordant == sum(each != 0 for each in differences)
    assert test.method == EXACT


@pytest.mark.parametrize(("better", "worse"), [(0, 0), (1, 0), (9, 2), (5, 5), (40, 21)])
def test_with_one_trial_it_is_mcnemars_exact_test(better, worse):
    differences = [Fraction(1)] * better + [Fraction(-1)] * worse + [Fraction(0)] * 30
    n, few = better + worse, min(better, worse)
    tail = sum(comb(n, i) for i in range(few + 1)) / 2**n

    assert sign_flip_test(differences).p_value == pytest.approx(min(1.0, 2 * tail))


@given(st.lists(st.integers(1, 9), max_size=9), st.integers(0, 40))
def test_subsets_are_counted_by_their_sum(sizes, limit):
    chosen = product((0, 1), repeat=len(sizes))
    sums = [sum(size for size, taken in zip(sizes, each, strict=True) if taken) for each in chosen]

    assert subsets_within(sizes, limit) == sum(total <= limit for total in sums)


def test_no_difference_has_a_p_value_of_one():
    assert sign_flip_test([Fraction(0)] * 5).p_value == 1.0
    assert sign_flip_test([]).p_value == 1.0


def test_where_counting_takes_too_long_signs_are_drawn_and_the_method_says_so(monkeypatch):
    numbers = rng(1)
    differences = [Fraction(numbers.randint(-5, 7), 6) for _ in range(60)]
    exact = sign_flip_test(differences)
    monkeypatch.setattr(sign_flip, "_AFFORDABLE", 1)
    sampled = sign_flip_test(differences)

    assert (exact.method, sampled.method) == (EXACT, SAMPLED)
    assert "20,000" in SAMPLED
    assert sampled.p_value == pytest.approx(exact.p_value, abs=0.01)
    assert sampled == sign_flip_test(differences)


def test_a_sampled_p_value_is_never_zero(monkeypatch):
    monkeypatch.setattr(sign_flip, "_AFFORDABLE", 1)

    assert sign_flip_test([Fraction(1)] * 200).p_value == pytest.approx(1 / 20_001)


def test_four_of_ten_trials_of_three_hundred_tasks_are_tested_exactly():
    numbers = rng(2)
    test = sign_flip_test([Fraction(numbers.randint(-210, 230), 210) for _ in range(300)])

    assert 0 < test.p_value <= 1
    assert test.method == EXACT
