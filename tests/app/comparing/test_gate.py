"""``maseval gate``: what it decides, and what it writes."""

import shutil
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import cast

import pytest

from maseval import stats
from maseval.app.comparing.compare import RunComparison
from maseval.app.comparing.gate import Gate, floor_of, floor_under, inline
from maseval.commands import gate, tau2
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Outcome
from maseval.runs import RunFolder
from maseval.runs.config_file import LOG
from tests.noisy_runs import noisy_run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("gate")
    return {
        agent: tau2.run(domain="library", agent=agent, trials=2, output=folder / agent).folder
        for agent in ("gold", "noisy", "noop")
    }


def test_a_run_that_fails_everything_is_worse(runs: dict[str, Path]) -> None:
    found = gate(runs["noop"], runs["gold"])
    assert found.verdict == "worse"
    assert found.main.difference == -1 and len(found.fell) == 12 and not found.rose


@pytest.mark.parametrize(
    ("tasks", "verdict"), [(1, "undecidable"), (3, "undecidable"), (6, "worse")]
)
def test_a_collapse_that_could_not_be_shown_is_no_pass(
    tmp_path: Path, tasks: int, verdict: str
) -> None:
    gold, noop = (
        tau2.run(domain="library", agent=agent, num_tasks=tasks, output=tmp_path / agent).folder
        for agent in ("gold", "noop")
    )

    found = gate(noop, gold)

    assert found.verdict == verdict
    assert not found.to_markdown().startswith("### ✅")
    if verdict == "undecidable":
        assert "can never decide it, as at least 5 are needed" in found.to_markdown()
        assert b"<error" in found.to_junit() and b"<error" not in found.to_junit(True)
        assert gate(gold, noop).verdict == "undecidable"  # a gain of all is no proof either


def test_a_loss_of_too_few_tasks_to_tell_from_chance_is_no_pass(runs: dict[str, Path]) -> None:
    lost, gained = gate(runs["noisy"], runs["gold"]), gate(runs["gold"], runs["noisy"])
    assert lost.main.difference < 0 and lost.main.test.discordant == 4
    assert lost.verdict == "undecidable" and gained.verdict == "not worse"
    assert lost.open_question == lost.two.plan.advice and gained.open_question is None
    assert "4 of 12 tasks differ; at least 5 must differ" in lost.to_markdown()


def test_a_loss_within_chance_is_not_worse_and_says_what_would_decide_it(tmp_path: Path) -> None:
    folders = [noisy_run(tmp_path / str(seed), 0.4, seed=seed, trials=3).folder for seed in (1, 2)]
    found, other = gate(*folders), gate(*folders[::-1])
    lost = found if found.main.difference < 0 else other
    assert lost.main.difference < 0 and lost.main.test.discordant > 4
    assert lost.verdict == "not worse" and lost.open_question == lost.two.plan.advice


def test_more_risk_finds_a_loss_and_a_margin_tolerates_it(runs: dict[str, Path]) -> None:
    assert gate(runs["noisy"], runs["gold"], alpha=0.1).verdict == "worse"
    assert gate(runs["noisy"], runs["gold"], alpha=0.1, margin=0.2).verdict == "not worse"
    better = gate(runs["gold"], runs["noop"])
    assert better.verdict == "not worse" and len(better.rose) == 12


@pytest.mark.parametrize(("lost", "verdict"), [(2, "not worse"), (3, "undecidable"), (9, "worse")])
def test_a_loss_of_just_the_margin_is_tolerated(lost: int, verdict: str) -> None:
    before = [Outcome("shop", str(task), 0, True) for task in range(10)]
    after = [each._replace(passed=int(each.task_id) >= lost) for each in before]
    found = Gate(
        cast("RunComparison", None),  # which the verdict does not ask
        stats.compare(before, after, margin=0.2, level=0.9),
        margin=0.2,
        alpha=0.05,
    )

    assert found.main.difference == -lost / 10
    assert found.verdict == verdict
    tolerated = found.open_question is None
    assert tolerated is (verdict != "undecidable")
    if lost == 2:
        said = "the difference seen is within the margin: nothing to plan for"
        assert found.plan.advice == said


@pytest.mark.parametrize(("margin", "verdict"), [(0.0, "not worse"), (0.5, "undecidable")])
def test_a_margin_takes_more_tasks_to_decide_anything(margin: float, verdict: str) -> None:
    """Of five tasks each can fall, which shows a loss, but none of more than half."""
    same = [Outcome("shop", str(task), 0, True) for task in range(5)]
    two = stats.compare(same, same, margin=margin, level=0.9)

    found = Gate(cast("RunComparison", None), two, margin=margin, alpha=0.05)

    assert found.verdict == verdict


def test_the_interval_of_a_gate_errs_with_its_alpha_on_either_side(runs: dict[str, Path]) -> None:
    found = gate(runs["noisy"], runs["gold"], alpha=0.1)
    assert found.main.interval.level == pytest.approx(0.8)


@pytest.mark.parametrize("options", [{"margin": 2.0}, {"margin": -0.1}, {"alpha": 0.0}])
def test_limits_that_mean_nothing_are_refused(
    runs: dict[str, Path], options: dict[str, float]
) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        gate(runs["gold"], runs["noop"], **options)


