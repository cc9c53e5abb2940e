"""Our files in public formats, checked by the packages of those formats."""

import gzip
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from maseval import commands
from maseval.commands import tau2
from maseval.exchange.atif import read_trajectory
from maseval.exchange.atif_writing import Conversation, trajectory_of
from tests.benchmark.tau2.results.builders import simulation
from tests.interface.libraries import needing

pytestmark = needing("atif")

MODELS = {"atif": "atif", "harbor": "harbor.models.trajectories"}
CONTRACT = os.environ.get("MASEVAL_CONTRACT_DIR")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("library") / "run"
    return tau2.run(domain="library", agent="noisy", num_tasks=4, trials=2, output=folder).folder


def model_of(package: Any) -> Any:
    return importlib.import_module(MODELS[package]).Trajectory


def returned(package: Any, text: str) -> Any:
    """A trajectory as a package's model writes what it read."""
    found = model_of(package).model_validate_json(text)
    dump = getattr(found, "to_json_dict", None) or (lambda: found.model_dump(mode="json"))
    return read_trajectory(json.loads(json.dumps(dump())))


@pytest.mark.parametrize("package", MODELS)
def test_trajectories_of_a_run_are_valid_and_survive_the_package(package, run, tmp_path):
    (found,) = commands.export(run, "atif", tmp_path / "out.jsonl", single=True)

    lines = found.path.read_text().splitlines()
    assert len(lines) == 8
    for line in lines:
        assert returned(package, line)[2:] == read_trajectory(json.loads(line))[2:]


@pytest.mark.parametrize("package", MODELS)
def test_an_empty_conversation_is_valid(package):
    root, _ = trajectory_of(Conversation(simulation(messages=[])))
    assert returned(package, json.dumps(root)).messages == []


@pytest.mark.parametrize("package", MODELS)
@pytest.mark.parametrize("domain", ["airline", "retail", "telecom"])
@pytest.mark.skipif(CONTRACT is None, reason="the contract is not here")
def test_real_conversations_are_valid_and_survive_the_package(package, domain):
    path = Path(CONTRACT, "conversations", f"{domain}.jsonl.gz")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        every = [json.loads(line)["simulation"] for line in file]

    for record in every:
        root, _ = trajectory_of(Conversation(record, {"domain": domain}, prompt="Be kind."))
        found = returned(package, json.dumps(root))
        back = {"messages": found.messages, **found.own["simulation"]}
        assert json.dumps(back, sort_keys=True) == json.dumps(record, sort_keys=True)


def test_results_are_valid_in_every_eval_ever(run, tmp_path):
    commands.export(run, "eee", tmp_path / "out")
    files = [
        str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*.json*")
    ]

    program = Path(sys.executable).with_name("every_eval_ever")
    done = subprocess.run(
        [program, "validate", "--format", "json", *files],
        cwd=tmp_path / "out",
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert len(files) == 2
    assert done.returncode == 0, done.stdout + done.stderr
