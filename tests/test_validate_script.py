"""scripts/validate_tau2.py: agreement is counted, every difference is shown, nothing crashes."""

import gzip
import importlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

CHECKOUT = Path(__file__).parents[1]
DOMAIN_NAMES = ("airline", "retail", "telecom")
KEPT = 12


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return importlib.import_module("scripts.validate_tau2")


@pytest.fixture(scope="module")
def some_vectors(contract_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first records of each file."""
    folder = tmp_path_factory.mktemp("contract")
    for kind in ("tool_calls", "evaluations", "conversations"):
        (folder / kind).mkdir()
        for name in DOMAIN_NAMES:
            with gzip.open(contract_dir / kind / f"{name}.jsonl.gz", "rt") as all_lines:
                kept = "".join(line for line, _ in zip(all_lines, range(KEPT), strict=False))
            (folder / kind / f"{name}.jsonl.gz").write_bytes(gzip.compress(kept.encode()))
    tasks = json.loads((contract_dir / "tasks.json").read_text())
    several = [t for name in DOMAIN_NAMES for t in [t for t in tasks if t["domain"] == name][:KEPT]]
    (folder / "tasks.json").write_text(json.dumps(several))
    return folder


def altered(folder: Path, path: str, change: Callable[[dict[str, Any]], None]) -> Path:
    """Change the first record of one of the files."""
    file = folder / path
    text = gzip.decompress(file.read_bytes()).decode()
    first, _, rest = text.partition("\n")
    record = json.loads(first)
    change(record)
    file.write_bytes(gzip.compress(f"{json.dumps(record)}\n{rest}".encode()))
    return folder


@pytest.mark.contract
@pytest.mark.data
def test_vectors_that_agree_are_counted(script, some_vectors, tau2_data, capsys):
    assert script.main(["--contract", str(some_vectors)]) == 0

    told = capsys.readouterr().out
    assert "DIFFERS" not in told
    for name in DOMAIN_NAMES:
        assert f"tasks, {name}: {KEPT} tasks compared, 0 differ, agreement 100.00%" in told
        assert f"evaluations, {name}: {KEPT} evaluations compared, 0 differ" in told
        assert f"conversations, {name}: {KEPT} simulations compared, 0 differ" in told


def flip_call(record: dict[str, Any]) -> None:
    record["steps"][0]["error"] = not record["steps"][0]["error"]


def change_end(record: dict[str, Any]) -> None:
    record["final_agent_db_hash"] = "0" * 64


def change_verdict(record: dict[str, Any]) -> None:
    action = {"action_id": "1_0", "requestor": "assistant", "name": "another", "arguments": {}}
    check = {"action": action, "action_match": True, "action_reward": 1.0}
    record["reward_info"]["action_checks"] = [check]


def change_reward(record: dict[str, Any]) -> None:
    record["reward_info"]["reward"] = 0.25


def expect_exception(record: dict[str, Any]) -> None:
    record["exception"] = {"type": "KeyError", "message": "'x'"}
    record["reward_info"] = None


@pytest.mark.contract
@pytest.mark.data
@pytest.mark.parametrize(
    ("path", "change", "told"),
    [
        ("tool_calls/retail.jsonl.gz", flip_call, "error flag: found"),
        ("tool_calls/airline.jsonl.gz", change_end, "database: found"),
        ("evaluations/telecom.jsonl.gz", change_verdict, "action_checks: found"),
        ("conversations/airline.jsonl.gz", change_reward, "reward: found"),
        ("conversations/airline.jsonl.gz", expect_exception, "verdict: found"),
    ],
)
def test_a_vector_that_differs_is_shown(
    script,
    some_vectors,
    tau2_data,
    tmp_path,
    capsys,
    path,
    change,
    told,
):
    folder = shutil.copytree(some_vectors, tmp_path / "contract")

    assert script.main(["--contract", str(altered(folder, path, change))]) == 1

    output = capsys.readouterr().out
    assert output.count("DIFFERS") == 1
    assert told in output


def test_no_vectors_are_no_agreement(script):
    assert "%" not in str(script.Tally("nothing", counted="call"))


def test_bad_input_is_an_error_of_one_line(script, tmp_path, capsys):
    assert script.main(["--contract", str(tmp_path / "absent")]) == 2

    told = capsys.readouterr().err
    assert told.startswith("error: ")
    assert len(told.splitlines()) == 1


def test_help_shows_examples():
    done = subprocess.run(
        [sys.executable, "-m", "scripts.validate_tau2", "--help"],
        capture_output=True,
        text=True,
        cwd=CHECKOUT,
    )

    assert done.returncode == 0
    assert "python -m scripts.validate_tau2 --contract vectors/" in done.stdout
