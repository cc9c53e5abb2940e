"""Other commands that run something: the same on a cluster as on threads, and from outside it."""

import json
import os
import subprocess
import sys

import pytest

from maseval.commands import macs, tau2
from maseval.runs import RunFolder
from tests.damage import results_in
from tests.interface.ray.conftest import CHECKOUT


def test_a_branch_continues_in_the_workers_as_it_does_here(engine, tmp_path):
    origin = tau2.run(domain="library", agent="noisy", output=tmp_path / "origin", num_tasks=1)
    task = next(iter(RunFolder.read(origin.folder).planned)).task_id

    def branch(name, where):
        output = tmp_path / name
        tau2.branch(run=origin.folder, task=task, at=1, repeats=3, engine=where, output=output)
        return results_in(output)

    assert branch("there", engine) == branch("here", "threads")


@pytest.mark.data
def test_macs_gives_equal_results_in_the_workers(engine, tmp_path, macs_data, monkeypatch):
    monkeypatch.setenv("MASEVAL_MACS_DATA", str(macs_data))
    verdict = [{"assertion": "a", "answer": "TRUE", "evidence": "e"}]
    replies = {
        "agent_model": "It is done.",
        "user_model": '{"text": "Thanks </stop>"}',
        "judge_model": json.dumps(verdict),
    }
    for role, reply in replies.items():
        (tmp_path / f"{role}.json").write_text(json.dumps([reply]))
    models = {role: f"scripted/{tmp_path / role}.json" for role in replies}

    def run(name, where):
        options = {"num_tasks": 2, "trials": 2, "engine": where, "output": tmp_path / name}
        macs.run(domain="travel", **models, **options)
        return results_in(tmp_path / name)

    assert run("there", engine) == run("here", "threads") != []


PROGRAM = """
import sys
from maseval.interface.ray.engine import RayEngine
from tests.core.worlds import Shop, numbered, statuses

for address in sys.argv[1:]:
    with RayEngine(address, processes=2) as engine:
        reports = Shop(num_workers=6).run(numbered(20), engine=engine)
    print(len(reports), set(statuses(reports).values()))
"""


def printed_with(*addresses):
    """In a process of its own: this one is part of the cluster."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *addresses],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=800,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_program_outside_the_cluster_uses_it_as_a_client(nodes):
    assert printed_with(nodes.client_address) == ["20 {'success'}"]


def test_a_process_that_had_a_ray_of_its_own_can_use_a_cluster_afterwards(nodes):
    assert printed_with("local", "auto") == 2 * ["20 {'success'}"]


def test_a_missing_token_is_reported_as_such(nodes, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "auto"],
        cwd=CHECKOUT,
        env={**os.environ, "RAY_AUTH_TOKEN_PATH": "", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=800,
    )

    assert "Ray authenticates by token, and the token here is missing or wrong" in done.stderr
