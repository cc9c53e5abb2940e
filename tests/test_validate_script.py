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

from maseval.benchmark.tau2 import score_simulation
from maseval.benchmark.tau2.domains import DOMAINS
from tests.benchmark.tau2.results.builders import info, lines, results, simulation, written

CHECKOUT = Path(__file__).parents[1]
DOMAIN_NAMES = ("airline", "retail", "telecom")
KEPT = 12


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return importlib.import_module("scripts.validate_tau2")


@pytest.fixture
def recorded(tau2_data) -> dict[str, Any]:
    """A results file with one simulation, as the original would have scored it."""
    scored = simulation(task_id="0")
    scored["reward_info"] = score_simulation(scored, domain="airline")
    return results(scored, tasks=[])


@pytest.fixture(scope="module")
def some_vectors(contract_dir, tmp_path_factory) -> Path:
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
        ("conversations/airline.jsonl.gz", change_verdict, "action_checks: found"),
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


@pytest.mark.data
def test_a_results_file_that_agrees(script, recorded, tmp_path, capsys):
    assert script.main([str(written(tmp_path / "r.json", recorded))]) == 0

    assert "1 simulations compared, 0 differ, agreement 100.00%" in capsys.readouterr().out


@pytest.mark.data
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("reward", 0.25),
        ("reward_breakdown", {"DB": 0.5}),
        ("db_check", {"db_match": False, "db_reward": 0.0}),
    ],
)
def test_a_verdict_that_differs_is_shown(script, recorded, tmp_path, capsys, field, value):
    recorded["simulations"][0]["reward_info"][field] = value

    assert script.main([str(written(tmp_path / "r.json", recorded))]) == 1

    told = capsys.readouterr().out
    assert "DIFFERS  simulation 0 (id 's1', task '0', trial 0)" in told
    assert f"{field}: found" in told
    assert "1 simulations compared, 1 differ, agreement 0.00%" in told


@pytest.mark.data
def test_a_recorded_verdict_on_what_cannot_be_replayed_says_why(script, recorded, tmp_path, capsys):
    recorded["simulations"][0]["messages"][3]["content"] = "3.0"

    assert script.main([str(written(tmp_path / "r.json", recorded))]) == 1

    assert "it cannot be replayed: Tool call:" in capsys.readouterr().out


@pytest.mark.data
def test_the_tasks_of_a_file_take_precedence_over_ours(script, recorded, tmp_path, capsys):
    criteria = {"actions": [], "communicate_info": ["never said"]}
    own = {"id": "0", "user_scenario": {}, "evaluation_criteria": criteria}
    recorded["tasks"] = [own]

    assert script.main([str(written(tmp_path / "r.json", recorded))]) == 1

    assert "reward_breakdown: found {'DB': 1.0, 'COMMUNICATE': 0.0}" in capsys.readouterr().out


@pytest.mark.data
def test_a_checkout_is_searched_for_results(script, recorded, tmp_path, capsys):
    below = tmp_path / "data" / "simulations"
    below.mkdir(parents=True)
    written(below / "run.json", recorded)
    written(tmp_path / "data" / "db.json", {"users": {}})
    written(tmp_path / "data" / "tasks.json", [{"id": "0"}])

    assert script.main(["--checkout", str(tmp_path)]) == 0

    told = capsys.readouterr().out
    assert f"{below / 'run.json'}: 1 simulations compared" in told
    assert "tasks.json" not in told


@pytest.mark.data
def test_what_cannot_be_compared_is_counted_apart(script, tau2_data, tmp_path, capsys):
    unknown = written(tmp_path / "a.json", results(simulation(), info=info("submarine")))
    unscored = written(tmp_path / "b.json", results(simulation()))
    untold = lines(tmp_path / "c.jsonl", simulation())

    assert script.main([str(unknown), str(unscored), str(untold)]) == 0

    told = capsys.readouterr().out
    assert "1 not compared: submarine is not a domain of ours" in told
    assert "1 not compared: it has no recorded verdict" in told
    assert "1 not compared: its domain is not told; give --domain" in told
    assert script.main([str(untold), "--domain", "airline"]) == 0
    assert "submarine" not in DOMAINS


@pytest.mark.data
def test_a_malformed_simulation_does_not_hide_the_others(script, recorded, tmp_path, capsys):
    recorded["simulations"].insert(0, {"id": "bad"})

    assert script.main([str(written(tmp_path / "r.json", recorded))]) == 2

    told = capsys.readouterr().out
    assert "MALFORMED" in told and "simulation 0 (id 'bad'), task_id: missing" in told
    assert "1 simulations compared, 0 differ" in told


@pytest.mark.parametrize(
    "arguments",
    [["absent.json"], ["--contract", "absent"], ["--checkout", "absent"], ["damaged.json"], ["."]],
)
def test_bad_input_is_an_error_of_one_line(script, arguments, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "damaged.json").write_text('{"simulations": [')

    assert script.main(arguments) == 2

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
    assert "python -m scripts.validate_tau2 --checkout tau2-bench" in done.stdout
