"""A package that is not maseval's adds its benchmark to the commands, by an entry point."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from maseval.runs import RunFolder
from tests.cli.commandline import maseval

SUPPORT = """
import json
from pathlib import Path

from maseval.commands import BenchmarkSupport, Finding, Review
from maseval.core.outcome import Simulation
from maseval.runs.config import RunConfig


class KioskSupport(BenchmarkSupport):
    def review(self, report, *, explain_pass=False):
        if report["eval"][0]["passed"]:
            return Review()
        evidence = ("oolong, not assam",)
        cause = Finding("cause", "agent", "sold the wrong tea", "till", "", evidence=evidence)
        return Review([cause])

    def task_title(self, report):
        return "Sell a tea"

    def version(self, config):
        return "kiosk rules 3"

    def warnings(self, config):
        return ["The kiosk was closed on Monday."]

    def holds_results(self, path):
        return path.name.endswith(".kiosk.json")

    def recording(self, path, options, on_progress=None):
        return Sales(path) if self.holds_results(path) else None


class Sales:
    damaged = ()

    def __init__(self, path):
        self.path, self._sold = path, json.loads(path.read_text())
        self.planned = self.recorded = [Simulation("", task, 0) for task in self._sold]
        tasks = {"": [*self._sold]}
        self.config = RunConfig.of({"benchmark": "my_kiosk", "tasks": tasks, "trials": 1})

    def reports(self):
        return map(self.report, self.recorded)

    def report(self, one):
        return {
            "task_id": one.task_id, "repeat_idx": 0, "status": "success", "error": None,
            "task": {}, "traces": {}, "config": {}, "usage": {},
            "eval": [{"passed": self._sold[one.task_id]}],
        }

    def content_key(self, one):
        return f"{one.task_id} {self._sold[one.task_id]}"


SUPPORT = KioskSupport()
"""
BENCHMARK = '''
from examples.booking import BookingBenchmark, load_tasks


class KioskBenchmark(BookingBenchmark):
    """Sells teas like rooms."""
'''
ENTRY_POINTS = """
[maseval.benchmarks]
my_kiosk = my_kiosk.support:SUPPORT
broken = my_kiosk.nowhere:SUPPORT
odd = json:loads
"""


def install(site: Path) -> Path:
    package, info = site / "my_kiosk", site / "my_kiosk-1.0.dist-info"
    for folder in (package, info):
        folder.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-kiosk\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    (package / "__init__.py").write_text(BENCHMARK)
    (package / "support.py").write_text(SUPPORT)
    return package


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder on the path of modules with the package, which is installed for good."""
    folder = tmp_path_factory.mktemp("site")
    install(folder)
    return folder


@pytest.fixture
def installed(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(site)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


# Run the benchmark with an agent that always slips.
RUN_TEAS = (
    *("run", "my_kiosk:KioskBenchmark", "--output", "runs/teas"),
    *("--num-tasks", "2", "--agent-data", "slip_rate=1"),
)


def test_its_runs_are_explained_titled_and_warned_about(installed):
    ran = maseval(*RUN_TEAS)
    whole = maseval("show", "teas")
    each = [maseval("show", "teas", task).stdout for task in ("0", "1")]

    assert ran.exit_code == 0, ran.stderr
    assert "The kiosk was closed on Monday." in ran.stdout
    assert "1  agent: sold the wrong tea" in whole.stdout
    assert all("Sell a tea" in shown for shown in each)
    assert "oolong, not assam" in "".join(each)


def test_its_results_files_are_shown_and_compared(tmp_path, installed):
    for name, second in (("a", True), ("b", False)):
        (tmp_path / f"{name}.kiosk.json").write_text(json.dumps({"1": True, "2": second}))

    done = maseval("compare", "a.kiosk.json", "b.kiosk.json", "--json")

    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["runs"]["a.kiosk"]["groups"][0]["passed"] == 2
    assert "1/1" in maseval("show", "a.kiosk.json").stdout


def test_its_column_of_a_table(installed):
    maseval(*RUN_TEAS)

    done = maseval("export", "teas", "--format", "jsonl", "--table", "runs", "-o", "-")

    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["version"] == "kiosk rules 3"


def test_a_support_that_cannot_be_loaded_is_named_and_harms_its_own_runs_only(tmp_path, installed):
    for name in ("broken", "odd"):
        config = {"benchmark": f"{name}:Benchmark", "tasks": {"": ["1"]}, "trials": 1}
        RunFolder.open(tmp_path / "runs" / name, config).close()

    broken, odd = (maseval("show", name) for name in ("broken", "odd"))

    assert broken.exit_code == odd.exit_code == 2
    assert "the support of benchmark 'broken' (my_kiosk.nowhere:SUPPORT" in broken.stderr
    assert "ModuleNotFoundError" in broken.stderr and "Traceback" not in broken.stderr
    assert "it must be a BenchmarkSupport object" in odd.stderr


def test_a_run_with_a_broken_support_is_refused_before_anything_runs(tmp_path):
    package = install(tmp_path / "site")
    (package / "support.py").write_text("import a_library_that_is_gone")

    ran = subprocess.run(
        [sys.executable, "-m", "maseval.cli", *RUN_TEAS],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(package.parent), os.getcwd()])},
        timeout=300,
    )

    assert ran.returncode == 2
    assert "No module named 'a_library_that_is_gone'" in ran.stderr
    assert not (tmp_path / "runs").exists()
