"""``maseval plan``: what a question costs, from runs and from stated rates."""

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from maseval.commands import plan, tau2
from maseval.core.exceptions import ConfigurationError
from maseval.runs import RunFolder
from tests.benchmark.tau2.app.doctored import (
    deleted_failures,
    doctored,
    foreign_task,
    relabelled_failures,
    unlisted_failures,
)
from tests.cli.commandline import maseval


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("plan")
    return {
        agent: tau2.run(domain="library", agent=agent, trials=2, output=folder / agent).folder
        for agent in ("noisy", "noop")
    }


def test_an_earlier_run_is_the_baseline(runs: dict[str, Path]) -> None:
    found = plan([runs["noisy"]], difference=0.1)

    assert (found.about.tasks, found.about.trials) == (12, 2)
    assert found.rows[1].simulations == 24
    assert found.about.seconds is not None and found.rows[0].seconds is not None


def test_a_pilot_that_stopped_by_itself_is_named(tmp_path: Path) -> None:
    settings = {"domain": "library", "agent": "noisy", "agent_args": {"error_rate": 0.3}}
    wide = tau2.run(**settings, until="±40", output=tmp_path / "wide").folder

    assert any(note.startswith(f"{wide}: Stopped early") for note in plan([wide]).notes)


def test_more_cells_of_a_level_take_fewer_trials_in_each(runs: dict[str, Path]) -> None:
    one, three = (
        plan([tau2_grid(runs["noop"].parent / str(len(seeds)), seeds)], between="system")
        for seeds in ((1,), (1, 2, 3))
    )

    assert [each.rows[0].simulations for each in (one, three)] == [24, 72]
    assert three.about.score is not None and three.about.score["value"] == three.about.rate
    assert three.about.tasks == 12 and three.rows[0].detectable < one.rows[0].detectable
    assert "noop and noisy are compared in 3 combinations of the other factors" in three.notes[0]
    stated = plan(tasks=12, rate=0.6, cells=3.0).rows[0]
    assert stated.simulations == 72
    assert stated.detectable == pytest.approx(plan(tasks=12, rate=0.6).rows[2].detectable)
    with pytest.raises(ConfigurationError, match="system has noisy, noop; name two of its levels"):
        plan([runs["noop"].parent / "3"], between="system=noisy,gold")


def test_levels_may_be_named_in_either_order(runs: dict[str, Path]) -> None:
    grid = tau2_grid(runs["noop"].parent / "order", (1, 2))

    one, other = (
        plan([grid], between=f"system={order}", difference=0.5)
        for order in ("noisy,noop", "noop,noisy")
    )

    assert one.to_dict() == other.to_dict()
    assert not any("no system can be that much better" in line for line in one.answers)


def tau2_grid(folder: Path, seeds: tuple[int, ...]) -> Path:
    for agent, seed in product(("noisy", "noop"), seeds):
        cell = {"system": agent, "seed": str(seed)}
        output = folder / f"{agent}-{seed}"
        tau2.run(domain="library", agent=agent, trials=2, seed=seed, cell=cell, output=output)
    return folder


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "--tasks 50 --rate 60"),
        ({"tasks": 50}, "nothing to plan from"),
        ({"runs": ["a", "b", "c"]}, "several runs are given"),
        ({"runs": ["a"], "rate": 0.5}, "leave them out"),
    ],
)
def test_what_cannot_be_planned_is_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        plan(**options)


def test_the_command_prints_a_table_and_the_answers() -> None:
    shown = maseval(
        "plan", "--tasks", "50", "--rate", "60", "--precision", "3", "--difference", "5"
    )

    assert shown.exit_code == 0
    assert "±3.0 points, on tasks like these: not reachable with 50 tasks" in shown.stdout
    assert "a difference of 5.0 points, on these tasks: 23 trials per task" in shown.stdout
    assert maseval("plan", "--tasks", "50").exit_code == 2


