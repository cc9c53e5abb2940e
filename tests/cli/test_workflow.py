"""The workflow of examples/ci, run as GitHub runs it, with agents that work and one that does not.

The runner is a new virtual environment in which pip installs what the workflow says, so that a
missing extra is missed. Nothing is fetched: the index is a folder of wheels, made of this checkout
and the installed distributions. What other actions do (checkout, Python, cache, artifacts) is done
here.
"""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
WORKFLOW = yaml.safe_load((ROOT / "examples" / "ci" / "github-actions.yml").read_text("utf-8"))

pytestmark = [pytest.mark.slow, pytest.mark.needs(library="openai"), pytest.mark.timeout(1200)]


def needed(name: str, extras: frozenset[str] = frozenset()) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the installed distributions that one needs, with their extras."""
    for line in distribution(name).requires or ():
        each = Requirement(line)
        markers = [{"extra": extra} for extra in extras or {""}]
        if each.marker is None or any(each.marker.evaluate(marker) for marker in markers):
            yield each.name, frozenset(each.extras)


def write_wheel(found: Distribution, folder: Path) -> None:
    """Pack an installed distribution into a wheel again."""
    words = found.read_text("WHEEL") or ""
    tags = [tag for tag in re.findall(r"^Tag: (\S+)$", words, re.M) if not tag.startswith("py2-")]
    tag = tags[0] if tags else "py3-none-any"
    name = re.sub(r"[-_.]+", "_", found.metadata["Name"])
    with zipfile.ZipFile(folder / f"{name}-{found.version}-{tag}.whl", "w") as wheel:
        for file in found.files or ():
            path = Path(str(file.locate()))
            if ".." not in file.parts and path.is_file() and "__pycache__" not in file.parts:
                wheel.write(path, str(file))


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of wheels with maseval and all that it and its extra need."""
    folder = tmp_path_factory.mktemp("wheels")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    waiting, seen = [("maseval", frozenset({"openai"}))], set()
    while waiting:
        name, extras = waiting.pop()
        if (name, extras) not in seen:
            seen.add((name, extras))
            waiting += needed(name, extras)
    for name in {name for name, _ in seen} - {"maseval"}:
        write_wheel(distribution(name), folder)
    return folder


class Job(NamedTuple):
    """The end of a job: the steps that ran, with their exit codes, and the summary on its page."""

    ran: dict[str, int]
    summary: str
    output: str

    @property
    def is_green(self) -> bool:
        return not any(self.ran.values())


class Runner:
    """A machine that runs the job again and again; the cache outlives each of its checkouts."""

    def __init__(self, folder: Path, index: Path) -> None:
        self.folder, self.cache, self.jobs = folder, folder / "cache", 0
        self.kept: list[str] = []
        venv = folder / "python"
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        asked = Requirement(WORKFLOW["env"]["MASEVAL"])
        kept = ("HOME", "LANG", "TMPDIR")
        self.environment = {
            **{name: os.environ[name] for name in kept if name in os.environ},
            "PATH": os.pathsep.join([str(venv / "bin"), os.environ["PATH"]]),
            "MASEVAL": f"{asked.name}[{','.join(asked.extras)}]",
            "MASEVAL_CACHE_DIR": str(folder / "data"),
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(index),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_COMPILE": "0",  # which takes longer than all the rest
        }

    def run(self, agent: str, ref: str = "refs/heads/main") -> Job:
        """Run the steps of the job on a checkout with this agent."""
        self.jobs += 1
        checkout = self.folder / f"checkout-{self.jobs}"
        checkout.mkdir()
        (checkout / "my_agent.py").write_text(agent, "utf-8")
        summary, ran, output = checkout / "summary.md", dict[str, int](), ""
        for number, step in enumerate(WORKFLOW["jobs"]["rehearsal"]["steps"]):
            is_good, hit = not any(ran.values()), self.cache.is_dir()
            conditions = {
                None: is_good,
                "${{ !cancelled() }}": True,
                "${{ !cancelled() && hashFiles('gate.md') != '' }}": (
                    checkout / "gate.md"
                ).exists(),
                "steps.baseline.outputs.cache-matched-key != ''": is_good and hit,
                "github.ref == 'refs/heads/main'": is_good and ref == "refs/heads/main",
            }
            if not conditions[step.get("if")]:
                continue
            if "uses" in step:
                self._act(step["uses"].partition("@")[0], step.get("with", {}), checkout)
                continue
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
                cwd=checkout,
                env={**self.environment, "GITHUB_STEP_SUMMARY": str(summary)},
                capture_output=True,
                text=True,
            )
            ran[step.get("name", f"step {number}")] = done.returncode
            output += done.stdout + done.stderr
        return Job(ran, summary.read_text("utf-8") if summary.exists() else "", output)

    def _act(self, action: str, given: dict[str, str], checkout: Path) -> None:
        match action:
            case "actions/cache/restore" if self.cache.is_dir():
                shutil.copytree(self.cache, checkout / given["path"])
            case "actions/cache/save":
                shutil.rmtree(self.cache, ignore_errors=True)
                shutil.copytree(checkout / given["path"], self.cache)
            case "actions/upload-artifact":
                paths = map(checkout.joinpath, given["path"].split())
                self.kept = [path.name for path in paths if path.exists()]
            case "actions/checkout" | "actions/setup-python" | "actions/cache/restore":
                pass  # the checkout and Python are there, and the cache may be empty
            case _:
                raise AssertionError(f"nobody here does what {action} does")


def test_the_workflow_is_green_for_an_agent_that_works_and_red_for_one_that_does_not(
    tmp_path: Path, index: Path
) -> None:
    runner = Runner(tmp_path, index)
    new = [sys.executable, "-m", "maseval", "new", "agent", "my_agent"]
    subprocess.run(new, cwd=tmp_path, check=True, capture_output=True)
    healthy = (tmp_path / "my_agent.py").read_text("utf-8")
    broken = healthy.replace(
        "        if name not in self.tools:", '        if name in ("renew_loan", "other"):'
    )
    assert broken != healthy

    first, second = runner.run(healthy), runner.run(broken)
    third = runner.run(healthy, "refs/heads/change")

    assert first.is_green, first.output
    assert "Compare with the baseline" not in first.ran
    assert second.ran["Evaluate"] == 1, second.output
    assert re.search(r"your agent lost \d of 24", second.output)
    assert "Compare with the baseline" not in second.ran and second.ran["Write the report"] == 0
    # The run of the broken agent has not become the baseline.
    assert third.is_green and third.ran["Compare with the baseline"] == 0, third.output
    assert "100.0% → **100.0%**" in third.summary and "not shown worse" in third.summary
    assert runner.kept == ["head", "report.html", "gate.xml"]
