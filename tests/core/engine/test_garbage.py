"""Garbage is looked for less often during a run, and as before after it."""

import gc

import pytest

from maseval.core.engine.garbage import seldom_collected


@pytest.fixture(autouse=True)
def thresholds_are_put_back():
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_it_is_rarer_inside_and_as_before_outside():
    with seldom_collected():
        assert gc.get_threshold()[0] >= 10_000

    assert gc.get_threshold() == (700, 10, 10)


def test_of_runs_that_overlap_the_last_one_puts_it_back():
    first, second = seldom_collected(), seldom_collected()
    first.__enter__()
    second.__enter__()

    first.__exit__(None, None, None)
    assert gc.get_threshold()[0] >= 10_000
    second.__exit__(None, None, None)
    assert gc.get_threshold() == (700, 10, 10)


def test_it_is_put_back_after_an_error():
    with pytest.raises(LookupError), seldom_collected():
        raise LookupError

    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("chosen", [(0, 0, 0), (1_000_000, 100, 100)])
def test_whoever_wants_it_rarer_still_is_left_alone(chosen):
    gc.set_threshold(*chosen)

    with seldom_collected():
        assert gc.get_threshold() == chosen
    assert gc.get_threshold() == chosen
