"""Only the domain that runs is imported, from the run to what is shown of it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from maseval.benchmark.tau2.domains import DOMAINS
from maseval.benchmark.tau2.domains.registration import BANKING, PLACES

PROGRAM = """
import json, sys
from maseval.commands import show, tau2

name, folder = sys.argv[1:]
tau2.run(domain=name, agent="noisy", num_tasks=1, output=folder)
show(folder)
print(json.dumps(sorted(sys.modules)))
"""
OWN = {place.partition(":")[0] for place in (PLACES | BANKING | {"library": "library:"}).values()}


def modules_of_a_run(name: str, folder: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, name, str(folder / "run")],
        capture_output=True,
        text=True,
        env={**os.environ, "XDG_STATE_HOME": str(folder)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.data
@pytest.mark.parametrize("name", ["retail", "airline", "telecom", "library"])
def test_a_run_and_what_is_shown_of_it_import_no_other_domain(
    name: str, tau2_data: Path, tmp_path: Path
) -> None:
    assert {name.partition("@")[0].removesuffix("-workflow") for name in DOMAINS} == OWN
    loaded = modules_of_a_run(name, tmp_path)

    for room in ("domains", "review.policy"):
        inside = [each.split(f".tau2.{room}.")[1] for each in loaded if f".tau2.{room}." in each]
        assert OWN.intersection(each.partition(".")[0] for each in inside) == {name}
