"""Commands of one benchmark, asked about a run of another."""

from pathlib import Path

import pytest

from maseval import commands
from maseval.commands import macs, tau2
from maseval.core.exceptions import ConfigurationError
from tests.cli.commandline import maseval

OTHER = "examples.booking:BookingBenchmark"


@pytest.fixture(scope="module")
def bookings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return commands.run(benchmark=OTHER, output=tmp_path_factory.mktemp("runs") / "own").folder


@pytest.mark.parametrize(
    "ask",
    [
        lambda run: tau2.explain(run, "pair"),
        lambda run: tau2.score([run]),
        lambda run: tau2.certify(run),
        lambda run: tau2.comply([run]),
        lambda run: tau2.export(run, run / "exported"),
        lambda run: tau2.branch(run=run, task="pair", at=1, agent="gold"),
        lambda run: macs.rates(run),
        lambda run: macs.export(run),
    ],
)
def test_a_run_of_another_benchmark_is_refused_with_the_command_that_shows_it(bookings, ask):
    before = sorted(bookings.iterdir())
    with pytest.raises(ConfigurationError) as refused:
        ask(bookings)

    assert f"is a run of {OTHER}" in str(refused.value)
    assert f"`maseval show {bookings}` shows the run" in str(refused.value)
    assert sorted(bookings.iterdir()) == before


def test_the_command_that_is_named_explains_the_task(bookings):
    assert maseval("explain", bookings, "pair").exit_code == 2
    assert maseval("show", bookings, "pair").exit_code == 0


OWN = """\
from maseval.benchmark.tau2 import DefaultAgentTau2Benchmark, configure_model_ids, load_tasks
from maseval.core.scripted import ScriptedModelAdapter
from maseval.core.exceptions import ConfigurationError

class Mine(DefaultAgentTau2Benchmark):
    def get_model_adapter(self, model_id, **kwargs):
        return ScriptedModelAdapter(["###STOP###"] * 9)

def tasks():
    tasks = load_tasks("library", limit=1)
    configure_model_ids(tasks, user_model_id="scripted/user", evaluator_model_id="scripted/judge")
    return tasks
"""


def test_a_benchmark_that_is_built_on_the_commands_own_is_taken(tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    run = commands.run(
        benchmark=f"{tmp_path / 'mine.py'}:Mine",
        tasks=f"{tmp_path / 'mine.py'}:tasks",
        agent_data={"model_id": "scripted/mine"},
        output=tmp_path / "run",
    ).folder

    (found,) = tau2.score([run])
    assert found.compared == 1
