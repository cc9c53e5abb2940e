"""The table of all measurements, and the comparison with a checkout of the original."""

import json
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks import __main__ as bench
from benchmarks import original
from benchmarks.table import FIGURES, Figure, note

FAST, SLOW = Figure("verdict, ms", 1.0, 2.0), Figure("verdict, ms", 3.0, 2.0)


def test_a_figure_is_noted_where_somebody_collects_them(tmp_path, monkeypatch):
    path = tmp_path / "figures.jsonl"
    monkeypatch.delenv(FIGURES, raising=False)
    note("of nobody", 1)
    monkeypatch.setenv(FIGURES, str(path))

    note("verdict, ms", 1.0, at_most=2.0)
    note("share", 0.5, at_least=0.9)
    note("free", 7)

    noted = bench.read_figures(path)
    assert noted == [FAST, Figure("share", 0.5, 0.9, True), Figure("free", 7)]
    assert [each.meets_its_goal for each in noted] == [True, False, True]


def test_the_table_says_what_is_missed_and_what_is_slower():
    rows = bench.rows([SLOW, Figure("share", 0.5, 0.9, True)], [{"verdict, ms": 1.0, "share": 0.5}])

    assert rows == [
        ("verdict, ms", "3", "at most 2", "MISSED", "3.00 SLOWER"),
        ("share", "0.5", "at least 0.9", "MISSED", "1.00"),
    ]


def test_a_larger_share_is_not_slower_and_a_smaller_one_is():
    share, before = Figure("share", 0.9, 0.5, True), [{"share": 0.6}]

    assert bench.rows([share], before)[0][3:] == ("met", "1.50")
    assert bench.rows([share._replace(value=0.3)], before)[0][3:] == ("MISSED", "0.50 SLOWER")


def test_history_is_that_of_the_same_machine_and_survives_a_torn_line(tmp_path):
    path = tmp_path / "history.jsonl"
    bench.keep(path, [FAST])
    with path.open("a") as file:
        file.write(json.dumps({"machine": "another", "figures": {"verdict, ms": 9}}) + "\n")
        file.write('{"machine": "to\n')
    bench.keep(path, [SLOW])

    found = bench.read_history(path, bench.machine())

    assert [entry["verdict, ms"] for entry in found] == [1.0, 3.0]
    assert {"commit", "date"} < json.loads(path.read_text().splitlines()[0]).keys()


def test_no_benchmark_begins_when_the_time_is_over_and_it_is_said(tmp_path, capsys):
    history = tmp_path / "history.jsonl"

    assert bench.main(["scoring", "--minutes", "0", "--history", str(history)]) == 1
    assert "scoring: no time was left for it" in capsys.readouterr().out


def test_an_unknown_benchmark_is_refused(capsys):
    with pytest.raises(SystemExit):
        bench.main(["swimming"])
    assert "there is no swimming; choose from scoring" in capsys.readouterr().err


CHECKOUT = {
    "evaluator/evaluator.py": """
        from enum import Enum
        from types import SimpleNamespace
        from maseval.benchmark.tau2 import score_simulation

        class Kind(str, Enum):
            ALL = "all"

        def evaluate_simulation(simulation, task, evaluation_type: Kind, solo_mode, domain):
            assert evaluation_type is Kind.ALL and task.id == str(simulation.task_id)
            verdict = score_simulation(simulation.model_dump(), domain=domain, solo=solo_mode)
            return SimpleNamespace(reward=verdict["reward"] + SHIFT)
    """,
    "data_model/simulation.py": """
        from pydantic import BaseModel, ConfigDict

        class SimulationRun(BaseModel):
            model_config = ConfigDict(extra="allow")
            task_id: str
    """,
    "data_model/tasks.py": """
        from pydantic import BaseModel

        class Task(BaseModel):
            id: str
    """,
}


@pytest.fixture
def _without_tau2(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a checkout be imported in this test, and nothing of it be left afterwards."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("TAU2_DATA_DIR", "")
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "tau2"]:
        del sys.modules[name]


@pytest.mark.contract
@pytest.mark.data
@pytest.mark.usefixtures("_without_tau2", "contract_dir", "tau2_data")
@pytest.mark.parametrize("shift", [0, 1])
def test_verdicts_are_held_against_those_of_a_checkout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], shift: Any
) -> None:
    for name, text in CHECKOUT.items():
        file = tmp_path / "src/tau2" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text) + f"\nSHIFT = {shift}\n")
    asked = [str(tmp_path), "--conversations", "1"]

    if shift:
        with pytest.raises(SystemExit, match="airline: the rewards of 1 differ"):
            original.main(asked)
    else:
        assert original.main(asked) == 0
        assert "retail" in capsys.readouterr().out


@pytest.mark.usefixtures("_without_tau2")
def test_a_folder_without_the_original_is_said_to_be_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert original.main([str(tmp_path)]) == 1
    assert "cannot be imported" in capsys.readouterr().out


@pytest.mark.data
@pytest.mark.needs(library="gymnasium")
@pytest.mark.usefixtures("_without_tau2", "tau2_data_of_1_0_1")
def test_the_environments_are_timed_beside_those_of_a_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks import gym

    package = tmp_path / "src" / "tau2"
    package.mkdir(parents=True)
    (package / "gym.py").write_text("from maseval.benchmark.tau2.gym import AgentGymEnv")
    monkeypatch.setattr(gym, "DOMAINS", ("airline",))

    assert gym.compare(tmp_path) == 0
    assert "theirs: reset" in capsys.readouterr().out
