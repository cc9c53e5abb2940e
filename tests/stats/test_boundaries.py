"""How far is far enough at each of several looks."""

import math
from statistics import NormalDist

import pytest

from maseval.stats.boundaries import Band, exits, normal_boundaries, spent_alpha

QUARTERS = (0.25, 0.5, 0.75, 1.0)


def test_the_boundaries_are_those_of_the_tables():
    """The values of the program of Reboussin, DeMets, Kim & Lan (2000), as gsDesign prints them."""
    found = normal_boundaries(QUARTERS, 0.025)

    assert found == pytest.approx((4.3326, 2.9631, 2.3590, 2.0141), abs=1e-4)
    assert normal_boundaries((1.0,), 0.025) == pytest.approx([1.959964], abs=1e-5)


def test_everything_is_spent_at_the_end_and_never_taken_back():
    spent = [spent_alpha(each / 20, 0.025) for each in range(1, 21)]

    assert spent == sorted(spent)
    assert spent[-1] == 0.025


@pytest.mark.parametrize("effect", [0.0, 0.2])
def test_the_chances_to_leave_are_those_of_the_normal_law(effect):
    (nobody,), at_end = exits([Band(25.0, -math.inf, math.inf)], effect)
    estimate = NormalDist(effect, 1 / 10)
    below, above = at_end(Band(100.0, -0.1, 0.15))
    assert sum(nobody) == pytest.approx(0)
    assert below == pytest.approx(estimate.cdf(-0.1), abs=1e-6)
    assert above == pytest.approx(1 - estimate.cdf(0.15), abs=1e-6)

    before, at_end = exits([Band(25.0, -0.5, 0.5), Band(50.0, -0.2, math.inf)], effect)
    everybody = [*before, at_end(Band(100.0, 0.1, 0.1))]
    assert sum(map(sum, everybody)) == pytest.approx(1)
    first = NormalDist(effect, 1 / 5)
    assert before[0] == pytest.approx((first.cdf(-0.5), 1 - first.cdf(0.5)))
