"""``maseval plan``: what a question costs, from runs and from stated rates."""

from itertools import product
from pathlib import Path

import pytest

from maseval.commands import plan, tau2
from maseval.core.exceptions import ConfigurationError
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
        plan(**options)  # type: ignore[arg-type]


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
