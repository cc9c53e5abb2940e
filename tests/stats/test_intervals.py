"""Intervals for a share and for a mean over tasks."""

import random
import re
from itertools import product
from math import exp, lgamma, log, log1p
from operator import mul
from statistics import fmean, stdev

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.coverage import BEGIN, END, PAGE, TASKS, Coverage
from maseval.core.exceptions import ConfigurationError
from maseval.stats.intervals import (
    mean_interval,
    two_sided_t,
    two_sided_z,
    weighted_interval,
    weighted_quantile,
)


def ends(
    scores: list[float], level: float = 0.95, bounds: tuple[float, float] = (0.0, 1.0)
) -> tuple[float, float]:
    found = mean_interval(scores, level, bounds)
    return found.low, found.high


@pytest.mark.parametrize(
    ("scores", "low", "high"),
    [
        ([1.0] * 5, 0.478, 1.0),
        ([1.0] * 6, 0.541, 1.0),
        ([1.0] * 50, 0.929, 1.0),
        ([2 / 3] * 5, 0.319, 0.841),
        ([0.5], 0.0125, 0.9875),
        ([], 0.0, 1.0),
    ],
)
def test_few_tasks_that_score_the_same_have_a_width(scores, low, high):
    assert ends(scores) == pytest.approx((low, high), abs=5e-4)


@pytest.mark.parametrize(("tasks", "high"), [(5, 0.044), (6, -0.081)])
def test_a_difference_at_every_task_excludes_none_where_the_test_does(tasks, high):
    assert ends([-1.0] * tasks, bounds=(-1.0, 1.0)) == pytest.approx((-1.0, high), abs=5e-4)


def binomial(counts: range, total: int, chance: float) -> float:
    logs = [lgamma(total + 1) - lgamma(n + 1) - lgamma(total - n + 1) for n in counts]
    win, lose = log(chance), log1p(-chance)
    return sum(exp(a + n * win + (total - n) * lose) for n, a in zip(counts, logs, strict=True))


@pytest.mark.parametrize("total", [1, 2, 3, 7, 20, 278, 5000])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.9998])
def test_tasks_that_pass_or_fail_have_the_interval_of_clopper_and_pearson(total, level):
    # At its ends, so few or so many tasks pass with the chance of a tail.
    tail = (1 - level) / 2
    for passed in {0, 1, total // 3, total - 1, total}:
        low, high = ends([1.0] * passed + [0.0] * (total - passed), level)
        many = binomial(range(passed, total + 1), total, low) if passed else tail
        few = binomial(range(passed + 1), total, high) if passed < total else tail
        assert (many, few) == pytest.approx((tail, tail), rel=1e-5)
        assert (low == 0.0) is (passed == 0) and (high == 1.0) is (passed == total)


SCORES = st.lists(st.sampled_from([0.0, 0.001, 0.25, 1 / 3, 0.5, 0.75, 1.0]) | st.floats(0, 1))


@given(SCORES, st.data(), st.sampled_from([0.5, 0.9, 0.95, 0.999]))
@settings(max_examples=60, deadline=None)
def test_the_interval_holds_the_mean_turns_with_its_scores_rises_and_nests(scores, data, level):
    low, high = ends(scores, level)
    assert 0 <= low <= high <= 1
    if not scores:
        return
    assert low <= fmean(scores) + 1e-9 and high >= fmean(scores) - 1e-9
    mirrored = ends([1 - score for score in scores], level)
    assert (1 - mirrored[1], 1 - mirrored[0]) == pytest.approx((low, high), abs=1e-8)
    place = data.draw(st.integers(0, len(scores) - 1))
    better = [*scores[:place], data.draw(st.floats(scores[place], 1)), *scores[place + 1 :]]
    assert all(b >= a - 1e-8 for a, b in zip((low, high), ends(better, level), strict=True))
    wider = ends(scores, (1 + level) / 2)
    assert wider[0] <= low + 1e-9 and wider[1] >= high - 1e-9


def test_it_is_the_quantile_of_a_mean_with_random_weights_and_one_imagined_task():
    scores, numbers = [0.0, 0.2, 0.5, 0.5, 0.9], random.Random(5)

    def draw():
        *weights, imagined = (numbers.expovariate(1.0) for _ in range(6))
        return sum(map(mul, weights, scores)) / (sum(weights) + imagined)

    low = ends(scores, 0.9)[0]
    assert fmean(draw() <= low for _ in range(40_000)) == pytest.approx(0.05, abs=0.005)


def test_many_tasks_far_from_the_bounds_have_students_interval():
    scores = [0.4, 0.5, 0.6, 0.5] * 250
    half = two_sided_t(0.95, 999) * stdev(scores) / 1000**0.5

    assert ends(scores) == pytest.approx((0.5 - half, 0.5 + half), abs=1e-3)


def test_tasks_may_be_counted_in_parts():
    whole, part = weighted_interval({1.0: 3, 0.5: 1}), weighted_interval({1.0: 4.5, 0.5: 1.5})

    assert mean_interval([1.0, 0.5, 1.0, 1.0]) == whole
    assert whole.low < part.low < mean_interval([1.0, 0.5, 1.0, 1.0] * 2).low


def test_the_page_claims_no_more_of_the_intervals_than_its_table_shows():
    part = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    claims, table = part.strip().split("\n\n")
    stated = dict(re.findall(r"`(\w+)` ([\d.]+) %", claims))

    assert list(stated) == list(Coverage._fields)
    heads, _, *rows = [line.strip("| ").split(" | ") for line in table.splitlines()]
    assert heads[1:] == [f"{tasks} tasks" for tasks in TASKS]
    for (kind, claim), (name, *cells) in zip(stated.items(), rows, strict=True):
        assert name == f"`{kind}`"
        least = min(int(cell.partition("-")[0]) for cell in cells)
        assert least == pytest.approx(float(claim), abs=0.51)


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
    with pytest.raises(ConfigurationError, match="degrees"):
        two_sided_t(0.95, 0)


def test_they_agree_with_scipy():
    stats = pytest.importorskip("scipy.stats")
    for degrees in (1, 2, 3, 9, 49, 277, 2284):
        for level in (0.5, 0.8, 0.9, 0.95, 0.999):
            expected = stats.t.ppf((1 + level) / 2, degrees)
            assert two_sided_t(level, degrees) == pytest.approx(expected, rel=1e-8)


def test_beta_quantiles_agree_with_scipy():
    stats = pytest.importorskip("scipy.stats")
    for a, b, share in product((0.5, 1, 3.3, 40, 600), (0.5, 1, 7, 350), (0.001, 0.3, 0.95)):
        found = weighted_quantile([(1.0, a), (0.0, b)], share)
        assert found == pytest.approx(stats.beta.ppf(share, a, b), rel=1e-5)


@pytest.mark.parametrize(
    ("found", "total", "low", "high"),
    [  # the closed forms at the ends, and values of Clopper and Pearson's tables
        (0, 60, 0.0, 1 - 0.025 ** (1 / 60)),
        (60, 60, 0.025 ** (1 / 60), 1.0),
        (7, 20, 0.1539092, 0.5921885),
        (0, 0, 0.0, 1.0),
    ],
)
def test_shares_have_the_exact_limits_of_the_tables(found, total, low, high):
    span = weighted_interval({1.0: found, 0.0: total - found})
    assert (span.low, span.high) == pytest.approx((low, high), abs=1e-7)