def test_an_incomplete_run_is_refused_unless_it_is_wanted(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    part = tmp_path / "part"
    shutil.copytree(runs["gold"], part)
    lines = (part / LOG).read_bytes().splitlines(keepends=True)
    (part / LOG).write_bytes(b"".join(lines[:18]))
    (part / "seal.json").unlink()  # as after a kill
    with pytest.raises(ConfigurationError, match="--allow-incomplete"):
        gate(part, runs["gold"])
    assert gate(part, runs["gold"], allow_incomplete=True).verdict == "not worse"
    with pytest.raises(ConfigurationError, match=r"of 24 simulations of .* have no verdict"):
        floor_of(part, 0.5)
    assert floor_of(part, 0.5, allow_incomplete=True).requirement.verdict == "met"


def test_too_few_comparable_tasks_are_no_verdict(runs: dict[str, Path], tmp_path: Path) -> None:
    ids = [one.task_id for one in RunFolder.read(runs["gold"]).planned][::2]
    few = tau2.run(domain="library", agent="gold", task_id=ids[:4], output=tmp_path / "few").folder
    most = tau2.run(domain="library", agent="gold", task_id=ids[:10], output=tmp_path / "m").folder

    with pytest.raises(ConfigurationError, match="only 4 of 12 tasks are comparable, less"):
        gate(few, runs["gold"])
    assert gate(few, runs["gold"], min_comparable=0.3).main.tasks == 4
    assert gate(most, runs["gold"]).main.tasks == 10
    with pytest.raises(ConfigurationError, match="min_comparable is 80"):
        gate(most, runs["gold"], min_comparable=80)
    five = tau2.run(domain="library", agent="gold", task_id=ids[:5], output=tmp_path / "5").folder
    assert gate(few, five).main.tasks == 4  # exactly 80 % are enough
    with pytest.raises(ConfigurationError, match="only 4 of 5 tasks"):
        gate(few, five, min_comparable=0.81)


def test_the_summary_has_the_verdict_and_the_numbers(runs: dict[str, Path]) -> None:
    text = gate(runs["noisy"], runs["gold"]).to_markdown()
    assert text.startswith("### ⚠️ noisy is not judged against gold")
    assert "| library pass^1 | 12 | 100.0% | 75.0% |" in text
    assert "| library | first\\_waiver |" in text


def test_the_summary_says_why_simulations_failed(runs: dict[str, Path]) -> None:
    text = gate(runs["noop"], runs["gold"]).to_markdown()
    before, now = gate(runs["noop"], runs["gold"]).comparison.why.values()

    assert (before.failed, now.failed) == (0, 24)
    for label, number in now.labels.items():
        assert f"| {inline(label)} | 0 | {number} |" in text
    assert f"| check DB not met | 0 | {now.checks['DB']} |" in text
    assert (
        "Why simulations failed"
        not in gate(runs["noop"], runs["gold"], explain=False).to_markdown()
    )


def test_words_of_others_are_no_markdown() -> None:
    hostile = "|x|\n# h <img src=x> [a](javascript:b) @team `c` \x1b[31m"
    shown = inline(hostile)
    assert "\n" not in shown and "<" not in shown and "\x1b" not in shown
    assert "\\|x\\|" in shown and "\\@team" in shown and "\\[a\\]" in shown


@pytest.mark.parametrize(
    ("agent", "failures", "errors", "skipped"), [("noop", 13, 0, 0), ("noisy", 0, 1, 4)]
)
def test_junit_has_a_test_for_the_gate_and_for_each_task(
    runs: dict[str, Path], agent: str, failures: int, errors: int, skipped: int
) -> None:
    suite = ET.fromstring(gate(runs[agent], runs["gold"]).to_junit())[0]
    assert suite.attrib["tests"] == "13" == str(len(suite))
    counts = [suite.attrib[name] for name in ("failures", "errors", "skipped")]
    assert counts == [*map(str, (failures, errors, skipped))]
    assert len(suite.findall("testcase/failure")) == failures
    assert len(suite.findall("testcase/skipped")) == skipped


@pytest.mark.data
def test_a_floor_errs_on_each_side_with_the_chance_that_is_accepted() -> None:
    """Clopper & Pearson's lower limit at 95 % one-sided: 8 of 10 may come from 49.3 %."""
    run = [Outcome("shop", str(task), 0, task < 8) for task in range(10)]
    found = floor_under(run, 0.5, alpha=0.05).requirement

    assert (found.alpha, found.verdict) == (0.05, "undecided")
    assert found.interval.low == pytest.approx(0.49310, abs=1e-5)
    assert floor_under(run, 0.49, alpha=0.05).requirement.verdict == "met"


def test_a_floor_does_not_miss_verdicts_on_tasks_that_a_measure_leaves_out(tau2_data, tmp_path):
    run = tau2.run(
        domain="airline", task_id=["1", "2", "7"], agent="gold", output=tmp_path / "run"
    ).folder

    found = floor_of(run, 0.9, measure="over sound tasks")

    assert found.measure == "over sound tasks^1"
    assert (found.counted.passed, found.counted.verdicts) == (1, 2)
    assert found.requirement.value == 0.5
