"""The rule that stands in for a judge: values in what was said, else the end state."""

import pytest

from maseval.benchmark.tau2.scoring.rule import decide_by_rule, stands_in


@pytest.mark.parametrize(
    ("value", "text", "found"),
    [
        ("8276.23", "In all $8,276.23 will be refunded.", True),
        ("180.1", "It costs $180.10.", True),
        ("481.50", "The camera is 481.5 dollars", True),
        ("10", "There are 10, in all colours.", True),
        ("10", "Order #W10 of 2010 cost $10.50 or 110", False),
        ("10", "That is 100.", False),
        ("20 hours", "up to 20  Hours of music", True),
        ("64GB", "with 64 GB of memory", True),
        ("64GB", "with 164GB of memory", False),
        ("full", "a full-size keyboard", True),
        ("white", "whitewashed", False),
        ("943 Maple Drive", "943 maple drive, Suite 356", True),
    ],
)
def test_a_value_stands_in_a_text_as_a_whole(value, text, found):
    assert stands_in(value, text) is found


def met(
    assertions: list[str], info: list[str], said: list[str], ended: bool | None = None
) -> list[bool] | None:
    found = decide_by_rule(assertions, info, said, ended)
    return None if found is None else [check["met"] for check in found]


def test_each_assertion_is_held_against_its_own_values():
    both = ["It costs $54.04.", "It saves $41.64."]

    assert met(both, ["54.04", "41.64"], ["You get 54.04 back.", "And 41.64 is saved."]) == [1, 1]
    assert met(both, ["54.04", "41.64"], ["You get 54.04 back."]) == [True, False]
    assert met(both, ["54.04", "41.64"], []) == [False, False]


def test_without_values_the_end_state_decides_and_without_either_nobody():
    assert met(["Exchange both."], [], ["Done."], ended=True) == [True]
    assert met(["Exchange both."], [], ["Done."], ended=False) == [False]
    assert met(["Be polite."], [], ["Done."]) is None
    assert met(["Be polite."], ["10"], ["10"], ended=True) is None
