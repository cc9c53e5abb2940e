"""Two judges who answer yes or no."""

import pytest

from maseval.stats.agreement import agreement


def pairs(both_yes, first_only, second_only, both_no):
    return (
        [(True, True)] * both_yes
        + [(True, False)] * first_only
        + [(False, True)] * second_only
        + [(False, False)] * both_no
    )


def test_kappa_of_a_table_worked_out_by_hand():
    found = agreement(pairs(20, 5, 10, 15))

    assert found.share == pytest.approx(0.7)
    assert found.kappa == pytest.approx(0.4)  # by chance 0.5: (0.7 - 0.5) / (1 - 0.5)


def test_judges_who_contradict_each_other_have_kappa_minus_1():
    assert agreement(pairs(0, 5, 5, 0)).kappa == pytest.approx(-1.0)


def test_where_both_always_say_yes_kappa_says_nothing():
    found = agreement(pairs(7, 0, 0, 0))

    assert (found.share, found.kappa) == (1.0, None)


def test_without_answers_there_is_no_agreement():
    assert (agreement([]).share, agreement([]).kappa) == (None, None)
