"""Calling the command line from tests: within this process, or as a process of its own."""

import functools
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from typer import testing

from maseval.benchmark.tau2.data_loader import DataUnavailableError, ensure_data_exists
from maseval.cli.app import app
from tests.waiting import wait_until

# Typer builds all commands anew for each call, which takes longer than most of them.
testing._get_command = functools.cache(testing._get_command)

COMMAND = [sys.executable, "-m", "maseval.cli"]


def maseval(*arguments: Path | float | str) -> Any:
    """Run a command in this process; gives ``exit_code``, ``stdout`` and ``stderr``."""
    result = testing.CliRunner().invoke(app, [str(one) for one in arguments], prog_name="maseval")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def started(
    *arguments: Path | int | str, folder: Path, **environment: str
) -> subprocess.Popen[str]:
    """Start a command as a process."""
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **environment},
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """The exit code of a process, and what it printed beyond the lines that were read already.

    ``communicate`` would lose what ``readline`` has read ahead, if two lines arrived together.
    """
    with process, ThreadPoolExecutor(1) as beside:
        errors = beside.submit(process.stderr.read)
        out = process.stdout.read()
    return process.wait(), out, errors.result()


def finished(*arguments: Path | str, folder: Path, **environment: Any) -> tuple[int, str, str]:
    """Run a command as a process; gives its exit code, output and errors."""
    process = started(*arguments, folder=folder, **environment)
    out, errors = process.communicate(timeout=120)
    return process.returncode, out, errors


def last_json(text: str) -> dict[str, Any] | list[dict[str, Any]]:
    return json.loads(text.splitlines()[-1])


def slow_agent(folder: Path, delay: int, times: int = 50) -> list[str]:
    """Options for an agent that takes its time over every word."""
    script = folder / "slow.json"
    script.write_text(json.dumps(["One moment, please."] * times))
    return [
        *("--agent-model", f"scripted/{script}", "--user", "scripted"),
        *("--agent-args", f"delay_seconds={delay}"),
    ]


HELD_AGENT = """\
import itertools
from pathlib import Path

from maseval import AgentAdapter
from tests.waiting import wait_until

HOLD = Path(__file__).with_name("hold")
starts = itertools.count()


class Held(AgentAdapter):
    def _run_agent(self, query):
        if self.agent >= {free}:
            HOLD.with_name(f"waits-{{self.agent}}").touch()
            wait_until(lambda: not HOLD.exists())
        return "One moment, please."


def agent(brief):
    return Held(next(starts), "held")
"""


def held_agent(folder: Path, free: int) -> tuple[list[str], Path]:
    """Return options for an agent that waits while a file ``hold`` exists, and that file.

    In the ``free`` first tasks it does not wait. For each task that waits there is a ``waits-*``.
    """
    (folder / "held.py").write_text(HELD_AGENT.format(free=free))
    hold = folder / "hold"
    hold.touch()
    return ["--agent", f"{folder / 'held.py'}:agent", "--user", "scripted"], hold


def wait_for_some(folder: Path, count: int) -> None:
    """Wait until so many simulations of a run are recorded."""
    log = folder / "log.jsonl"
    wait_until(
        lambda: log.exists() and log.read_bytes().count(b'"kind": "report"') >= count,
        f"{count} recorded simulations",
    )


def require_data() -> None:
    """Skip the test where the files of tau2-bench cannot be had."""
    try:
        ensure_data_exists(verbose=0)
    except DataUnavailableError as error:
        if os.environ.get("MASEVAL_REQUIRE_DATA") == "1":
            pytest.fail(f"no tau2 data, and MASEVAL_REQUIRE_DATA=1 asks for it: {error}")
        pytest.skip(f"no tau2 data: {error}")
