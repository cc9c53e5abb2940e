from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Simulation
from maseval.core.storage.redaction import redact
from maseval.runs.config import RunConfig, task_ids
from tests.runs.worlds import config, report, tasks


def run_config(*ids: str, **settings: Any) -> RunConfig:
    return RunConfig.of(config(*ids, **settings))


def test_equal_configurations_have_equal_hashes_whatever_the_order_of_their_keys():
    one = RunConfig.of({"tasks": {"x": ["1"]}, "trials": 2, "args": {"a": 1, "b": 2}})
    two = RunConfig.of({"args": {"b": 2, "a": 1}, "trials": 2, "tasks": {"x": ("1",)}})

    assert one.sha256 == two.sha256
    assert one.sha256 != run_config("1", trials=2).sha256


def test_the_plan_is_every_trial_of_every_task():
    plan = RunConfig.of({"tasks": {"air": ["2", "1"], "rail": ["1"]}, "trials": 2}).planned

    assert list(plan) == [
        *(Simulation("air", "2", 0), Simulation("air", "2", 1)),
        *(Simulation("air", "1", 0), Simulation("air", "1", 1)),
        *(Simulation("rail", "1", 0), Simulation("rail", "1", 1)),
    ]


def test_a_simulation_is_named_alike_by_its_task_and_its_report():
    [task] = tasks("[a|b]", domain="rail")

    assert Simulation.of_task(task, 3) == Simulation.of(report("[a|b]", 3, domain="rail"))
    assert task_ids([task]) == {"rail": ["[a|b]"]}


@pytest.mark.parametrize(
    ("change", "extends"),
    [
        ({}, True),
        ({"trials": 3}, True),
        ({"trials": 1}, False),
        ({"tasks": {"": ["a", "b", "c"]}}, True),
        ({"tasks": {"": ["b", "a"]}}, True),
        ({"tasks": {"": ["a", "b"], "rail": ["1"]}}, True),
        ({"tasks": {"": ["a"]}}, False),
        ({"tasks": {"": ["a"]}, "trials": 3}, False),
        ({"model": "n"}, False),
        ({"extra": None}, False),
        ({"data": {"air": "1", "rail": "2"}}, True),
        ({"data": {"air": "other"}}, False),
    ],
)
def test_only_more_tasks_and_more_trials_extend_a_run(change, extends):
    old = config("a", "b", trials=2, model="m", data={"air": "1"})

    assert RunConfig.of({**old, **change}).extends(RunConfig.of(old)) is extends


def test_differences_are_listed_key_by_key():
    old = run_config("a", "b", args={"temperature": 0, "stop": ["x"]}, model="m")
    new = run_config("b", "c", trials=4, args={"temperature": 0.5}, model="m", mode="solo")

    assert old.differences(new) == [
        'args.stop: ["x"] -> (not set)',
        "args.temperature: 0 -> 0.5",
        'mode: (not set) -> "solo"',
        'tasks.: 2 -> 2, without ["a"], with ["c"]',
        "trials: 1 -> 4",
    ]


def test_long_values_are_cut_in_the_list_of_differences():
    [difference] = run_config("a", prompt="x" * 500).differences(run_config("a", prompt="y" * 500))

    assert len(difference) < 300


def test_secrets_are_gone_before_the_hash_is_made():
    one, two = (
        RunConfig.of(config("a", args={"api_key": key}), redact) for key in ("key-one", "key-two")
    )

    assert one.values["args"] == {"api_key": "<redacted>"}
    assert one.sha256 == two.sha256


def test_a_domain_that_sounds_like_a_secret_keeps_its_tasks():
    plan = RunConfig.of({"tasks": {"auth": ["1"]}, "data": {"auth": "f00"}, "trials": 1})

    assert plan.values["data"] == {"auth": "f00"}
    assert list(plan.planned) == [Simulation("auth", "1", 0)]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"tasks": ["a"]}, "task_ids"),
        ({"tasks": {"": [1]}}, "task_ids"),
        ({"tasks": {"": ["a", "a"]}}, "task_ids"),
        ({"trials": 0}, "at least 1"),
        ({"trials": True}, "at least 1"),
        ({"seed": object()}, "JSON"),
        ({"seed": float("nan")}, "JSON"),
    ],
)
def test_a_configuration_that_cannot_be_kept_is_refused(wrong, message):
    with pytest.raises(ConfigurationError, match=message):
        RunConfig.of({**config("a"), **wrong})


settings = st.dictionaries(
    st.sampled_from(["model", "mode", "args"]),
    st.one_of(st.none(), st.integers(), st.dictionaries(st.sampled_from("ab"), st.integers())),
)


@given(settings, settings)
def test_there_are_differences_exactly_where_hashes_differ(one, two):
    old, new = run_config("a", **one), run_config("a", **two)

    assert bool(old.differences(new)) == (old.sha256 != new.sha256) == (not new.extends(old))


@pytest.mark.parametrize("note", ["command", "prices"])
def test_how_a_run_was_started_and_its_prices_are_no_settings(note):
    one, other = run_config("1", **{note: "this"}), run_config("1", **{note: "that"})

    assert other.extends(one) and one.differences(other) == []
    assert note in one.values and note not in one.without_notes()


def test_defaults_of_a_class_must_agree_where_both_runs_note_them():
    red, blue = (run_config("1", defaults={"colour": each}) for each in ("red", "blue"))
    earlier = run_config("1")

    assert red.same_settings(earlier) and earlier.same_settings(red)
    assert red.extends(earlier)
    assert not red.same_settings(blue)
    assert red.differences(blue) == ['defaults.colour: "red" -> "blue"']