def test_no_number_is_cut_in_a_narrow_console(
    runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")

    shown = maseval("plan", str(runs["noisy"]), "--difference", "5").output

    table = shown.partition("a difference of")[0]
    assert "…" not in table and max(map(len, table.splitlines())) <= 60
    assert sum("$0.00" in line for line in table.splitlines()) == 8


HIDDEN = (deleted_failures, unlisted_failures)


@pytest.mark.parametrize("change", HIDDEN)
def test_a_pilot_without_its_failures_is_planned_for_all_tasks_and_leads_with_the_range(
    runs: dict[str, Path], tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    exported = tau2.export(runs["noisy"], tmp_path / "honest.json")[0].path
    honest = plan([exported]).about
    document = json.loads(exported.read_text())
    (tmp_path / "doctored.json").write_text(doctored(document, change))

    found = plan([tmp_path / "doctored.json"], difference=0.2)

    assert found.about.tasks == honest.tasks == 12
    assert (honest.trials, found.about.trials) == (2, None)  # no finished baseline
    assert found.about.score is not None and found.about.score["best"] == 1.0
    assert found.about.score["worst"] <= honest.rate < 1
    assert not any("no system can" in answer for answer in found.answers)
    assert any("have a verdict" in note and "all pass" in note for note in found.notes)
    assert not any("do not hold" in note for note in found.notes)
    shown = maseval("plan", tmp_path / "doctored.json").stdout
    assert " to 100.0% so far 100.0%" in shown.splitlines()[0]


def test_failures_that_call_themselves_accidents_are_failures(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    exported = tau2.export(runs["noisy"], tmp_path / "honest.json")[0].path
    document = json.loads(exported.read_text())
    (tmp_path / "doctored.json").write_text(doctored(document, relabelled_failures))

    assert plan([tmp_path / "doctored.json"]).about.rate == plan([exported]).about.rate


def test_a_foreign_task_is_no_evidence(runs: dict[str, Path], tmp_path: Path) -> None:
    exported = tau2.export(runs["noisy"], tmp_path / "honest.json")[0].path
    (tmp_path / "other.json").write_text(doctored(json.loads(exported.read_text()), foreign_task))

    honest, found = plan([exported]), plan([tmp_path / "other.json"])

    assert found.about.tasks == 12 and len(found.notes) > len(honest.notes)


def test_a_verdict_that_left_a_run_is_not_one_that_does_not_hold(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    whole = RunFolder.read(runs["noisy"])
    with RunFolder.open(tmp_path / "hidden", dict(whole.config.values)) as folder:
        for report in whole.reports():
            failed = not all(entry["passed"] for entry in report["eval"])
            outage = {"status": "provider_error", "eval": None}
            folder.append({**report, **(outage if failed else {})})

    notes = " ".join(plan([tmp_path / "hidden"]).notes)

    assert "simulations are recorded without the verdict that recomputing gives" in notes
    assert "do not hold" not in notes


def test_a_perfect_pilot_leaves_room_for_a_better_system(tmp_path: Path) -> None:
    gold = tau2.run(domain="library", agent="gold", output=tmp_path / "gold").folder

    answers = plan([gold], difference=0.05).answers

    assert not any("no system can" in answer for answer in answers)


@pytest.mark.parametrize("name", ["rate", "difference", "precision"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.5, 0.0, 1.0])
def test_what_is_no_share_is_refused(name: str, value: float) -> None:
    with pytest.raises(ConfigurationError, match=f"{name} is "):
        plan(**{"tasks": 50, "rate": 0.6, name: value})


@pytest.mark.parametrize("tasks", [0, 10**20])
def test_a_number_of_tasks_that_nobody_runs_is_refused(tasks: int) -> None:
    with pytest.raises(ConfigurationError, match="give 1 to 10,000"):
        plan(tasks=tasks, rate=0.5)


def test_one_task_says_nothing_of_others_and_no_half_width_exceeds_a_share() -> None:
    found = plan(tasks=1, rate=0.5, precision=0.1)

    assert all(row.half_width_like is None and row.half_width <= 0.5 for row in found.rows)
    assert "not reachable with 1 task; it takes at least" in found.answers[1]
    assert "±" not in found.answers[1].partition("with 1 task")[2]
