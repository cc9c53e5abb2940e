"""Shares that a judge counted, corrected by labels."""

import math
import random
from itertools import product

import pytest

from benchmarks.corrected import Cell, draw_run
from maseval.core.exceptions import ConfigurationError
from maseval.stats import Stratum, agreement, corrected_share, forecast_labels, share_labels
from maseval.stats.corrected import hypergeometric_limits


def tasks_of(*strata: Stratum, trials: int = 1) -> list[list[int]]:
    numbers = iter(range(10**6))
    return [[next(numbers) // trials for _ in range(each.total)] for each in strata]


# The point estimates of judgy 0.1 and of truescore's Rogan-Gladen, run on the same labels; there
# labels are a sample of the whole run, so that they make up the same part of either stratum.
@pytest.mark.parametrize(
    ("flagged", "others", "theirs"),
    [
        ((60, 15, 12), (140, 35, 4), 0.32),
        ((20, 10, 9), (180, 90, 3), 0.12),
        ((100, 30, 21), (200, 60, 9), 1 / 3),
    ],
)
def test_point_estimate_equals_that_of_other_libraries(flagged, others, theirs):
    strata = Stratum(*flagged), Stratum(*others)
    found = corrected_share(strata, tasks_of(*strata))
    assert found.share == pytest.approx(theirs)
    assert found.share in found.here


def test_when_all_is_labelled_the_share_is_known_here_and_not_elsewhere():
    strata = Stratum(10, 10, 8), Stratum(30, 30, 1)
    found = corrected_share(strata, tasks_of(*strata))
    assert (found.here.low, found.share, found.here.high) == (9 / 40, 9 / 40, 9 / 40)
    assert found.like_these.low < 9 / 40 < found.like_these.high


def test_without_a_label_in_a_stratum_there_is_no_number():
    strata = Stratum(10), Stratum(30, 30, 1)
    assert corrected_share(strata, tasks_of(*strata)) is None
    unsure = Stratum(10, 3, 0, 3), Stratum(30, 30, 1)
    assert corrected_share(unsure, tasks_of(*unsure)) is None
    empty = Stratum(0), Stratum(30, 30, 1)
    assert corrected_share(empty, tasks_of(*empty)).share == 1 / 30


def test_unsure_labels_widen_the_interval_on_both_sides():
    sure, unsure = Stratum(40, 20, 5), Stratum(40, 20, 5, 4)
    rest = Stratum(60, 20, 1)
    exact = corrected_share((sure, rest), tasks_of(sure, rest)).here
    wide = corrected_share((unsure, rest), tasks_of(unsure, rest)).here
    assert wide.low <= exact.low
    assert wide.high > exact.high


def test_the_limits_of_strata_are_joined_by_the_distances_of_their_ends():
    strata = Stratum(40, 20, 10), Stratum(60, 20, 1)
    found = corrected_share(strata, tasks_of(*strata))
    share = (40 * 10 / 20 + 60 * 1 / 20) / 100
    limits = [hypergeometric_limits(*each, 0.95) for each in ((40, 20, 10), (60, 20, 1))]
    below = math.hypot(20 - limits[0][0], 3 - limits[1][0]) / 100
    above = math.hypot(limits[0][1] - 20, limits[1][1] - 3) / 100

    assert found.share == pytest.approx(share)
    assert (found.here.low, found.here.high) == pytest.approx((share - below, share + above))


def test_for_tasks_like_these_the_share_has_wilsons_limits_over_tasks():
    """All is labelled, so that only tasks differ: two of five have all of the faults."""
    found = corrected_share(
        [Stratum(8, 8, 8), Stratum(12, 12, 0)], [[1] * 4 + [2] * 4, [3] * 4 + [4] * 4 + [5] * 4]
    )
    variance = (2 * (4 - 1.6) ** 2 + 3 * 1.6**2) * 5 / 4 / 20**2
    size = 0.4 * 0.6 / variance
    t = 2.776445
    middle = (0.4 + t * t / (2 * size)) / (1 + t * t / size)
    half = t / (1 + t * t / size) * math.sqrt(0.4 * 0.6 / size + (t / size) ** 2 / 4)

    assert (found.like_these.low, found.like_these.high) == pytest.approx(
        (middle - half, middle + half), abs=1e-6
    )


def test_one_trial_of_each_task_is_as_many_independent_ones():
    """Half of 4 tasks, all labelled: Wilson's limits with Student's 3.182 for 3 degrees."""
    found = corrected_share([Stratum(4, 4, 2)], [["a", "b", "c", "d"]])
    t, size = 3.182446, 4

    half = t / (1 + t * t / size) * math.sqrt(1 / 4 / size + (t / size) ** 2 / 4)
    assert found.like_these.low == pytest.approx(1 / 2 - half, abs=1e-6)
    assert found.like_these.high == pytest.approx(1 / 2 + half, abs=1e-6)


def test_one_task_says_nothing_about_others():
    stratum = Stratum(8, 4, 2)
    assert corrected_share([stratum], [["only"] * 8]).like_these is None


def test_trials_of_a_task_are_taken_together():
    strata = Stratum(40, 20, 10), Stratum(40, 20, 1)
    apart = corrected_share(strata, tasks_of(*strata)).like_these
    together = corrected_share(strata, tasks_of(*strata, trials=4)).like_these
    assert together.half_width > apart.half_width * 1.2


@pytest.mark.parametrize("counts", [(3, 4, 0, 0), (3, 2, 3, 0), (3, 2, 1, 2), (3, 2, -1, 0)])
def test_impossible_counts_are_refused(counts):
    with pytest.raises(ConfigurationError, match="cannot be"):
        Stratum(*counts)


def test_the_task_of_every_conversation_is_needed():
    with pytest.raises(ConfigurationError, match="task of every"):
        corrected_share([Stratum(3, 1, 1)], [["one"]])


def chance(total: int, faulty: int, drawn: int, found: int) -> float:
    ways = math.comb(faulty, found) * math.comb(total - faulty, drawn - found)
    return ways / math.comb(total, drawn)


@pytest.mark.parametrize(("total", "drawn"), [(7, 3), (12, 5), (20, 10)])
def test_limits_hold_for_every_number_of_faults(total, drawn):
    for faulty in range(total + 1):
        held = sum(
            chance(total, faulty, drawn, found)
            for found in range(max(0, drawn - total + faulty), min(drawn, faulty) + 1)
            if faulty in range(*_inclusive(hypergeometric_limits(total, drawn, found, 0.9)))
        )
        assert held >= 0.9


def _inclusive(limits: tuple[int, int]) -> tuple[int, int]:
    return limits[0], limits[1] + 1


def test_limits_are_no_wider_than_the_definition_asks():
    total, drawn, found, tail = 30, 12, 4, 0.025
    low, high = hypergeometric_limits(total, drawn, found, 0.95)

    def at_least(faulty):
        return sum(chance(total, faulty, drawn, k) for k in range(found, drawn + 1))

    def at_most(faulty):
        return sum(chance(total, faulty, drawn, k) for k in range(found + 1))

    assert at_least(low) > tail >= at_least(low - 1)
    assert at_most(high) > tail >= at_most(high + 1)


@pytest.mark.parametrize(
    ("totals", "labels", "parts"),
    [
        ((50, 50), 20, [10, 10]),
        ((4, 50), 20, [4, 16]),
        ((4, 5), 20, [4, 5]),
        ((9, 0, 9), 5, [3, 0, 2]),
    ],
)
def test_labels_are_shared_evenly(totals, labels, parts):
    assert share_labels(totals, labels) == parts


def test_a_judge_that_errs_is_corrected_where_its_raw_share_is_far_off():
    rng = random.Random(5)
    cell = Cell(0.1, "60/10", 100, 114, 2, 0.3)
    raw = held = 0
    for _ in range(60):
        strata = draw_run(cell, rng)
        totals = [len(each) for each in strata]
        known = [
            Stratum(len(each), part, sum(broken for _, broken in rng.sample(each, part)))
            for each, part in zip(strata, share_labels(totals, 100), strict=True)
        ]
        found = corrected_share(known, [[task for task, _ in each] for each in strata])
        truth = sum(broken for each in strata for _, broken in each) / sum(totals)
        held += found.here.low <= truth <= found.here.high
        raw += totals[0] / sum(totals)
    assert held >= 54  # 57 are expected; fewer than 54 has a chance of 4 %, and the seed is fixed
    assert raw / 60 > 0.13  # the truth is .1


def test_a_forecast_says_when_labels_alone_are_better():
    good = forecast_labels((20, 180), (0.9, 0.01), 60)
    assert not good.alone_is_better
    assert good.with_judge < 0.75 * good.alone
    rare = forecast_labels((30, 170), (0.2, 0.01), 30)
    assert rare.alone_is_better


def test_agreement_beyond_chance():
    # Donner & Eliasziw's own way to compute it: 21 both yes, 5 apart, 74 both no.
    found = agreement([(True, True)] * 21 + [(True, False)] * 5 + [(False, False)] * 74)
    yes = 47 / 200
    assert found.kappa == pytest.approx(1 - 5 / (2 * 100 * yes * (1 - yes)))
    assert found.interval.low < found.kappa < found.interval.high
    assert (found.both, found.equal) == (100, 95)
    assert agreement([(True, True)] * 9).kappa is None
    assert agreement([]).kappa is None


def test_the_interval_of_agreement_holds():
    rng = random.Random(2)
    held = {}
    for kappa, number in product((0.2, 0.5, 0.8), (25, 60)):
        yes, inside = 0.3, 0
        for _ in range(300):
            pairs = []
            for _ in range(number):
                first = rng.random() < yes
                second = first if rng.random() < kappa else rng.random() < yes
                pairs.append((first, second))
            found = agreement(pairs)
            inside += found.interval is None or kappa in found.interval
        held[kappa, number] = inside / 300
    assert min(held.values()) > 0.91
