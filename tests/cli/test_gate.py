"""``maseval gate`` as a CI service calls it, and the workflow that does so."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from maseval import __version__
from maseval.commands import tau2
from tests.cli.commandline import last_json, maseval

WORKFLOW = Path(__file__).parents[2] / "examples" / "ci" / "github-actions.yml"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gate")
    for agent in ("gold", "noop"):
        tau2.run(domain="library", agent=agent, output=folder / "runs" / agent)
    return folder


@pytest.fixture(autouse=True)
def beside_the_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


@pytest.mark.parametrize(
    ("run", "baseline", "code"),
    [("noop", "gold", 1), ("gold", "noop", 0), ("gold", "nowhere", 2), ("gold", "gold", 2)],
)
def test_the_exit_code_says_whether_a_run_is_worse(run: str, baseline: str, code: int) -> None:
    assert maseval("gate", run, "--baseline", baseline).exit_code == code


def test_too_few_tasks_to_fail_are_no_pass(tmp_path: Path) -> None:
    for agent in ("gold", "noop"):
        tau2.run(domain="library", agent=agent, num_tasks=3, output=tmp_path / agent)
    words = ("gate", tmp_path / "noop", "--baseline", tmp_path / "gold")

    refused = maseval(*words)
    accepted = maseval(*words, "--allow-undecidable")

    assert refused.exit_code == 2 and accepted.exit_code == 0
    assert "cannot fail with fewer than" in refused.stdout


@pytest.mark.parametrize("options", [("cut.json",), ("gold", "--junit", "runs")])
def test_no_error_looks_like_a_verdict(folder: Path, options: tuple[str, ...]) -> None:
    (folder / "cut.json").write_text('{"simulations": [', "utf-8")

    result = maseval("gate", "noop", "--baseline", *options)

    assert result.exit_code == 2
    assert "Errno" not in result.stderr


def test_a_run_that_is_worse_still_writes_its_files(folder: Path) -> None:
    options = ("--junit", "out/gate.xml", "--markdown", "out/gate.md", "--json")
    result = maseval("gate", "noop", "--baseline", "gold", *options)
    assert result.exit_code == 1
    assert last_json(result.stdout)["verdict"] == "worse"
    assert b"<testsuites>" in (folder / "out" / "gate.xml").read_bytes()
    assert (folder / "out" / "gate.md").read_text("utf-8").startswith("### ❌ noop is worse")


def test_the_workflow_installs_what_it_is_told(tmp_path: Path) -> None:
    workflow = yaml.safe_load(WORKFLOW.read_text("utf-8"))
    steps = workflow["jobs"]["rehearsal"]["steps"]
    install = next(step["run"] for step in steps if "pip install" in step.get("run", ""))
    assert "MASEVAL" in workflow["env"]
    environment = {
        **os.environ,
        "MASEVAL": str(WORKFLOW.parents[2]),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        # What it depends on is there, and what builds it too: nothing is fetched.
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "0",
        "PIP_TARGET": str(tmp_path),
    }

    subprocess.run(["bash", "-ec", install], env=environment, check=True, capture_output=True)

    version = subprocess.run(
        [sys.executable, "-c", "import maseval; print(maseval.__version__, maseval.__file__)"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    assert version == [__version__, str(tmp_path / "maseval" / "__init__.py")]


def test_the_commands_of_the_workflow_do_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    maseval("new", "agent", "my_agent")
    steps = yaml.safe_load(WORKFLOW.read_text("utf-8"))["jobs"]["rehearsal"]["steps"]
    commands = [shlex.split(step["run"]) for step in steps if "run" in step]
    ours = [words[1:] for words in commands if words[0] == "maseval"]
    assert [words[0] for words in ours] == ["tau2", "report", "gate"]

    run, report, gate = ours
    assert maseval(*run).exit_code == maseval(*report).exit_code == 0
    tau2.run(domain="library", agent="gold", trials=2, output="runs/baseline")
    assert maseval(*gate).exit_code == 0

    kept = next(step for step in steps if step.get("name") == "Keep the run")["with"]["path"]
    assert all((tmp_path / name).exists() for name in kept.split())
    assert re.search("not shown worse", (tmp_path / "gate.md").read_text("utf-8"))
