"""Runs on a cluster from outside it."""

import os
import subprocess
import sys
from typing import Any

from tests.interface.ray.conftest import CHECKOUT

PROGRAM = """
import sys
from maseval.interface.ray.engine import RayEngine
from tests.core.worlds import Shop, numbered, statuses

for address in sys.argv[1:]:
    with RayEngine(address, processes=2) as engine:
        reports = Shop(num_workers=6).run(numbered(20), engine=engine)
    print(len(reports), set(statuses(reports).values()))
"""


def printed_with(*addresses: Any) -> list[str]:
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
