"""Intervals for a share and for a mean over tasks."""

from itertools import product
from statistics import fmean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.coverage import BEGIN, END, PAGE, POPULATIONS, TRIALS
from maseval.core.exceptions import ConfigurationError
from maseval.stats.intervals import (
    mean_interval,
    regularised_beta,
    two_sided_t,
    two_sided_z,
    wilson,
)


def test_wilson_gives_the_published_example():
    # Newcombe, Statistics in Medicine 17 (1998), table I: 81 of 263.
    found = wilson(81, 263)

    assert (found.low, found.high) == pytest.approx((0.2553, 0.3662), abs=5e-5)


@pytest.mark.parametrize(("passed", "total"), [(0, 1), (0, 20), (20, 20), (7, 9), (500, 1112)])
def test_wilson_agrees_with_scipy(passed, total):
    stats = pytest.importorskip("scipy.stats")
    expected = stats.binomtest(passed, total).proportion_ci(0.9, method="wilson")
    found = wilson(passed, total, level=0.9)

    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_nothing_counted_says_nothing():
    assert (wilson(0, 0).low, wilson(0, 0).high) == (0.0, 1.0)


@pytest.mark.parametrize(("passed", "total"), [(2, 1), (-1, 4)])
def test_more_passed_than_there_were_is_refused(passed, total):
    with pytest.raises(ConfigurationError, match=f"{passed} passed of {total}"):
        wilson(passed, total)


@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=2, max_size=60))
def test_the_interval_of_a_mean_holds_the_mean_and_has_a_width(scores):
    interval = mean_interval(scores)

    assert 0 <= interval.low <= fmean(scores) <= interval.high <= 1
    assert interval.high > interval.low


def test_many_tasks_far_from_the_bounds_have_students_interval():
    scores = [0.4, 0.5, 0.6, 0.5] * 250
    interval = mean_interval(scores)
    half = two_sided_t(0.95, 999) * stdev(scores) / 1000**0.5

    assert (interval.low, interval.high) == pytest.approx((0.5 - half, 0.5 + half), abs=3e-4)


def test_the_formula_by_hand():
    # Of 20 tasks one passes. Its deviation is 0.95, that of each other one -0.05; t is 2.093.
    interval = mean_interval([1.0] + [0.0] * 19)
    t, total = 2.0930240544, 0.95**2 + 19 * 0.05**2
    variance = total / 19 / 20
    up = (0.95**3 + 0.05 * 0.95**3) / (total + 0.05 * 0.95**2) / 20
    shrink = 1 + t**2 * variance / (0.05 * 0.95)
    root = (t**2 * variance * shrink + (t**4 / 12 + t**2 / 6) * up**2) ** 0.5

    assert interval.low == 0.0
    assert interval.high == pytest.approx(0.05 + ((2 * t**2 + 1) / 6 * up + root) / shrink)
    assert interval.high == pytest.approx(0.2196, abs=1e-4)


def test_a_mean_over_all_passing_tasks_still_has_a_lower_end_below_one():
    few, many = mean_interval([1.0] * 5), mean_interval([1.0] * 50)

    assert few.high == many.high == 1.0
    assert few.low < many.low < 1.0


def test_runs_that_agree_on_every_task_differ_by_little():
    equal = mean_interval([0.0] * 120, bounds=(-1.0, 1.0))
    nearly = mean_interval([1.0] + [0.0] * 119, bounds=(-1.0, 1.0))

    assert -equal.low == pytest.approx(equal.high) and 0.02 < equal.high < 0.04
    assert nearly.high < 0.05, "one task that differs says little more than none"
    # Of tasks that all differ alike, the same share may be otherwise.
    better = mean_interval([0.5] * 120, bounds=(-1.0, 1.0))
    assert better.low == pytest.approx(0.5 - 1.5 * equal.high)
    assert better.high == pytest.approx(0.5 + 0.5 * equal.high)


def test_one_task_cannot_be_generalised_from():
    assert mean_interval([0.5]) is None


def test_a_difference_of_runs_lies_between_minus_one_and_one():
    interval = mean_interval([-1.0] * 8, bounds=(-1.0, 1.0))

    assert interval.low == -1.0
    assert -1.0 < interval.high < 0


def test_the_interval_turns_with_its_scores():
    scores = [0.0, 0.25, 1.0, 0.5, 1.0]
    interval, mirrored = mean_interval(scores), mean_interval([1 - score for score in scores])

    assert (1 - mirrored.high, 1 - mirrored.low) == pytest.approx((interval.low, interval.high))


def test_the_page_shows_every_simulated_kind_of_tasks_and_claims_no_more():
    table = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    rows = [line.strip("| ").split(" | ") for line in table.strip().splitlines()[2:]]

    assert [(name, int(trials)) for name, trials, *_ in rows] == list(product(POPULATIONS, TRIALS))
    assert min(int(cell.partition("-")[0]) for row in rows for cell in row[2:]) >= 93


@pytest.mark.parametrize(
    ("degrees", "expected"), [(1, 12.7062047362), (4, 2.7764451052), (30, 2.0422724563)]
)
def test_students_t_has_the_values_of_the_printed_tables(degrees, expected):
    assert two_sided_t(0.95, degrees) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("level", [0, 1, -0.5, 95])
def test_a_level_that_is_none_is_refused(level):
    with pytest.raises(ConfigurationError, match=r"0\.95"):
        two_sided_z(level)
    with pytest.raises(ConfigurationError, match=r"0\.95"):
        two_sided_t(level, 3)


def test_no_degree_of_freedom_is_refused():
    with pytest.raises(ConfigurationError, match="degrees"):
        two_sided_t(0.95, 0)


def test_they_agree_with_scipy():
    stats = pytest.importorskip("scipy.stats")
    for degrees in (1, 2, 3, 9, 49, 277, 2284):
        for level in (0.5, 0.8, 0.9, 0.95, 0.999):
            expected = stats.t.ppf((1 + level) / 2, degrees)
            assert two_sided_t(level, degrees) == pytest.approx(expected, rel=1e-8)


def test_the_beta_distribution_agrees_with_scipy():
    special = pytest.importorskip("scipy.special")
    for a in (0.1, 0.5, 1, 3.3, 40, 600):
        for b in (0.2, 0.5, 1, 7, 350):
            for x in (0.0, 1e-6, 0.03, 0.4, 0.5, 0.77, 0.999, 1.0):
                expected = float(special.betainc(a, b, x))
                assert regularised_beta(x, a, b) == pytest.approx(expected, rel=1e-8, abs=1e-13)
