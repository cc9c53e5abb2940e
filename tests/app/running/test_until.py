"""Runs that end when their question is answered at a look."""

import hashlib
import itertools
from pathlib import Path
from typing import Any

import pytest

from maseval.app.results.run_summary import RunResult
from maseval.app.results.until import Until, run_rounds
from maseval.app.running.run_options import AskedQuestion
from maseval.cli.app import complete_words
from maseval.commands import compare, show, tau2
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Outcome
from maseval.core.words import between, percent
from maseval.runs import RunConfigError, RunFolder, Simulation
from maseval.runs.config import UNTIL, RunConfig, StoppedRun, mark_of
from maseval.runs.recording import outcomes_in
from maseval.stats.sequential import SequentialPlan
from tests.cli.commandline import maseval
from tests.damage import FORGERIES
from tests.runs.worlds import as_killed, config, report

IDS = [f"task {number}" for number in range(12)]
TRIALS = 4
BASELINE = [Outcome("", task, trial, False) for task in IDS for trial in range(TRIALS)]
BETTER = Until(SequentialPlan("better", (1, 2, 3, 4), baseline_trials=4), BASELINE, "base")
WIDTH = Until(SequentialPlan("precision", (1, 2, 3, 4), half_width=0.2))
QUESTIONS = [BETTER, WIDTH]


class Killed(Exception):
    """The process is gone."""


def passes(one: Simulation, chance: float) -> bool:
    digest = hashlib.sha256(f"{one.task_id} {one.trial}".encode()).digest()
    return digest[0] < 256 * chance


def simulate(
    path: Path,
    until: Until,
    *,
    chance: float = 0.35,
    kill_after: int | None = None,
    errors: set[tuple[str, int]] | tuple[Any, ...] = (),
    stop_after: int | None = None,
) -> StoppedRun | None:
    """Run into a folder as the commands do, until it is killed; return the folder's end."""
    written = itertools.count(1)
    stopping = False
    settings = config(*IDS, trials=TRIALS) | {UNTIL: until.to_config()}
    with RunFolder.open(path, settings) as folder:

        def run_round(among, retry):
            nonlocal stopping
            wanted = set(among)
            for one in [each for each in folder.missing(retry_failed=retry) if each in wanted]:
                if stopping:
                    break
                number = next(written)
                if kill_after is not None and number > kill_after:
                    raise Killed
                parts = {"eval": [{"reward": float(passes(one, chance))}]}
                if (one.task_id, one.trial) in errors:
                    parts = {"status": "environment_error", "eval": None, "error": ERROR}
                folder.append(report(one.task_id, one.trial, **parts))
                stopping = stop_after is not None and number >= stop_after
            return not stopping

        run_rounds(folder, run_round, lambda: outcomes_in(folder))
        return folder.config.stopped


ERROR = {"error_type": "Outage", "error_message": "gone", "traceback": ""}


def content(path: Path) -> tuple[dict[Simulation, str], list[Simulation], dict[str, Any]]:
    folder = RunFolder.read(path)
    stopped = folder.config.stopped
    return folder.recorded, [*folder.planned], stopped and stopped.values


@pytest.mark.parametrize("until", QUESTIONS, ids=["better", "width"])
def test_a_run_that_is_killed_anywhere_decides_the_same(tmp_path, until):
    simulate(tmp_path / "whole", until)
    expected = content(tmp_path / "whole")
    assert expected[2]["not_run"] > 0

    for number in range(len(expected[0])):
        path = tmp_path / str(number)
        with pytest.raises(Killed):
            simulate(path, until, kill_after=number)
        as_killed(path)
        simulate(path, until)
        assert content(path) == expected


def test_a_run_that_has_decided_runs_nothing_more_and_counts_as_complete(tmp_path):
    simulate(tmp_path, BETTER, chance=0.9)
    before = (tmp_path / "log.jsonl").read_bytes()

    stopped = simulate(tmp_path, BETTER, chance=0.9, kill_after=0)

    folder = RunFolder.read(tmp_path)
    assert folder.missing() == [] and len(folder.planned) == stopped.values["trials"] * len(IDS)
    assert stopped.values["outcome"] == "better" and stopped.values["not_run"] > 0
    assert stopped.note.startswith("Stopped early: look ")
    assert mark_of(folder.config.values) == "stopped early: better"
    # Every session ends with a line of its own.
    assert (tmp_path / "log.jsonl").read_bytes().startswith(before)


def test_all_trials_without_a_decision_are_said_to_be_undecided(tmp_path):
    stopped = simulate(tmp_path, BETTER, chance=0.0)

    assert stopped.values["outcome"] == "undecided" and stopped.values["not_run"] == 0
    assert stopped.note.startswith("Sequential design: look 4 of 4")


def test_an_outage_has_no_verdict_at_the_look_and_is_not_tried_again_later(tmp_path):
    lost = {("task 3", 0)}

    stopped = simulate(tmp_path, WIDTH, errors=lost)

    assert stopped.values["decision"]["looks"][0]["without"] == 1
    assert simulate(tmp_path, WIDTH, kill_after=0).values == stopped.values


def test_an_outage_is_tried_again_before_its_look(tmp_path):
    lost = {("task 3", 0)}
    simulate(tmp_path, WIDTH, errors=lost, stop_after=len(IDS))

    stopped = simulate(tmp_path, WIDTH)

    assert stopped.values["decision"]["looks"][0]["without"] == 0


