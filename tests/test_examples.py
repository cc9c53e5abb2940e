"""The examples run as they say they do, with nothing but what is here."""

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.cli.commandline import maseval
from tests.interface.libraries import needing

CHECKOUT = Path(__file__).parents[1]
FOLDER = CHECKOUT / "examples" / "tau2_benchmark"
NEEDS = {
    "default_agent.py": "openai",
    "planner_executor.py": "openai",
    "tau2_langgraph.py": "langgraph",
    "tau2_mcp.py": "mcp",
    "tau2_smolagents.py": "smolagents",
}
EXAMPLES = [pytest.param(name, marks=needing(library)) for name, library in NEEDS.items()]

pytestmark = [pytest.mark.data, pytest.mark.slow]


@cache
def printed_by(script: Path, option: str) -> str:
    environment = {name: value for name, value in os.environ.items() if "_API_KEY" not in name}
    environment |= {"PYTHONIOENCODING": "utf-8", "COLUMNS": "120"}
    with TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, str(script), option],
            capture_output=True,
            encoding="utf-8",
            cwd=folder,
            env=environment,
            timeout=240,
        )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def test_every_example_is_tried():
    scripts = {path.name for path in FOLDER.glob("*.py")} - {"rehearse.py"}

    assert scripts == NEEDS.keys()


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_solves_its_tasks_as_its_docstring_shows(name, tau2_data):
    text = (FOLDER / name).read_text(encoding="utf-8")
    (shown,) = re.findall(r"^ *python (\S+ --scripted)$", text, re.M)
    script, option = shown.split()
    assert CHECKOUT / script == FOLDER / name

    printed = printed_by(FOLDER / name, option)

    assert "3 of 3 tasks solved" in printed


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs_on_the_command_line_as_well(name, tau2_data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    function = "pair" if name == "planner_executor.py" else "agent"
    reference = f"{FOLDER / name}:{function}"
    rehearsal = ("--agent", reference, "--rehearse", "gold")

    # Several turns: the customer does some of the work.
    done = maseval("tau2", "run", "--domain", "telecom", "-n", 2, *rehearsal)

    assert re.search(r"│\s*2\s*│.*100", done.stdout), done.stdout


def test_two_agents_are_compared_with_one(tau2_data):
    printed = printed_by(FOLDER / "planner_executor.py", "--scripted")

    assert "pair - single: +0.00" in printed and "maseval compare" in printed
