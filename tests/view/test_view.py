import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("starlette")

from maseval import commands
from maseval.app.results.names import UnknownRunError
from maseval.benchmark.tau2.app.results import sources
from maseval.commands import tau2
from maseval.core.exceptions import ConfigurationError
from maseval.interface import extras
from maseval.view.library import Library
from maseval.view.serving import ViewServer
from tests.benchmark.tau2.app.doctored import doctored, shuffled_task_ids
from tests.damage import DAMAGES
from tests.noisy_runs import noisy_run
from tests.report.reading import index_of, rows_of
from tests.runs.worlds import finished_run
from tests.view.builders import finish_background_work, viewer
from tests.waiting import wait_until

pytestmark = pytest.mark.needs(library="starlette")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of the built-in domain in which something fails, and its export."""
    root = tmp_path_factory.mktemp("played")
    run = noisy_run(root / "run", 0.5, num_tasks=4).folder
    tau2.export(run, root / "files" / "theirs.json")
    return root


@pytest.fixture
def ask(
    played: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Callable[..., Any]]:
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path))
    viewer = commands.view(played, port=0)
    with viewer.server, httpx.Client(base_url=viewer.address, timeout=60) as client:
        yield lambda path, **query: client.get(f"/api/{path}", params=query).json()


def test_a_run_has_the_numbers_facts_and_notes_of_its_report(ask, played):
    written = commands.report(played / "run", played / "report.html", explain=False).read_text()
    text = written.partition('id="index">')[2].partition("</script>")[0]
    expected = json.loads(text)

    index = ask("run/index", run="run")
    for each in (index, expected):
        del each["simulations"]["columns"]["labels"]  # the viewer may have found some by now

    same = ("facts", "results", "plots", "tasks", "simulations")
    assert {key: index[key] for key in same} == {key: expected[key] for key in same}
    assert index["live"]["state"] == "complete"


def test_failures_are_explained_when_they_are_opened_and_labelled_from_then_on(ask):
    index = ask("run/index", run="run")
    failed = next(each for each in rows_of(index) if each["outcome"] != "pass")
    task = index["tasks"][failed["task"]]

    packet = ask("run/packet", run="run", domain=task["domain"], task=task["id"])
    again = ask("run/index", run="run")

    place = [each["trial"] for each in rows_of(again) if each["task"] == failed["task"]]
    shown = packet["trials"][place.index(failed["trial"])]["explanation"]["label"]["name"]
    (labels,) = [
        each["labels"]
        for each in rows_of(again)
        if (each["task"], each["trial"]) == (failed["task"], failed["trial"])
    ]
    assert failed["labels"] == [] and labels[0] == shown


def test_a_results_file_is_listed_judged_in_the_background_and_shown_like_a_run(ask):
    def listed():
        return {row["name"]: row for row in ask("runs")["runs"]}

    wait_until(lambda: listed()["files/theirs.json"]["planned"])
    file, run = listed()["files/theirs.json"], listed()["run"]
    packet_of = ask("run/index", run="files/theirs.json")["tasks"][0]
    packet = ask(
        "run/packet", run="files/theirs.json", domain=packet_of["domain"], task=packet_of["id"]
    )

    assert (file["kind"], file["state"], file["domains"]) == ("results", "complete", ["library"])
    assert (file["pass_1"], file["planned"]) == (run["pass_1"], run["planned"])
    assert len(packet["trials"]) == 2


def test_the_page_of_a_run_says_that_its_log_was_cut_off(tmp_path):
    run = finished_run(tmp_path / "run", "a", "b")
    DAMAGES["cut"].do(run)
    library = Library(tmp_path)

    shown = library.run("run").results()["results"]

    [row] = library.rows()
    for said in (shown["doubt"]["reasons"][0], row["problem"]):
        assert "the last 2 lines are missing or cut off" in said
    assert (row["state"], row["done"], row["planned"]) == ("damaged", 1, 2)


def test_a_run_or_a_file_is_opened_among_those_beside_it(played):
    for name, path in (("run", "/run/run"), ("files/theirs.json", "/run/theirs.json")):
        viewer = commands.view(played / name, port=0)
        viewer.server.close()

        assert viewer.address.endswith(path)
        assert viewer.folder == (played / name).parent


def test_only_this_machine_is_admitted_without_a_token(played):
    viewer = commands.view(played, host="0.0.0.0", port=0)
    with viewer.server:
        here = viewer.address.partition("?")[0]
        outside = httpx.get(f"{here}api/runs")
        welcome = httpx.get(viewer.address, follow_redirects=True)

    assert outside.status_code == 401
    assert welcome.status_code == 200 and "token" not in str(welcome.url)


def test_a_port_that_is_taken_is_named(played):
    first = commands.view(played, port=0)
    with first.server, pytest.raises(ConfigurationError, match=f":{first.server.port}: .*--port"):
        commands.view(played, port=first.server.port)


def test_what_is_neither_a_folder_nor_a_run_is_named(tmp_path):
    with pytest.raises(UnknownRunError, match="neither a folder of runs nor a run"):
        commands.view(tmp_path / "none", port=0)


def test_a_server_that_was_never_started_can_be_closed(played):
    server = commands.view(played, port=0).server

    assert isinstance(server, ViewServer)
    server.close()
    server.close()


def test_without_the_extra_the_error_says_how_to_install_it(played, monkeypatch):
    monkeypatch.setattr(extras, "is_installed", lambda module: module != "uvicorn")

    with pytest.raises(extras.MissingExtraError, match=r"uvicorn is not installed.*\[view\]"):
        commands.view(played, port=0)


@pytest.fixture
def doubtful(played: Path) -> Iterator[str]:
    """A results file whose tasks and simulations have the ids of others."""
    document = json.loads((played / "files" / "theirs.json").read_text())
    path = played / "files" / "shuffled.json"
    path.write_text(doctored(document, partial(shuffled_task_ids, by=1)))
    yield "files/shuffled.json"
    path.unlink()


def test_a_doubtful_results_file_looks_so(ask, doubtful):
    def listed():
        return {row["name"]: row for row in ask("runs")["runs"]}[doubtful]

    wait_until(lambda: listed()["state"] != "reading", "the file to be judged")
    row, index = listed(), ask("run/index", run=doubtful)
    (honest,) = (row for row in ask("runs")["runs"] if row["name"] == "files/theirs.json")

    assert honest["doubt"] is None
    assert row["doubt"] == index["results"]["doubt"]
    assert "task ids shuffled" in row["doubt"]["reasons"][0]
    assert not set(row["doubt"]["reasons"]) & set(index["results"]["notes"])
    recorded, recomputed = row["doubt"]["recorded"]["value"], row["pass_1"]["value"]
    assert recomputed == row["doubt"]["recomputed"]["value"] < recorded == honest["pass_1"]["value"]


def test_a_simulation_whose_task_does_not_fit_its_conversation_says_so(ask, doubtful):
    task = ask("run/index", run=doubtful)["tasks"][0]
    query = {"domain": task["domain"], "task": task["id"], "trial": "0"}

    (shown,) = ask("run/packet", run=doubtful, **query)["trials"]

    assert f"the file calls it task {task['id']}" in shown["doubt"]
    assert shown["explanation"]["label"]["name"] == "unclear: task does not fit"


def test_the_report_of_a_doubtful_file_begins_with_the_doubt(played, doubtful, tmp_path):
    path = commands.report(played / doubtful, tmp_path / "page.html", explain=False)

    page = index_of(path)

    assert "task ids shuffled" in page["results"]["doubt"]["reasons"][0]
    assert not any("shuffled" in note for note in page["results"]["notes"] if "rewards" not in note)
    assert all(each["labels"] == ["record: task does not fit"] for each in rows_of(page))


def test_verdicts_that_another_command_recomputed_are_not_recomputed_for_a_page(
    monkeypatch, tmp_path
):
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "cache"))
    run = tau2.run(domain="library", agent="gold", num_tasks=2, output=tmp_path / "run").folder
    commands.show(run)
    with (run / "log.jsonl").open("ab") as log:
        log.write(b"\n")  # another file, of the same conversations
    judged, judge = [], sources.judge
    monkeypatch.setattr(
        sources,
        "judge",
        lambda report, *given, **more: judged.append(report) or judge(report, *given, **more),
    )

    viewed = Library(tmp_path).run("run")
    viewed.check_verdicts()

    assert viewed._check.to_dict()["checked"] == 2 and not judged


@pytest.mark.data
def test_a_conversation_is_shown_where_its_verdict_cannot_be_explained(
    tau2_data, tmp_path, monkeypatch
):
    noisy_run(tmp_path / "run", 1.0, domain="retail", task_id=["0"], trials=1)
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "empty"))
    monkeypatch.setenv("MASEVAL_OFFLINE", "1")
    client = viewer(tmp_path)

    packet = client.get("/api/run/packet?run=run&domain=retail&task=0").json()
    client.get("/api/run/index?run=run")
    finish_background_work("maseval-labels")
    index = client.get("/api/run/index?run=run").json()

    (trial,) = packet["trials"]
    assert trial["messages"] and trial["unexplained"].startswith("could not get domains/retail")
    assert index["live"]["labelled"] == 1, "nothing more is waited for"
    assert any("Failures are not explained" in note for note in index["results"]["notes"])
