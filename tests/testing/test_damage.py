import sys

import pytest

from maseval.testing import KillRig, results_in
from tests.runs.worlds import finished_run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")


def test_a_program_that_ends_by_itself_was_not_killed(tmp_path):
    rig = KillRig([sys.executable, "-c", ""], tmp_path / "run", seed=2)

    assert not rig.kill() and rig.kills == 0
    assert rig.finish().returncode == 0 and rig.results() == []


def test_a_program_that_does_not_end_is_killed(tmp_path):
    program = "import pathlib, signal; pathlib.Path('log.jsonl').write_text('1\\n'); signal.pause()"
    rig = KillRig([sys.executable, "-c", program], tmp_path, most_results=1, cwd=tmp_path)

    assert rig.kill() and rig.kills == 1


def test_the_results_of_equal_runs_are_equal(tmp_path):
    assert results_in(finished_run(tmp_path / "1", "a", "b")) == results_in(
        finished_run(tmp_path / "2", "a", "b")
    )
