"""Whether two runs may be compared."""

import pytest

from maseval.stats.settings import (
    CONDITIONS,
    IncomparableRunsError,
    check_compatible,
    compatibility,
)

CONFIG = {
    "rules": "tau2-bench v0.2.0",
    "max_steps": 200,
    "data": {"airline": "f00", "retail": "b00"},
    "agent": {"model": "one"},
    "user": {"model": "u"},
    "tasks": {"airline": ["1"]},
    "trials": 4,
}


def test_equal_configurations_have_nothing_to_tell():
    found = compatibility(CONFIG, dict(CONFIG))

    assert (found.refused, found.other_data, found.cautions, found.differing) == ([], {}, [], [])


def test_what_is_compared_may_differ_and_is_listed():
    found = compatibility(CONFIG, {**CONFIG, "agent": {"model": "two"}, "tasks": {}, "trials": 1})

    assert found.differing == ["agent.model: 'one' and 'two'"]
    assert found.refused == []


@pytest.mark.parametrize("name", sorted(CONDITIONS))
def test_other_rules_are_refused_wherever_they_stand(name):
    assert compatibility({name: 1}, {name: 2}).refused == [f"{name}: 1 and 2"]
    nested = compatibility({"benchmark": {"tau2": {name: 1}}}, {"benchmark": {"tau2": {name: 2}}})
    assert nested.refused == [f"benchmark.tau2.{name}: 1 and 2"]


def test_a_rule_that_only_one_run_recorded_is_a_caution():
    found = compatibility(CONFIG, {key: CONFIG[key] for key in CONFIG if key != "max_steps"})

    assert found.cautions == ["max_steps: 200 and not recorded"]
    assert found.refused == []


def test_other_data_concern_the_domain_that_both_have():
    found = compatibility(CONFIG, {**CONFIG, "data": {"airline": "abc", "telecom": "d00"}})

    assert list(found.other_data) == ["airline"]


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        ("one", "differs ('u' and 'v'), the agent does not: the difference is not the agent's"),
        ("two", "differs too ('u' and 'v'): the difference is not the agent's alone"),
    ],
)
def test_another_user_is_a_caution(agent, words):
    other = {**CONFIG, "agent": {"model": agent}, "user": {"model": "v"}}

    assert compatibility(CONFIG, other).cautions == [f"the user model {words}"]


def test_the_refusal_names_runs_reasons_and_the_way_out():
    with pytest.raises(IncomparableRunsError, match=r"old and new .* again") as caught:
        check_compatible(CONFIG, {**CONFIG, "max_steps": 30}, names=("old", "new"))

    assert caught.value.details["reasons"] == ["max_steps: 200 and 30"]
    assert isinstance(caught.value, ValueError)
