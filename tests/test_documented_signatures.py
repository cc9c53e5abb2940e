"""A strict type checker accepts benchmarks that are written with the documented signatures."""

import subprocess
import sys
from pathlib import Path

import pytest

SAMPLE = Path(__file__).with_name("documented_signatures.py")


def complaints(path: Path, cache: Path) -> str:
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(cache), str(path)]
    run = subprocess.run(command, cwd=SAMPLE.parents[1], capture_output=True, text=True)
    return run.stdout + run.stderr


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_documented_signatures_pass_a_strict_type_checker(tmp_path):
    assert "Success: no issues found" in complaints(SAMPLE, SAMPLE.parents[1] / ".mypy_cache")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_checker_looks_at_the_sample(tmp_path):
    wrong = tmp_path / "wrong.py"
    text = SAMPLE.read_text(encoding="utf-8")
    wrong.write_text(text.replace("return query\n", "return 7\n", 1), encoding="utf-8")

    assert "Incompatible return value type" in complaints(wrong, SAMPLE.parents[1] / ".mypy_cache")
