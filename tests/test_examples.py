"""The examples run as they say they do, with nothing but what is here."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from maseval.benchmark.tau2 import load_raw_task
from maseval.core.outcome import RecordedReport
from maseval.runs import RunFolder
from tests.cli.commandline import finished, maseval
from tests.interface.libraries import needing

CHECKOUT = Path(__file__).parents[1]
FOLDER = CHECKOUT / "examples" / "tau2_benchmark"
NEEDS = {
    "default_agent.py": "openai",
    "tau2_langgraph.py": "langgraph",
    "tau2_mcp.py": "mcp",
    "tau2_smolagents.py": "smolagents",
}
SYSTEMS = CHECKOUT / "examples" / "systems"
SYSTEM_NEEDS = {
    **dict.fromkeys(("tool_loop", "react", "plan_and_execute", "team"), "openai"),
    "with_camel": "camel",
    "with_langgraph": "langgraph",
    "with_llamaindex": "llama_index",
    "with_openai_agents": "agents",
    "with_pydantic_ai": "pydantic_ai",
    "with_smolagents": "smolagents",
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
    reference = f"{FOLDER / name}:agent"
    rehearsal = ("--agent", reference, "--rehearse", "gold")

    # Several turns: the customer does some of the work.
    done = maseval("tau2", "run", "--domain", "telecom", "-n", 2, *rehearsal)

    assert re.search(r"│\s*2\s*│.*100", done.stdout), done.stdout


def test_every_system_is_tried_and_fits_on_a_page():
    lines = {path.stem: len(path.read_text().splitlines()) for path in SYSTEMS.glob("*.py")}

    assert lines.keys() == SYSTEM_NEEDS.keys()
    assert max(lines.values()) < 60


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=needing(each)) for name, each in SYSTEM_NEEDS.items()]
)
def test_the_same_gold_play_passes_in_every_system(name, tau2_data, tmp_path):
    domains = ("--domain", "retail", "--domain", "telecom")
    agent = ("--agent", f"{SYSTEMS / name}.py:agent", "--rehearse", "gold")

    # Several turns: the customer does some of the work. Frameworks leave connections open, which
    # is a warning in the process that they are in.
    code, out, errors = finished(
        "tau2", "run", *domains, "-n", 3, *agent, "--output", "run", folder=tmp_path
    )

    assert code == 0, out + errors
    reports = [*RunFolder.read(tmp_path / "run").reports()]
    assert len(reports) == 6
    for report in map(RecordedReport, reports):
        said = report.simulation.messages
        made = [(call.name, call.function["arguments"]) for each in said for call in each.calls]
        actions = load_raw_task(report.domain, report.task_id)["evaluation_criteria"]["actions"]
        assert made == [(each["name"], each["arguments"]) for each in actions]
        assert report.tokens > 0


READMES = sorted((CHECKOUT / "examples").glob("*/README.md"))


def test_every_folder_of_examples_says_what_is_in_it_in_a_few_lines():
    folders = {path for path in (CHECKOUT / "examples").iterdir() if path.is_dir()}

    assert {path.parent for path in READMES} == {
        each for each in folders if each.name != "__pycache__"
    }
    listed = (CHECKOUT / "examples" / "README.md").read_text(encoding="utf-8")
    for path in READMES:
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 16
        assert f"({path.parent.name})" in listed


def _needed_by(path: Path) -> list[pytest.MarkDecorator]:
    return needing("acp" if path.parent.name == "finished_agents" else "openai")


@pytest.mark.parametrize(
    "path", [pytest.param(each, marks=_needed_by(each), id=each.parent.name) for each in READMES]
)
def test_the_command_of_a_folder_runs_offline(path, tau2_data, tmp_path, monkeypatch):
    """Each in a copy of the examples, with the agent that ``maseval new`` writes beside them."""
    # A command's "python" is that of its environment, as if this one were activated.
    monkeypatch.setenv(
        "PATH", os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    )
    shutil.copytree(CHECKOUT / "examples", tmp_path / "examples")
    assert finished("new", "agent", "my_agent", folder=tmp_path)[0] == 0
    text = path.read_text(encoding="utf-8")
    (found,) = re.findall(r"```sh\n(.*?)\n```", text, re.S)
    *before, command = found.splitlines()
    place = tmp_path.joinpath(*(each.removeprefix("cd ") for each in before))
    program, *options = shlex.split(command)

    if program == "python":
        assert printed_by(tmp_path / options[0], *options[1:])
        return
    assert program == "maseval"
    code, out, errors = finished(*options, folder=place)
    assert code == ("The run ends with 1" in text), out + errors
