"""Weights & Biases, offline: what is in the files that it writes."""

import json
import struct
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from maseval import commands
from tests.interface.libraries import needing

pytestmark = [*needing("wandb"), pytest.mark.filterwarnings("ignore::DeprecationWarning")]

BLOCK = 32768
WHOLE, LAST = 1, 4


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in {
        **{"WANDB_MODE": "offline", "WANDB_DIR": tmp_path, "WANDB_CONFIG_DIR": tmp_path},
        **{"WANDB_CACHE_DIR": tmp_path, "WANDB_DATA_DIR": tmp_path, "HOME": tmp_path},
    }.items():
        monkeypatch.setenv(name, str(value))


def records(folder: Path) -> Iterator[Any]:
    """All records of a run's file: the log format of LevelDB, with protobuf messages in it."""
    kind = import_module("wandb.proto.wandb_internal_pb2").Record
    (path,) = folder.glob("*.wandb")
    data, place, parts = path.read_bytes(), 7, b""
    assert data.startswith(b":W&B")
    while place + 7 <= len(data):
        left = BLOCK - place % BLOCK
        if left < 7:
            place += left
            continue
        _, length, state = struct.unpack("<IHB", data[place : place + 7])
        parts += data[place + 7 : place + 7 + length]
        place += 7 + length
        if state in (WHOLE, LAST):
            yield kind.FromString(parts)
            parts = b""


def test_a_run_is_written_with_everything_and_resumed_under_its_id(booking, tmp_path):
    for trials in (2, 3):
        booking(trials)
        commands.sync("mine", ["wandb=team/shop"])
    (again,) = commands.sync("mine", ["wandb=team/shop"])

    assert (again.sent, again.before) == (0, 1)
    first, second = sorted(path for path in (tmp_path / "wandb").glob("offline-run-*"))
    assert first.name.endswith(again.run) and second.name.endswith(again.run)
    seen = list(records(second))
    (run,) = [each.run for each in seen if each.WhichOneof("record_type") == "run"]
    assert (run.entity, run.project, run.display_name) == ("team", "shop", "mine")
    config = {each.key: json.loads(each.value_json) for each in run.config.update}
    assert config["agent.slip_rate"] == "0.2" and config["trials"] == "3"
    history = [each.history for each in seen if each.WhichOneof("record_type") == "history"]
    logged = {
        item.key or ".".join(item.nested_key): json.loads(item.value_json)
        for each in history
        for item in each.item
    }
    found = commands.show("mine").summary.overall.pass_hat[1]
    assert logged["pass_hat_1"] == found.value
    assert (logged["pass_hat_1_low"], logged["pass_hat_1_high"]) == (found.low, found.high)
    artefacts = [
        entry.path
        for each in seen
        if each.WhichOneof("record_type") == "artifact"
        for entry in each.artifact.manifest.contents
    ]
    assert "report.html" in [Path(path).name for path in artefacts]
