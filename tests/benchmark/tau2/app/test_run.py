"""``tau2.run`` from Python: the same as the command, with results instead of prints."""

import threading
from contextlib import contextmanager

import pytest

from maseval import commands
from maseval.app.results.questions import SimulationView
from maseval.commands import tau2
from maseval.core.exceptions import ConfigurationError
from maseval.runs import RunFolder
from tests.cli.commandline import require_data


@pytest.mark.data
def test_domains_with_equal_ids_run_into_one_folder(tmp_path):
    require_data()

    result = tau2.run(
        domain=["airline", "retail"], task_id=["1"], agent="gold", output=tmp_path / "r"
    )

    assert {score.name: score.recorded for score in result.summary.domains} == {
        "airline": 1,
        "retail": 1,
    }
    with pytest.raises(ConfigurationError, match="airline/1 or retail/1"):
        commands.show(result.folder, "1")
    view = commands.show(result.folder, "retail/1")
    assert isinstance(view, SimulationView) and view.line.domain == "retail"


def test_any_agent_meets_any_user(tmp_path):
    solo_less = dict(domain="library", num_tasks=1, concurrency=1)

    modelled = tau2.run(
        **solo_less,
        agent="gold",
        user_model="scripted/echo",
        max_steps=6,
        output=tmp_path / "user",
    )

    assert modelled.complete
    (report,) = RunFolder.read(modelled.folder).reports()
    assert set(report["config"]["models"]) == {"user_simulator"}


def test_a_failed_simulation_is_run_again_unless_that_is_not_wanted(tmp_path):
    (tmp_path / "short.json").write_text('["Hello."]')
    run = dict(
        domain="library",
        num_tasks=1,
        agent_model=f"scripted/{tmp_path / 'short.json'}",
        user="scripted",
        output=tmp_path / "r",
    )

    first = tau2.run(**run)
    left = tau2.run(**run, retry_failed=False)
    again = tau2.run(**run)

    assert first.ran == 1 and not first.complete and first.summary.overall.failed == 1
    assert (left.ran, again.ran) == (0, 1)


def test_the_configuration_names_the_data_by_its_hashes(tmp_path):
    result = tau2.run(domain="library", agent="noop", num_tasks=1, output=tmp_path / "r")

    data = RunFolder.read(result.folder).config.values["data"]["library"]
    tasks = data.pop("tasks")
    assert {"db.json", "policy"} <= data.keys() and len(tasks) == 12
    assert all(len(value) == 64 for value in (*data.values(), *tasks.values()))


def test_a_display_sees_what_runs(tmp_path):
    (tmp_path / "slow.json").write_text('["One moment."]')
    most, kept = [0], []

    @contextmanager
    def watching(progress):
        over = threading.Event()

        def look():
            while not over.wait(0.02):
                most.append(len(progress.running))

        thread = threading.Thread(target=look)
        thread.start()
        yield
        over.set()
        thread.join()
        kept.append(progress)

    tau2.run(
        domain="library",
        num_tasks=2,
        concurrency=2,
        agent_model=f"scripted/{tmp_path / 'slow.json'}",
        agent_args={"delay_seconds": 0.1, "loop": True},
        user="scripted",
        output=tmp_path / "r",
        display=watching,
    )

    [end] = kept
    assert max(most) == 2 and end.done == end.planned == 2 and end.running == []
    assert end.tokens > 0 and end.pass_1 is not None


def test_it_runs_outside_the_main_thread_too(tmp_path):
    results = []
    thread = threading.Thread(
        target=lambda: results.append(
            tau2.run(domain="library", agent="gold", num_tasks=1, output=tmp_path / "r")
        )
    )
    thread.start()
    thread.join()

    assert results[0].complete