def test_a_run_that_is_stopped_for_its_budget_is_not_looked_at(tmp_path):
    assert simulate(tmp_path, BETTER, chance=0.9, stop_after=len(IDS)) is None
    assert len(RunFolder.read(tmp_path).missing()) == len(IDS) * (TRIALS - 1)
    assert "and it is not decided yet" in show(tmp_path).summary.method


def test_a_run_until_its_question_is_answered_is_not_resumed_as_one_of_a_fixed_size(tmp_path):
    simulate(tmp_path, BETTER, chance=0.9)

    with pytest.raises(RunConfigError, match="until"):
        RunFolder.open(tmp_path, config(*IDS, trials=TRIALS))


@pytest.mark.parametrize("until", QUESTIONS)
def test_a_question_is_read_from_the_configuration_as_it_was(until):
    values = config(*IDS, trials=TRIALS) | {UNTIL: until.to_config()}

    assert Until.of(RunConfig.of(values)).to_config() == until.to_config()


def test_a_question_that_cannot_be_read_is_refused_by_name():
    values = config(*IDS, trials=TRIALS) | {UNTIL: {"question": "better"}}

    with pytest.raises(ConfigurationError, match="'until' cannot be read"):
        Until.of(RunConfig.of(values))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("better-than runs/a b", ("better", "runs/a b", 0.0)),
        ("not-worse-than last", ("not worse", "last", 0.0)),
        ("±4", ("on these tasks", "", 4.0)),
        ("+-4", ("on these tasks", "", 4.0)),
        ("+/-2.5 points on tasks like these", ("on tasks like these", "", 2.5)),
    ],
)
def test_until_is_read(text, expected):
    assert AskedQuestion.of(text) == (*expected, None)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("better", "better-than RUN, not-worse-than RUN"),
        ("±0", "±4"),
    ],
)
def test_another_until_is_refused(text, says):
    with pytest.raises(ConfigurationError, match=says):
        AskedQuestion.of(text)


def test_a_run_can_be_named_without_quotes():
    words = ["tau2", "run", "--until", "better-than", "base", "--trials", "4"]

    assert complete_words(words) == ["tau2", "run", "--until", "better-than base", "--trials", "4"]
    assert complete_words(["--until", "±4", "x"]) == ["--until", "±4", "x"]
    assert complete_words(["tau2", "run", "retail"]) == ["tau2", "run", "--domain", "retail"]


def run_library(path: Path, rate: float, **options: Any) -> RunResult:
    return tau2.run(
        domain="library", agent="noisy", agent_args={"error_rate": rate}, output=path, **options
    )


def test_the_width_asked_for_comes_first_and_each_interval_names_its_question(tmp_path):
    path = tmp_path / "narrow"
    found = run_library(path, 0.1, trials=4, until="+-20")

    words = " ".join(maseval("show", path).stdout.partition("┏")[0].split())
    first = found.summary.overall.pass_hat[1]
    value, span = first.value, first.rerun
    assert f"pass^1 {percent(value)} {between(span.low, span.high)} on these tasks; look" in words
    assert words.endswith("Intervals for tasks like these")


def test_a_run_of_a_benchmark_stops_when_it_is_better_than_its_baseline(tmp_path):
    run_library(tmp_path / "base", 0.9, trials=2)

    found = run_library(tmp_path / "new", 0.0, until=f"better-than {tmp_path / 'base'}")

    assert found.complete and found.summary.overall.planned < 4 * found.summary.overall.tasks
    assert found.summary.answer.startswith("Stopped early: look")
    assert found.summary.answer in found.to_dict()["intervals"]
    again = run_library(tmp_path / "new", 0.0, until=f"better-than {tmp_path / 'base'}")
    assert again.ran == 0 and again.summary == found.summary
    compared = compare([tmp_path / "base", tmp_path / "new"])
    assert any("do not allow for it" in note for note in compared.notes)
    assert "by a test for runs of a fixed size" in compared.headline


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"until": "not-worse-than last"}, "margin"),
        ({"until": "±4", "margin": 5}, "margin"),
        ({"until": "better-than nowhere"}, "nowhere"),
    ],
)
def test_questions_that_make_no_sense_are_refused(tmp_path, options, says):
    with pytest.raises(ConfigurationError, match=says):
        run_library(tmp_path / "run", 0.0, **options)


def test_edited_verdicts_decide_nothing_when_a_run_is_resumed(tmp_path):
    """With every verdict edited to a pass, the first look would find it better."""
    run_library(tmp_path / "base", 0.9, trials=2)
    question = {"until": f"better-than {tmp_path / 'base'}", "trials": 2}
    ended = run_library(tmp_path / "ended", 0.9, **question).folder
    whole = RunFolder.read(ended)
    assert any(one.trial for one in whole.recorded), "one look does not decide it"
    with RunFolder.open(tmp_path / "run", dict(whole.config.stopping(None).values)) as folder:
        folder.append_all([each for each in whole.reports() if each["repeat_idx"] == 0])
    FORGERIES["passed"].do(tmp_path / "run")

    run_library(tmp_path / "run", 0.9, **question)

    assert set(RunFolder.read(tmp_path / "run").recorded) == set(whole.recorded)
