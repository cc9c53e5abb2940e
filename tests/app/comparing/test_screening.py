"""Tasks that tell systems apart: learned from other systems, run, and never called a score."""

import json

import pytest

from maseval.app.comparing.screening import ScreeningError
from maseval.commands import save_screening, screening, tau2
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Outcome, TaskKey
from maseval.runs import RunFolder
from maseval.stats.screening import rank_tasks


def outcomes(**tasks):
    return [
        Outcome("", task, trial, letter == "1")
        for task, word in tasks.items()
        for trial, letter in enumerate(word)
    ]


def test_a_task_that_goes_along_with_the_others_is_worth_most():
    ranked = rank_tasks(
        {
            "weak": outcomes(telling="00", easy="11", contrary="11", other="01", third="00"),
            "middle": outcomes(telling="01", easy="11", contrary="01", other="01", third="01"),
            "strong": outcomes(telling="11", easy="11", contrary="00", other="11", third="11"),
        }
    )

    worth = {each.task.task: each.worth for each in ranked}
    assert ranked[0].task in (TaskKey("", "telling"), TaskKey("", "third"))
    assert worth["easy"] == 0 and ranked[-1].task.task == "contrary" and worth["contrary"] < 0


def test_two_systems_are_too_few():
    with pytest.raises(ConfigurationError, match="give the runs of 3 or more"):
        rank_tasks({"a": outcomes(x="1", y="0"), "b": outcomes(x="0", y="1")})


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    runs = [folder / f"rate {rate}" for rate in (0.0, 0.4, 0.9)]
    for path, rate in zip(runs, (0.0, 0.4, 0.9), strict=True):
        run(path, rate, trials=2)
    save_screening(screening(runs), folder / "screening.json")
    return folder


def run(path, rate, **options):
    return tau2.run(
        domain="library", agent="noisy", agent_args={"error_rate": rate}, output=path, **options
    )


def test_the_most_telling_tasks_are_run_and_rank_systems(learned, tmp_path):
    file = learned / "screening.json"
    known = json.loads(file.read_text())

    found = run(tmp_path / "run", 0.2, screen=3, screening=file)

    ids = {one.task_id for one in RunFolder.read(tmp_path / "run").planned}
    assert ids == {each["task"] for each in known["tasks"][:3]}
    assert str(found.summary.subset).startswith("screening with 3 chosen tasks of")
    assert "no score of the benchmark" in found.summary.method
    assert known["tasks"][0]["fingerprint"]


def test_a_screening_learned_from_the_baseline_is_refused(learned, tmp_path):
    options = {"screen": 3, "screening": learned / "screening.json"}
    with pytest.raises(ConfigurationError, match="learn it from other runs"):
        run(tmp_path / "run", 0.2, until=f"better-than {learned / 'rate 0.4'}", **options)


def test_a_screening_of_other_tasks_is_refused(learned, tmp_path):
    known = json.loads((learned / "screening.json").read_text())
    known["tasks"][0]["fingerprint"] = "another"
    (tmp_path / "other.json").write_text(json.dumps(known))

    with pytest.raises(ScreeningError, match="is another one"):
        run(tmp_path / "run", 0.2, screen=3, screening=tmp_path / "other.json")
    with pytest.raises(ScreeningError, match="cannot be chosen"):
        run(tmp_path / "run", 0.2, screen=300, screening=learned / "screening.json")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": "maseval screening 1"}'])
def test_what_is_no_screening_is_refused(tmp_path, content):
    (tmp_path / "screening.json").write_text(content)

    with pytest.raises(ScreeningError, match="is not a screening"):
        run(tmp_path / "run", 0.2, screen=3, screening=tmp_path / "screening.json")


@pytest.mark.parametrize("options", [{"screen": 3}, {"screening": "x.json"}, {"screen": 0}])
def test_half_a_screening_is_refused(tmp_path, options):
    with pytest.raises(ConfigurationError, match="screen"):
        run(tmp_path / "run", 0.2, **options)
