"""The joint sign-flip test, held against an enumeration of every sign assignment."""

from fractions import Fraction
from itertools import accumulate, product

import pytest

from maseval.stats.boundaries import spent_alpha
from maseval.stats.sign_flip import JointFlips, sign_flip_test


def enumerate_flips(rounds, boundaries):
    """Return, for each look, the assignments that cross upwards there first, and the surpluses."""
    crossed, going_on = [0] * len(rounds), []
    ends = list(accumulate(rounds))
    for signs in product((1, -1), repeat=ends[-1]):
        totals = [sum(signs[:end]) for end in ends]
        for look, (total, boundary) in enumerate(zip(totals, boundaries, strict=True)):
            if boundary is not None and abs(total) >= boundary:
                crossed[look] += total > 0
                break
        if all(
            boundary is None or abs(total) < boundary
            for total, boundary in zip(totals[:-1], boundaries[:-1], strict=True)
        ):
            going_on.append(totals[-1])
    return crossed, going_on


@pytest.mark.parametrize("rounds", [(5, 4, 6), (7, 0, 8), (0, 9, 4), (15,)])
def test_the_chance_to_cross_is_a_count_of_assignments(rounds):
    shares = [(look + 1) / len(rounds) for look in range(len(rounds))]
    flips = JointFlips(rounds, shares, 0.1)
    boundaries = [look.boundary for look in flips.looks]
    crossed, going_on = enumerate_flips(rounds, boundaries)
    whole = 2 ** sum(rounds)

    assert [look.reached for look in flips.looks] == [
        Fraction(each, whole) for each in accumulate(crossed)
    ]
    for share, look in zip(shares, flips.looks, strict=True):
        assert look.reached <= spent_alpha(share, 0.1)
    # A boundary one step lower would spend too much.
    lower = (boundaries[-1] or sum(rounds) + 2) - 2
    more = Fraction(sum(total >= lower for total in going_on), whole)
    assert flips.looks[-1].crossed + more > 0.1
    for surplus in range(sum(rounds) % 2, sum(rounds) + 1, 2):
        beyond = Fraction(sum(total >= surplus for total in going_on), whole)
        expected = min(1, 2 * (flips.looks[-1].crossed + beyond))
        assert flips.p_value(surplus) == flips.p_value(-surplus) == pytest.approx(float(expected))


def test_one_look_is_the_test_of_a_finished_comparison():
    flips = JointFlips([13], [1.0], 0.025)

    signs = [Fraction(1)] * 11 + [Fraction(-1)] * 2
    assert flips.p_value(9) == pytest.approx(sign_flip_test(signs).p_value)


def test_few_pairs_decide_nothing():
    (look,) = JointFlips([4], [1.0], 0.025).looks

    assert look.boundary is None
    assert look.reached == 0
