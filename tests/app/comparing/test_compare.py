"""Runs side by side, as a function."""

import json
import re
from pathlib import Path

import pytest

from maseval import frames
from maseval.commands import compare, show, tau2
from maseval.core.exceptions import ConfigurationError
from maseval.runs import RunFolder
from maseval.stats import IncomparableRunsError, outcomes_of
from maseval.stats import compare as compare_outcomes
from tests.cli.commandline import maseval
from tests.noisy_runs import noisy_run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("compared")

    def run(name, error_rate, **more):
        return noisy_run(folder / name, error_rate, **more).folder

    return {
        "careful": run("careful", 0.05),
        "hurried": run("hurried", 0.4),
        "few": run("few", 0.05, num_tasks=5),
        "short": run("short", 0.05, max_steps=50),
    }


def test_two_runs_are_paired_by_task(runs):
    found = compare([runs["careful"], runs["hurried"]])

    a, b = (outcomes_of(RunFolder.read(runs[name]).reports()) for name in ("careful", "hurried"))
    assert found.two.main == compare_outcomes(a, b).main
    assert found.two.main.difference < 0
    assert found.two.names == ("careful", "hurried")
    assert found.two.dropped == [] and found.cautions == []
    assert found.to_dict()["main"]["test"]["p_value"] == found.two.main.test.p_value


def test_runs_under_other_rules_are_refused(runs):
    with pytest.raises(IncomparableRunsError, match="max_steps: 200 and 50"):
        compare([runs["careful"], runs["short"]])


def with_other_data(run: Path, target: Path) -> Path:
    """The same run as if it had been made on another database."""
    whole = RunFolder.read(run)
    values = {**whole.config.values, "data": {"library": {"db.json": "another"}}}
    with RunFolder.open(target, values) as folder:
        for report in whole.reports():
            folder.append(report)
    return folder.path


def test_a_domain_with_other_data_is_left_out(runs, tmp_path):
    other = with_other_data(runs["hurried"], tmp_path / "other")

    with pytest.raises(ConfigurationError, match="no task in common"):
        compare([runs["careful"], other])


def test_a_results_file_is_compared_like_the_run_it_was_written_from(runs, tmp_path):
    (written,) = tau2.export(runs["hurried"], tmp_path / "theirs.json")

    from_file = compare([runs["careful"], written.path])
    from_run = compare([runs["careful"], runs["hurried"]])

    assert from_file.two.main == from_run.two.main
    assert from_file.two.dropped == []
    assert any("rules" in caution for caution in from_file.cautions)


def test_only_the_edited_task_of_a_file_is_left_out(runs, tmp_path):
    (written,) = tau2.export(runs["hurried"], tmp_path / "theirs.json")
    results = json.loads(written.path.read_text())
    results["tasks"][0]["evaluation_criteria"]["actions"] = []
    written.path.write_text(json.dumps(results))

    found = compare([runs["careful"], written.path])

    assert found.two.main.tasks == 11
    name = f"library/{results['tasks'][0]['id']}"
    assert found.dropped == [f"task {name!r}: its content differs between the runs"]
    assert any("1 of 12 tasks in the file are not the benchmark's" in note for note in found.notes)


def test_several_runs_are_corrected_after_holm(runs):
    found = compare([runs["careful"], runs["hurried"], runs["few"]], k=2)

    assert found.two is None
    assert [pair.names for pair in found.table.pairs] == [
        ("careful", "hurried"),
        ("careful", "few"),
        ("hurried", "few"),
    ]
    assert all(pair.adjusted >= pair.main.test.p_value for pair in found.table.pairs)
    assert any("Holm" in note for note in found.to_dict()["notes"])
    assert {pair.main.k for pair in found.table.pairs} == {2}


def test_a_run_is_not_compared_with_itself(runs):
    with pytest.raises(ConfigurationError, match="named twice"):
        compare([runs["careful"], runs["careful"]])
    with pytest.raises(ConfigurationError, match="two or more"):
        compare([runs["careful"]])


def test_the_reasons_of_failures_stand_side_by_side(runs):
    found = compare([runs["careful"], runs["hurried"]])
    written, shown = found.to_dict(), found.reasons()

    for name in ("careful", "hurried"):
        causes = show(runs[name]).causes
        why = written["why"][name]
        assert (why["labels"], why["failed"]) == (causes, sum(causes.values()))
        assert why["verdicts"] == 24
        unmet = [
            row
            for row in frames.checks(runs[name])
            if row["kind"] == "DB" and row["counts"] and not row["met"]
        ]
        assert why["checks"]["DB"] == len(unmet)
    for unmet in (False, True):
        sizes = [abs(b - a) for name, (a, b) in shown if name.endswith(" not met") == unmet]
        assert sizes and sizes == sorted(sizes, reverse=True)
    assert written["headline"] == found.headline
    assert not compare([runs["careful"], runs["hurried"]], explain=False).why


def test_a_cost_that_is_not_known_is_named_so_beside_known_ones(runs, tmp_path):
    names = {"priced": 0.5, "unpriced": 0.0, "unused": None}
    for name, cost in names.items():
        usage = {} if cost is None else {"agent": {"cost": cost, "input_tokens": 9}}
        whole = RunFolder.read(runs["careful"])
        with RunFolder.open(tmp_path / name, dict(whole.config.values)) as folder:
            for report in whole.reports():
                folder.append({**report, "usage": {"models": usage}})
    found = compare([tmp_path / name for name in names], explain=False)
    told = maseval("compare", *(tmp_path / name for name in names), "--no-explain").stdout

    assert [run.overall.mean_cost for run in found.summaries.values()] == [0.5, None, 0.0]
    assert re.search(r"│ priced .* \$0\.50 │", told) and re.search(r"│ unused .* \$0\.00 │", told)
    assert re.search(r"│ unpriced .* not known │", told)
