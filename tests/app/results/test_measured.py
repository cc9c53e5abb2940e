"""Numbers beside the official one: without breaches found, and over sound tasks."""

from dataclasses import replace

from maseval.app.results.measured import (
    IF_UNDECIDED,
    SOUND,
    WITHOUT_BREACHES,
    beside_official,
    describe_beside,
    measure_notes,
    measure_rows,
    measured_scores,
)
from maseval.core.finding import LEFT_OUT, SOUND_FAIL, SOUND_PASS, Finding
from maseval.core.outcome import Outcome
from maseval.runs import Simulation
from maseval.stats import summarise

BREACHES = [WITHOUT_BREACHES, IF_UNDECIDED]


def outcomes(**tasks: str) -> list[Outcome]:
    """The trials of each task: ``+`` passed, ``-`` failed, ``?`` without a verdict."""
    verdicts = {"+": True, "-": False, "?": None}
    return [
        Outcome("shop", task, trial, verdicts[mark], reason="missing" if mark == "?" else None)
        for task, marks in tasks.items()
        for trial, mark in enumerate(marks)
    ]


def one(task: str, trial: int) -> Simulation:
    return Simulation("shop", task, trial)


def erratum(kind: str) -> list[Finding]:
    return [Finding("erratum", "task", kind, "rule", "why", "proven")]


def policy(grade: str = "proven", weight: str = "state") -> Finding:
    return Finding("policy", "agent", "broke the policy", "rule", "why", grade, weight=weight)


def test_the_official_number_comes_first_and_is_the_one_of_the_run():
    lines = outcomes(a="+-", b="++")
    official, *others = measured_scores(lines, {}, [*BREACHES, SOUND])

    overall = summarise(lines).overall
    assert official.is_official
    for k in (1, 2):
        assert official.pass_hat[k] == overall.estimate(k)
    assert [each.counted for each in others] == [each.name for each in (*BREACHES, SOUND)]
    assert all(each.same and each.pass_hat == official.pass_hat for each in others)
    assert measure_rows([official, *others]) == []


def test_without_variants_the_official_number_stands_alone():
    for lines in (outcomes(a="+-"), []):
        found = measured_scores(lines, {}, [])
        assert [each.counted for each in found] == ["official"] * bool(lines)
        assert measure_rows(found) == [] == measure_notes(found)


def test_numbers_that_change_nothing_share_a_line():
    lines = outcomes(a="+-", b="++")

    def told(findings):
        return describe_beside(
            beside_official(measured_scores(lines, findings, [*BREACHES, SOUND]))
        )

    assert told({}) == ["without breaches found, over sound tasks: no verdict differs"]
    assert told({one("a", 0): [policy()]}) == [
        "without breaches found: 1 verdict differs",
        "over sound tasks: no verdict differs",
    ]


def test_only_a_decided_breach_of_state_makes_a_pass_not_count():
    findings = {
        one("a", 0): [policy()],
        one("b", 0): [policy("undecided")],
        one("c", 0): [policy(weight="manner"), policy(weight="remark")],
        one("d", 0): [policy()],
    }
    official, found, worst = measured_scores(
        outcomes(a="+", b="+", c="+", d="-", e="+"), findings, BREACHES
    )

    assert (official.pass_hat[1].value, found.pass_hat[1].value) == (0.8, 0.6)
    assert (found.differing, found.left_out) == (1, 0)
    assert (worst.pass_hat[1].value, worst.differing) == (0.4, 2)
    assert beside_official([official, found, worst]) == [found, worst]


def test_where_nothing_is_undecided_there_is_one_number_without_breaches():
    found = measured_scores(outcomes(a="+-"), {one("a", 0): [policy()]}, BREACHES)

    assert [each.counted for each in beside_official(found)] == [WITHOUT_BREACHES.name]


def test_unsound_tasks_are_left_out_with_their_passes():
    _, found = measured_scores(outcomes(a="++", b="+-"), {one("a", 1): erratum(LEFT_OUT)}, [SOUND])

    assert found.effect == "1 task left out, 0 verdicts differ"
    assert (found.tasks, found.left_out, found.simulations) == (1, 2, 2)
    assert found.pass_hat[1].value == 0.5


def test_sound_verdicts_take_the_place_of_official_ones():
    findings = {
        one("a", 0): erratum(SOUND_FAIL),
        one("b", 1): erratum(SOUND_PASS),
        one("b", 2): erratum(SOUND_PASS),  # which has no official verdict
    }
    _, found = measured_scores(outcomes(a="+-", b="--?"), findings, [SOUND])

    assert found.effect == "2 verdicts differ"
    assert found.pass_hat[1].value == 0.25


def test_only_planned_trials_count_and_a_planned_one_that_is_missing_does_not():
    lines, planned = outcomes(a="+-", b="++", c="--"), [one("a", 0), one("b", 0), one("b", 9)]

    official, found = measured_scores(lines, {one("c", 0): [policy()]}, [WITHOUT_BREACHES], planned)

    assert (official.tasks, official.simulations) == (found.tasks, found.simulations) == (2, 2)
    assert official.pass_hat[1].value == 1.0
    assert official.pass_hat[1].bounds == (0.75, 1.0)


def test_a_task_with_too_few_trials_that_count_has_no_say_in_a_larger_k():
    findings = {one("a", 0): erratum(LEFT_OUT)}
    halves = replace(SOUND, whole_tasks=False)

    _, found = measured_scores(outcomes(a="+-", b="++"), findings, [halves])

    assert (found.left_out, found.left_out_tasks) == (1, 0)
    assert found.pass_hat[1].value == 0.5
    assert found.pass_hat[2].value == 1.0


def test_each_domain_has_its_numbers_and_rows_are_over_all():
    lines = [*outcomes(a="+-"), Outcome("air", "a", 0, True), Outcome("air", "b", 0, False)]
    found = measured_scores(lines, {Simulation("air", "b", 0): erratum(LEFT_OUT)}, [SOUND])

    assert [(each.domain, each.left_out) for each in found if not each.is_official] == [
        *(("shop", 0), ("air", 1), ("all", 1))
    ]
    (row,) = measure_rows(found)
    assert (row["name"], row["tasks"], row["simulations"]) == ("over sound tasks", 2, 3)
    assert row["pass^1"]["value"] == 0.75 and row["pass^1"]["low"] < 0.75
    (note,) = measure_notes(found)
    assert note.startswith("Over sound tasks: 1 task left out, 0 verdicts differ.")
