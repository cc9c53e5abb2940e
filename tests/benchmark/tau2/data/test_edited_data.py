"""Data that is edited while a process uses it decides no verdict, and nothing that is kept."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from maseval.app.results.examined import VERDICT, ExaminedRun
from maseval.benchmark.tau2 import score_simulation
from maseval.benchmark.tau2.data.files import default_data_dir
from maseval.benchmark.tau2.data_loader import ensure_data_exists
from maseval.benchmark.tau2.domains.domain import Domain
from maseval.benchmark.tau2.domains.telecom.models import TelecomDB
from maseval.commands import show
from maseval.data.files import ChecksumError
from maseval.runs import RunFolder
from tests.benchmark.tau2.rooms import room_domain


def edit(file: Path, old: str, new: str) -> None:
    """Replace text in a file; its size and its time stay."""
    before, content = file.stat(), file.read_text()
    assert len(old) == len(new) and old in content
    file.write_text(content.replace(old, new))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.fixture
def database(tau2_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The database of telecom in a cache that is the test's own."""
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("MASEVAL_OFFLINE", "1")
    for folder in ("domains/telecom", "user_simulator"):
        shutil.copytree(tau2_data / folder, default_data_dir() / folder)
    return default_data_dir() / "domains" / "telecom" / "db.toml"


@pytest.mark.data
def test_a_database_that_is_edited_for_a_while_leaves_no_false_finding(database, tmp_path):
    command = ["maseval", "tau2", "run", "-d", "telecom", "-n", "4", "--agent", "gold"]
    made = [sys.executable, "-m", *command, "--output", str(tmp_path / "run")]
    subprocess.run(made, check=True, capture_output=True, timeout=120)
    run = RunFolder.read(tmp_path / "run")
    ExaminedRun(run).examine(next(iter(run.planned)), VERDICT)  # the data is in use from now on

    right = database.read_text()
    database.write_text(right.replace('status = "Active"', 'status = "Suspended"'))
    during = show(tmp_path / "run").check
    database.write_text(right)
    after = show(tmp_path / "run").check

    holding = {"checked": 4, "differing": [], "obstacle": None}
    assert during.to_dict() == after.to_dict() == holding


@pytest.mark.data
def test_a_verified_file_that_was_edited_before_it_was_read_is_an_error(database):
    ensure_data_exists(domain="telecom", verbose=0)
    edit(database, 'status = "Active"', 'status = "Closed"')

    with pytest.raises(ChecksumError, match=r"db\.toml was edited while it was in use"):
        TelecomDB.load(database)


@pytest.fixture
def room(tmp_path: Path) -> Domain:
    """A domain of one task: the wall stays white."""
    domain = room_domain(tmp_path)
    (tmp_path / "db.json").write_text('{"wall": "white"}')
    stays = {"env_type": "assistant", "func_name": "wall_is", "arguments": {"colour": "white"}}
    criteria = {"env_assertions": [stays], "reward_basis": ["ENV_ASSERTION"]}
    task = {"id": "rest", "user_scenario": {}, "evaluation_criteria": criteria}
    (tmp_path / "tasks.json").write_text(json.dumps([task]))
    return domain


@pytest.mark.parametrize("file", ["db.json", "tasks.json"])
@pytest.mark.parametrize("again", [lambda domain: domain, replace], ids=["the same", "a new"])
def test_an_edited_file_of_an_own_domain_counts_at_once(room, file, again):
    nothing = {
        **{"id": "s", "task_id": "rest", "termination_reason": "user_stop"},
        "messages": [{"role": "user", "content": "Leave it.", "timestamp": None}],
    }
    before = score_simulation(nothing, domain=room)["reward"]

    edit(room.data_dir / file, '"white"', '"black"')

    assert (before, score_simulation(nothing, domain=again(room))["reward"]) == (1.0, 0.0)
