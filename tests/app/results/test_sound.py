"""Numbers beside the official one: without user faults, and over sound tasks."""

import pytest

from maseval.app.results.sound import (
    SoundCheck,
    check_by_labels,
    notes_beside,
    rows_beside,
    scores_beside,
    scores_in_json,
)
from maseval.core.outcome import Outcome
from maseval.runs import Simulation
from maseval.stats import summarise


def outcomes(**tasks):
    """The trials of each task: ``+`` passed, ``-`` failed, ``?`` without a verdict."""
    verdicts = {"+": True, "-": False, "?": None}
    return [
        Outcome("shop", task, trial, verdicts[mark], reason="missing" if mark == "?" else None)
        for task, marks in tasks.items()
        for trial, mark in enumerate(marks)
    ]


def one(task, trial):
    return Simulation("shop", task, trial)


def test_the_official_number_comes_first_and_is_the_one_of_the_run():
    lines = outcomes(a="+-", b="++")
    official, faults, sound = scores_beside(lines, user_faults=set(), checks={})

    overall = summarise(lines).overall
    assert official.counted == "official"
    for k in (1, 2):
        assert official.pass_hat[k] == overall.estimate("pass^k", k)
    for each in (faults, sound):
        assert each.same and each.pass_hat[1].value == official.pass_hat[1].value
        assert each.pass_hat[1].interval == official.pass_hat[1].interval


def test_a_number_is_there_only_if_somebody_can_tell():
    lines = outcomes(a="+-")

    assert [each.counted for each in scores_beside(lines)] == ["official"]
    assert rows_beside(scores_beside(lines)) == [] == notes_beside(scores_beside(lines))
    assert scores_beside([]) == [] == rows_beside([]) == notes_beside([])


def test_failures_of_the_user_are_left_out_and_no_pass_is():
    _, found = scores_beside(
        outcomes(a="+--", b="++-", c="-"), user_faults={one("a", 1), one("c", 0)}
    )

    assert found.effect == "2 simulations left out"
    assert (found.tasks, found.left_out_tasks, found.simulations) == (2, 1, 5)
    assert found.pass_hat[1].value == pytest.approx((1 / 2 + 2 / 3) / 2)


def test_a_task_with_too_few_trials_left_has_no_say_in_pass_k():
    _, found = scores_beside(outcomes(a="+-", b="++"), user_faults={one("a", 1)})

    assert found.pass_hat[2].value == 1.0


def test_unsound_tasks_are_left_out_with_their_passes():
    checks = {one("a", 1): SoundCheck(left_out=True, reason="gold impossible")}
    _, found = scores_beside(outcomes(a="++", b="+-"), checks=checks)

    assert found.effect == "1 task left out, 0 verdicts differ"
    assert found.pass_hat[1].value == 0.5 and found.left_out == 2


def test_sound_verdicts_take_the_place_of_official_ones():
    checks = {
        one("a", 0): SoundCheck(passed=False, differs=True),
        one("b", 1): SoundCheck(passed=True, differs=True),
        one("b", 2): SoundCheck(passed=True, differs=True),
    }
    _, found = scores_beside(outcomes(a="+-", b="--?"), checks=checks)

    assert found.effect == "0 tasks left out, 2 verdicts differ"
    assert found.pass_hat[1].value == 0.25


def test_each_domain_has_its_numbers_and_rows_are_over_all():
    lines = [*outcomes(a="+-"), Outcome("air", "a", 0, True), Outcome("air", "b", 0, False)]
    found = scores_beside(lines, user_faults={Simulation("air", "b", 0)})

    assert [(each.domain, each.left_out) for each in found if each.counted != "official"] == [
        *(("shop", 0), ("air", 1), ("all", 1))
    ]
    (row,) = rows_beside(found)
    assert (row["name"], row["tasks"], row["simulations"]) == ("without user faults", 2, 3)
    assert row["pass^1"]["value"] == 0.75 and row["pass^1"]["low"] < 0.75
    (note,) = notes_beside(found)
    assert note.startswith("Without user faults: 1 simulation left out.")


def test_nothing_but_the_official_number_has_the_official_name_in_json():
    found = scores_beside(outcomes(a="+-", b="++"), user_faults={one("a", 1)}, checks={})

    form = scores_in_json(found)
    assert set(form) == {"without_user_faults", "sound"}
    for key, (numbers,) in form.items():
        assert f"{key}_pass^1" in numbers
        assert not [name for name in numbers if name.startswith("pass")]


@pytest.mark.parametrize(
    "check",
    [
        SoundCheck(left_out=True),
        SoundCheck(passed=True, differs=True),
        SoundCheck(passed=False, differs=True),
    ],
)
def test_a_verdict_is_read_back_from_its_label(check):
    assert check_by_labels(["policy: kept", check.name]) == check
    assert SoundCheck(passed=True).name is None
