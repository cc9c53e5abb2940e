"""What the viewer is told of the databases after each message."""

import pytest

from maseval.benchmark.tau2.app.results.support import SUPPORT
from maseval.commands import tau2
from maseval.runs import RunFolder
from tests.cli.commandline import require_data

pytestmark = pytest.mark.needs(library="starlette")

LIBRARY = {"domain": "library", "trial": "0"}


@pytest.fixture
def client(tmp_path):
    from maseval.app.viewing.features import timelines
    from maseval.app.viewing.reader import BenchmarkReader
    from tests.view.builders import viewer

    return viewer(tmp_path, reader=BenchmarkReader(), features=[timelines()])


def played(folder, **options):
    """A gold run, and the id of its one task."""
    run = tau2.run(**{"domain": "library", **options}, num_tasks=1, agent="gold", output=folder)
    (one,) = RunFolder.read(run.folder).recorded
    return one.task_id


def test_the_timeline_says_what_each_message_changed(client, tmp_path):
    task = played(tmp_path / "deep" / "gold run")
    answer = client.get(
        "/api/run/timeline", params={**LIBRARY, "run": "deep/gold run", "task": task}
    )

    found = answer.json()
    timeline = found["timeline"]
    changes = [call["changed"] for each in timeline["messages"] for call in each["calls"]]
    assert any(changes) and timeline["gold_counts"]
    assert timeline["states"][-1]["from_gold"] == []
    assert timeline["states"][0]["from_gold"] != []
    assert found["branch"].startswith("maseval tau2 branch ")
    assert found["branch"].endswith(f"deep/gold run' library/{task} 0")


def test_records_are_searched_as_they_were_at_a_message(client, tmp_path):
    task = played(tmp_path / "gold")
    place = {**LIBRARY, "run": "gold", "task": task}
    messages = client.get("/api/run/timeline", params=place).json()["timeline"]["messages"]
    (name,) = {
        each["place"].partition(".")[0]
        for message in messages
        for call in message["calls"]
        for each in call["changed"][:1]
    }

    words = name.replace("[", " ").replace("]", "")
    last = messages[-1]["index"]
    now = client.get("/api/run/records", params={**place, "q": words, "message": last}).json()
    start = client.get("/api/run/records", params={**place, "q": words}).json()

    assert now["records"][0]["changed"] and not any(r["changed"] for r in start["records"])
    assert client.get("/api/run/records", params={**place, "q": "no such thing"}).json() == {
        "total": 0,
        "records": [],
    }


def test_a_results_file_of_tau2_bench_has_a_timeline_too(client, tmp_path):
    task = played(tmp_path / "gold")
    tau2.export(tmp_path / "gold", tmp_path / "file.json")
    place = {**LIBRARY, "task": task}

    of_run, of_file = (
        client.get("/api/run/timeline", params={**place, "run": name}).json()["timeline"]
        for name in ("gold", "file.json")
    )

    assert of_run == of_file


@pytest.mark.data
def test_a_customers_database_is_told_apart(client, tmp_path):
    require_data()
    task = played(tmp_path / "gold", domain="telecom")
    place = {"run": "gold", "domain": "telecom", "task": task, "trial": "0"}
    timeline = client.get("/api/run/timeline", params=place).json()["timeline"]

    sides = {each["side"] for state in timeline["states"] for each in state["from_start"]}
    assert "customer" in sides and not timeline["gold_counts"]


def test_what_is_not_there_is_refused_in_a_sentence(client, tmp_path):
    task = played(tmp_path / "gold")
    place = {**LIBRARY, "run": "gold", "task": task}

    def refusal(path="/api/run/timeline", **changes):
        answer = client.get(path, params={**place, **changes})
        return answer.status_code, answer.json()["error"]

    assert refusal(trial="7") == (
        404,
        f"the run has no finished simulation library/{task}, trial 7",
    )
    assert refusal(trial="-1")[0] == 400
    assert refusal(run="../gold")[0] == 404
    status, words = refusal("/api/run/records", q="x", message="999")
    assert status == 422 and "no message 999" in words


def test_a_simulation_without_a_conversation_has_no_timeline(tmp_path):
    played(tmp_path / "gold")
    (report,) = RunFolder.read(tmp_path / "gold").reports()
    del report["traces"]["environment"]["simulation"]

    assert SUPPORT.timeline(report) is None
