"""What the viewer is told of the databases after each message."""

from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.app.results.support import SUPPORT
from maseval.commands import tau2
from maseval.runs import RunFolder
from tests.cli.commandline import require_data

pytestmark = pytest.mark.needs(library="starlette")

LIBRARY = {"domain": "library", "trial": "0"}


@pytest.fixture
def client(tmp_path: Path) -> Any:
    from tests.view.builders import viewer

    return viewer(tmp_path)


def played(folder: Path, **options: str) -> str:
    """A gold run, and the id of its one task."""
    run = tau2.run(**{"domain": "library", **options}, num_tasks=1, agent="gold", output=folder)
    (one,) = RunFolder.read(run.folder).recorded
    return one.task_id


def timeline_of(client: Any, **place: str) -> dict[str, Any]:
    (trial,) = client.get("/api/run/packet", params={**LIBRARY, **place}).json()["trials"]
    return trial["timeline"]


def test_the_timeline_says_what_each_message_changed(client, tmp_path):
    place = {"run": "deep/gold run", "task": played(tmp_path / "deep" / "gold run")}
    timeline = timeline_of(client, **place)

    changes = [call["changed"] for each in timeline["messages"] for call in each["calls"]]
    assert any(changes) and timeline["gold_counts"]
    assert timeline["states"][-1]["from_gold"] == []
    assert timeline["states"][0]["from_gold"] != []


def test_a_results_file_of_tau2_bench_has_a_timeline_too(client, tmp_path):
    task = played(tmp_path / "gold")
    tau2.export(tmp_path / "gold", tmp_path / "file.json")

    assert timeline_of(client, task=task, run="gold") == timeline_of(
        client, task=task, run="file.json"
    )


@pytest.mark.data
def test_a_customers_database_is_told_apart(client, tmp_path):
    require_data()
    task = played(tmp_path / "gold", domain="telecom")
    timeline = timeline_of(client, run="gold", domain="telecom", task=task)

    sides = {each["side"] for state in timeline["states"] for each in state["from_start"]}
    assert "customer" in sides and not timeline["gold_counts"]


def test_a_simulation_without_a_conversation_has_no_timeline(tmp_path):
    played(tmp_path / "gold")
    (report,) = RunFolder.read(tmp_path / "gold").reports()
    del report["traces"]["environment"]["simulation"]

    assert SUPPORT.timeline(report) is None
