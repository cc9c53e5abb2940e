"""The examples where a library they need is not installed."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "tau2_benchmark"
WITHOUT = """
import runpy, sys
sys.modules[{library!r}] = None
sys.argv[1:] = ["--scripted", "--domain", "library", "--num-tasks", "1"]
sys.path.insert(0, {folder!r})
runpy.run_path({script!r}, run_name="__main__")
"""


@pytest.mark.parametrize(
    ("name", "library", "extra"),
    [
        ("default_agent.py", "openai", "openai"),
        ("tau2_smolagents.py", "smolagents", "smolagents"),
        ("tau2_langgraph.py", "langchain", "langgraph"),
        ("tau2_mcp.py", "mcp", "mcp,openai"),
    ],
)
def test_an_example_tells_how_to_install_what_is_missing(name, library, extra, tmp_path):
    code = WITHOUT.format(library=library, folder=str(FOLDER), script=str(FOLDER / name))

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", cwd=tmp_path
    )

    assert done.returncode == 1
    assert f"pip install '.[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr and "solved" not in done.stdout
