"""Agents that break the process they share with the run: no number may come out of it unnoticed."""

import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maseval.runs import RunFolder
from tests.cli.commandline import finished

RUN = ("tau2", "run", "library", "--num-tasks", "3", "--user", "scripted", "--max-steps", "20")


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Any]:
    def with_agent(text, *options):
        (tmp_path / "my_agent.py").write_text(textwrap.dedent(text))
        given = (*RUN, "--agent", "my_agent.py:agent", "--output", "r", *options)
        return finished(*given, folder=tmp_path)

    return with_agent


def statuses(tmp_path: Path) -> list[str]:
    return list(RunFolder.read(tmp_path / "r").recorded.values())


def test_an_agent_that_ends_the_process_with_0_does_not_end_the_command_with_0(run, tmp_path):
    code, _, errors = run(
        """
        import os
        def agent(brief):
            return lambda query: os._exit(0)
        """
    )

    assert code == 1 and "os._exit(0)" in errors
    code, out, _ = finished("runs", ".", "--json", folder=tmp_path)
    assert [each["state"] for each in json.loads(out)] == ["incomplete"]


def test_an_agent_that_ends_the_process_after_the_run_changes_no_exit_code(run):
    code, _, errors = run(
        """
        import atexit, os
        atexit.register(lambda: os._exit(0))
        def agent(brief):
            return lambda query: "Hi."
        """
    )

    assert code == 0, errors


def test_a_log_that_does_not_hold_what_was_recorded_is_no_success(run):
    code, _, errors = run(
        """
        import json
        def agent(brief):
            def answer(query):
                json.dumps = lambda *args, **more: "{}"
                return "Hi."
            return answer
        """
    )

    assert code == 1 and "the report on task" in errors and "cannot be written" in errors


@pytest.mark.parametrize("concurrency", ["1", "2"])
@pytest.mark.parametrize("ending", ["pass", "raise SystemExit(0)", "1 / 0"])
def test_a_copy_of_the_run_that_an_agent_forks_ends_there(run, tmp_path, concurrency, ending):
    code, _, errors = run(
        f"""
        import os, warnings
        def agent(brief):
            def answer(query):
                with warnings.catch_warnings(action="ignore"):
                    child = os.fork()
                if not child:
                    {ending}
                else:
                    os.waitpid(child, 0)  # which a copy that runs on would never end
                return "Hi."
            return answer
        """,
        *("--concurrency", concurrency),
    )

    assert code == 0, errors
    assert statuses(tmp_path) == ["success"] * 3
    assert not RunFolder.read(tmp_path / "r").damaged


def test_a_process_that_an_agent_forks_to_work_for_it_works(run, tmp_path):
    code, _, errors = run(
        """
        import multiprocessing, warnings
        from maseval.core.agent_brief import FunctionAgentAdapter
        def work(query, pipe):
            pipe.send(FunctionAgentAdapter(lambda query: "Heard.", "helper").run(query))
        def agent(brief):
            def answer(query):
                ours, theirs = multiprocessing.Pipe()
                with warnings.catch_warnings(action="ignore"):
                    fork = multiprocessing.get_context("fork")
                    helper = fork.Process(target=work, args=(query, theirs))
                    helper.start()
                assert ours.poll(60)
                helper.join()
                return ours.recv()
            return answer
        """
    )

    assert code == 0, errors
    assert statuses(tmp_path) == ["success"] * 3


def test_reference_data_that_an_agent_clears_give_no_verdict_and_no_pass_elsewhere(run, tmp_path):
    text = """
        import gc
        from maseval import Task
        cleared = []
        def agent(brief):
            def answer(query):
                for each in gc.get_objects() if not cleared else ():
                    if isinstance(each, Task):
                        each.evaluation_data.clear()
                cleared.append(True)
                return "Hi."
            return answer
        """
    code, _, _ = run(text, "--concurrency", "1")

    assert code == 3
    assert sorted(statuses(tmp_path)) == ["evaluation_failed", "success", "success"]
    found = {report["status"]: report for report in RunFolder.read(tmp_path / "r").reports()}
    assert "changed while its agent worked" in found["evaluation_failed"]["error"]["error_message"]
    assert found["success"]["eval"][0]["reward"] == 0.0


def test_an_answer_of_50_megabytes_is_the_agents_failure(run, tmp_path):
    run(
        """
        def agent(brief):
            return lambda query: "word " * 10_000_000
        """,
        *("--timeout", "30"),
    )

    assert statuses(tmp_path) == ["agent_error"] * 3
    (error, *_) = (each["error"] for each in RunFolder.read(tmp_path / "r").reports())
    assert "50,000,000 characters" in error["error_message"]


def test_a_worker_that_dies_while_a_process_it_forked_lives_on_is_noticed(run, tmp_path):
    code, _, errors = run(
        """
        import os, pathlib, time
        def agent(brief):
            def answer(query):
                if not pathlib.Path("died").exists():
                    pathlib.Path("died").touch()
                    if not os.fork():
                        time.sleep(60)
                        os._exit(0)
                    os.kill(os.getpid(), 9)
                return "Hi."
            return answer
        """,
        *("--engine", "processes", "--processes", "1", "--concurrency", "2"),
    )

    assert code == 0, errors
    assert "SIGKILL" in errors
    assert statuses(tmp_path) == ["success"] * 3


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(rb"\x00\x00\x10\x00", id="announces more than comes"),
        pytest.param(rb"\x00\x00\x00\x04abcd", id="no pickle"),
        pytest.param(rb"maseval:\x00\x00\x00\x00\x00\x00\x00\x04", id="a part of a head"),
    ],
)
def test_an_agent_that_writes_to_all_sockets_of_its_worker_stops_no_other(run, tmp_path, written):
    code, _, errors = run(
        f"""
        import os, pathlib, stat
        def agent(brief):
            def answer(query):
                if not pathlib.Path("written").exists():
                    pathlib.Path("written").touch()
                    for number in range(3, 40):
                        try:
                            if stat.S_ISSOCK(os.fstat(number).st_mode):
                                os.write(number, b"{written.decode()}")
                        except OSError:
                            pass
                return "Hi."
            return answer
        """,
        *("--engine", "processes", "--processes", "1", "--concurrency", "2"),
    )

    assert code == 0, errors
    assert "foreign code in it wrote to its pipe" in errors
    assert statuses(tmp_path) == ["success"] * 3
