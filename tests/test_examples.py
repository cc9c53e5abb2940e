"""The examples run as they say they do, with nothing but what is here."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

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


def run(*command: str, folder: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if "_API_KEY" not in name}
    environment |= {"PYTHONIOENCODING": "utf-8", "COLUMNS": "120"}
    done = subprocess.run(
        command, capture_output=True, encoding="utf-8", cwd=folder, env=environment, timeout=240
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def test_every_example_is_tried():
    scripts = {path.name for path in FOLDER.glob("*.py")} - {"rehearse.py"}

    assert scripts == NEEDS.keys()


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_solves_its_tasks_as_its_docstring_shows(name, tau2_data, tmp_path):
    text = (FOLDER / name).read_text(encoding="utf-8")
    (shown,) = re.findall(r"^ *python (\S+ --scripted)$", text, re.M)
    script, option = shown.split()
    assert CHECKOUT / script == FOLDER / name

    printed = run(sys.executable, str(FOLDER / name), option, folder=tmp_path)

    assert "3 of 3 tasks solved" in printed


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs_on_the_command_line_as_well(name, tau2_data, tmp_path):
    function = "pair" if name == "planner_executor.py" else "agent"
    reference = f"{FOLDER / name}:{function}"
    command = [sys.executable, "-m", "maseval.cli", "tau2", "run", "--domain", "telecom"]

    # Several turns: the customer does some of the work.
    printed = run(*command, "-n", "2", "--agent", reference, "--rehearse", "gold", folder=tmp_path)

    assert re.search(r"│\s*2\s*│.*100", printed), printed


def test_two_agents_are_compared_with_one(tau2_data, tmp_path):
    printed = run(
        sys.executable, str(FOLDER / "planner_executor.py"), "--scripted", folder=tmp_path
    )

    assert "pair - single: +0.00" in printed and "maseval compare" in printed
