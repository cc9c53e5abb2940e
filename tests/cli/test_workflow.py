"""The workflows of examples/ci, run as GitHub runs them, with agents that work and that do not.

The runner is a new virtual environment in which pip installs what the workflow says, so that a
missing extra is missed. Nothing is fetched: the index is a folder of wheels, made of this checkout
and the installed distributions. What other actions do (checkout, Python, artifacts) is done here.
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
CI = ROOT / "examples" / "ci"

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
    """A machine that runs the one job of a workflow again and again, each time on a checkout."""

    def __init__(self, folder: Path, index: Path, workflow: str, **environment: str) -> None:
        self.folder, self.jobs = folder, 0
        self.file = CI / workflow
        self.workflow = yaml.safe_load(self.file.read_text("utf-8"))
        self.kept: list[str] = []
        new = [sys.executable, "-m", "maseval", "new", "domain", "desk"]
        subprocess.run(new, cwd=folder, check=True, capture_output=True)
        venv = folder / "python"
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        asked = Requirement(self.workflow["env"]["MASEVAL"])
        kept = ("HOME", "LANG", "TMPDIR")
        self.environment = {
            **{name: os.environ[name] for name in kept if name in os.environ},
            **self.workflow["env"],
            "PATH": os.pathsep.join([str(venv / "bin"), os.environ["PATH"]]),
            "MASEVAL": f"{asked.name}[{','.join(asked.extras)}]",
            "MASEVAL_CACHE_DIR": str(folder / "data"),
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(index),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_COMPILE": "0",  # which takes longer than all the rest
            **environment,
        }

    def run(self, agent: str, **files: Path) -> Job:
        """Run the steps of the job on a checkout with this agent, and with further files."""
        self.jobs += 1
        self.checkout = checkout = self.folder / f"checkout-{self.jobs}"
        workflows = checkout / ".github" / "workflows"
        workflows.mkdir(parents=True)
        shutil.copytree(self.folder / "desk", checkout / "desk")
        shutil.copy(self.file, workflows)
        (checkout / "my_agent.py").write_text(agent, "utf-8")
        if files:
            (checkout / "baselines").mkdir()
        for name, file in files.items():
            shutil.copy(file, checkout / "baselines" / f"{name}.maseval.zip")
        summary, ran, output = checkout / "summary.md", dict[str, int](), ""
        (job,) = self.workflow["jobs"].values()
        for number, step in enumerate(job["steps"]):
            conditions = {
                None: not any(ran.values()),
                "${{ !cancelled() }}": True,
                "${{ !cancelled() && hashFiles('gate.md') != '' }}": (
                    checkout / "gate.md"
                ).exists(),
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
            case "actions/upload-artifact":
                paths = map(checkout.joinpath, given["path"].split())
                self.kept = [path.name for path in paths if path.exists()]
            case "actions/setup-python":
                # It fails without a file whose content names the cache.
                wanted = given.get("cache-dependency-path", "**/requirements.txt")
                assert "cache" not in given or list(checkout.glob(wanted))
            case "actions/checkout":
                pass
            case _:
                raise AssertionError(f"nobody here does what {action} does")


def new_agent(folder: Path) -> str:
    new = [sys.executable, "-m", "maseval", "new", "agent", "my_agent"]
    subprocess.run(new, cwd=folder, check=True, capture_output=True)
    return (folder / "my_agent.py").read_text("utf-8")


def test_the_rehearsal_is_green_for_an_agent_that_works_and_red_for_one_that_does_not(
    tmp_path: Path, index: Path
) -> None:
    runner = Runner(tmp_path, index, "github-actions.yml")
    healthy = new_agent(tmp_path)
    broken = healthy.replace("brief.policy", '"You sell pizza."')
    assert broken != healthy

    first, second = runner.run(healthy), runner.run(broken)
    suite = (runner.checkout / "rehearsal.xml").read_text("utf-8")
    runner.environment["DOMAIN"] = "desk/desk.py:DOMAIN"
    third = runner.run(healthy)

    assert first.is_green, first.output
    assert second.ran["Rehearse"] == 1 and second.ran["Write the report"] == 0, second.output
    assert "Missed (policy): policy seen whole and once in 0 of 71 requests" in second.output
    assert 'name="policy"' in suite and 'failures="1"' in suite
    assert third.is_green, third.output
    assert runner.kept == ["head", "report.html", "rehearsal.xml"]


# Loses one task more with every step, as an agent that gets a little worse with each change.
DRIFT = """

steps = {steps}
whole = agent


def agent(brief):
    made = whole(brief)
    if brief.model.name.split("-", 2)[2].rsplit("-", 1)[0] in LOST[:steps]:
        made._run_agent = lambda query: "I am sorry."
    return made
"""


def test_a_slow_decline_is_red_by_the_third_step(tmp_path: Path, index: Path) -> None:
    allowed = " ".join(f"--allow {item}" for item in ("asked", "tasks", "replies", "calls"))
    runner = Runner(
        tmp_path,
        index,
        "real-model.yml",
        DOMAIN="library",
        MODELS=f"--rehearse gold {allowed}",
        FLOOR="70",
    )
    healthy = new_agent(tmp_path)
    names = "first_waiver", "renew_all_but_one", "renewal_somebody_waits", "renew_own_not_husbands"

    def after(steps: int) -> str:
        return f"{healthy}\nLOST = {names!r}\n{DRIFT.format(steps=steps)}"

    first = runner.run(after(0))
    bundle = [sys.executable, "-m", "maseval", "bundle", "runs/head", "--output", "b.zip"]
    subprocess.run(bundle, cwd=runner.checkout, check=True, capture_output=True)
    pinned = shutil.copy(runner.checkout / "b.zip", tmp_path / "b.zip")
    later = [runner.run(after(steps), library=Path(pinned)) for steps in range(4)]

    gate = "Compare with the pinned baseline, and with the floor"
    assert first.is_green, first.output
    assert "at least 70.0% asked for: reached" in first.output
    assert later[0].is_green and "100.0% → **100.0%**" in later[0].summary, later[0].output
    assert later[3].ran[gate] in (1, 2), later[3].output
    assert runner.kept == ["head", "report.html", "gate.xml"]
