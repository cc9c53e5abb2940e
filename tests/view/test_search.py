"""Search over all conversations: with an index, without one, and while a run goes on."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")

from maseval.runs import RunFolder
from maseval.view import search
from maseval.view.search import Search, chunks_of, excerpt_of
from tests.browser.runs import planned, written_run
from tests.report.builders import answered, call, said, simulated
from tests.view.builders import finish_background_work, viewer

pytestmark = pytest.mark.needs(library="starlette")

PARROT = [
    said("assistant", "Hi!"),
    said("user", "My parrot's name is Zoë-Malu."),
    said("assistant", None, call("find_parrot_keeper", bird="Zoë-Malu", city="Lund")),
    answered("Error: keeper K-77 is away", error=True),
    said("assistant", "Nobody is there. ###STOP###"),
]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is, an answer has everything that was there when it was asked."""
    monkeypatch.setattr(search, "_PATIENCE", 600)
    monkeypatch.setattr(search, "_PATIENCE_OF_FILTERS", 600)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two runs: of the second, task 1 failed and speaks of a parrot."""
    written_run(tmp_path / "runs" / "one", [simulated("0"), simulated("1")])
    parrot = simulated("1", reward=0.0, messages=PARROT)
    written_run(tmp_path / "runs" / "two", [simulated("0"), parrot])
    return tmp_path / "runs"


@pytest.fixture
def found(folder: Path) -> Callable[..., Any]:
    return finder(folder)


def finder(folder: Path) -> Callable[..., Any]:
    client = viewer(folder)

    def find(words, **query):
        answer = client.get("/api/search", params={"q": words, **query})
        assert answer.status_code == 200, answer.text
        return answer.json()

    return find


def places(answer: dict[str, Any]) -> set[tuple[str, str, str, int, int]]:
    return {(h["run"], h["domain"], h["task"], h["trial"], h["message"]) for h in answer["hits"]}


def test_words_are_found_in_messages_tools_arguments_and_errors(found):
    where = {("two", "retail", "1", 0)}

    for words, message in (
        ("parrot's name", 1),
        ("find_parrot_keeper", 2),
        ("find_parrot", 2),
        ("lund", 2),
        ("K-77", 2),
        ("zoë-malu lund", 2),
        ('"is away"', 2),
    ):
        answer = found(words)
        assert places(answer) == {(*one, message) for one in where}, words
        assert answer["total"] == 1 and answer["took_ms"] >= 0 and answer["unread"] == 0
    assert found("parrot's name")["hits"][0]["excerpt"] == PARROT[1]["content"]


def test_a_run_narrows_the_search(found):
    assert {h["run"] for h in found("cancel")["hits"]} == {"one", "two"}
    assert {h["run"] for h in found("cancel", run="one")["hits"]} == {"one"}
    assert found("parrot", run="one")["hits"] == []
    assert found("?!")["total"] == found("")["total"] == found("nothing like it")["total"] == 0


def test_many_hits_come_in_pages(folder, found):
    written_run(folder / "many", [simulated(str(task), messages=PARROT) for task in range(30)])

    pages = [found("parrot's", run="many", skip=skip) for skip in (0, 25, 50)]

    assert [page["total"] for page in pages] == [30, 30, 30]
    assert [len(page["hits"]) for page in pages] == [25, 5, 0]
    assert len(places(pages[0]) | places(pages[1])) == 30


def test_signs_of_the_query_language_are_only_text(found):
    for words in ('"', "a*b", "NEAR(x)", "text:cancel", "-cancel", "x' OR 1=1 --", "^(", "\0é"):
        found(words)
    assert found("NOT parrot")["total"] == 0


def test_what_is_unknown_is_refused(folder):
    client = viewer(folder)

    assert client.get("/api/search").status_code == 400
    assert client.get("/api/search", params={"q": "x", "skip": "-1"}).status_code == 400
    assert client.get("/api/search", params={"q": "x", "run": "../two"}).status_code == 404


def test_every_simulation_is_named_once_where_only_those_are_wanted(folder):
    answer = finder(folder)("order", per="simulation", run="one")

    assert answer["hits"] == [
        {"run": "one", "domain": "retail", "task": task, "trial": 0} for task in ("1", "0")
    ]


def test_how_far_a_run_is_read_is_said_until_all_of_it_is(folder, monkeypatch):
    monkeypatch.setattr(search, "_PATIENCE_OF_FILTERS", -1)
    monkeypatch.setattr(search, "_BATCH", 1)
    monkeypatch.setattr(Search, "_keep_up", lambda self: None)
    find = finder(folder)

    first, second = (find("parrot", per="simulation", run="two") for _ in range(2))

    assert "MB" in first["waiting"] and "hits" not in first
    assert [hit["task"] for hit in second["hits"]] == ["1"]


def test_a_line_that_is_never_finished_does_not_keep_a_filter_waiting(folder):
    with (folder / "two" / "log.jsonl").open("ab") as log:
        log.write(b'{"torn')

    found = finder(folder)("parrot", per="simulation", run="two")

    assert [hit["task"] for hit in found["hits"]] == ["1"]


def test_a_running_run_is_found_as_it_goes_on(folder):
    find = finder(folder)
    reports = [simulated("0"), simulated("7", messages=PARROT)]
    assert find("parrot")["total"] == 2
    with RunFolder.open(folder / "three", planned(reports)) as run:
        run.append(reports[0])
        assert find("parrot", run="three")["total"] == 0
        run.append(reports[1])
        assert places(find("parrot's", run="three")) == {("three", "retail", "7", 0, 1)}


def test_of_several_reports_on_a_simulation_the_last_one_is_found(folder):
    find = finder(folder)
    failed = simulated("1", messages=PARROT, status="setup_failed")
    with RunFolder.open(folder / "again", planned([failed])) as run:
        run.append(failed)
        assert find("parrot", run="again")["total"] > 0
        run.append(simulated("1"))
        assert find("parrot", run="again")["total"] == 0
        assert find("cancelled", run="again")["total"] > 0


def test_a_run_that_was_written_anew_or_deleted_is_forgotten(folder):
    find = finder(folder)
    assert find("parrot", run="two")["total"] == 2
    for each in (folder / "two").iterdir():
        each.unlink()
    written_run(folder / "two", [simulated("0")])
    assert find("parrot")["total"] == 0
    assert {h["run"] for h in find("cancel")["hits"]} == {"one", "two"}
    for each in (folder / "one").iterdir():
        each.unlink()
    (folder / "one").rmdir()
    assert {h["run"] for h in find("cancel")["hits"]} == {"two"}


def test_a_torn_line_is_waited_for_and_a_broken_one_passed_over(folder):
    find = finder(folder)
    log = folder / "two" / "log.jsonl"
    whole = log.read_bytes()
    lines = whole.splitlines(keepends=True)
    log.write_bytes(lines[0] + b"{broken\n" + b"".join(lines[1:-2]) + lines[-2][:50])
    before = find("parrot", run="two")["total"]
    log.write_bytes(lines[0] + b"{broken\n" + b"".join(lines[1:]))

    assert (before, find("parrot", run="two")["total"]) == (0, 2)


def test_chunks_and_excerpts():
    assert chunks_of('a "b c" ?? d_e') == ["a", "b c", "d_e"]
    text = "x " * 100 + "needle" + " y" * 100
    shown = excerpt_of(text, ["NEEDLE"])
    assert shown.startswith("…") and shown.endswith("…") and "needle" in shown
    assert excerpt_of("short", ["nothing"]) == "short"


def test_a_results_file_is_searched_too(tmp_path, monkeypatch):
    from maseval.commands import tau2

    run = tau2.run(domain="library", num_tasks=1, agent="gold", output=tmp_path / "run").folder
    (tmp_path / "files").mkdir()
    tau2.export(run, tmp_path / "files" / "theirs.json")
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "cache"))
    client = viewer(tmp_path / "files")
    client.get("/api/search", params={"q": "anything else"})
    finish_background_work("maseval-search")
    found = client.get("/api/search", params={"q": "everything I can do"}).json()

    (hit,) = found["hits"]
    assert hit["run"] == "theirs.json" and "everything I can do" in hit["excerpt"]
    asked = {"q": "everything I can do", "run": "theirs.json", "per": "simulation"}
    (simulation,) = client.get("/api/search", params=asked).json()["hits"]
    assert simulation == {key: hit[key] for key in ("run", "domain", "task", "trial")}


def test_what_is_unread_of_other_runs_is_not_said_of_one(folder):
    index = Search(viewer(folder).app.state.library)
    sizes = [(folder / name / "log.jsonl").stat().st_size for name in ("one", "two")]

    found = [index.find("parrot", run)["unread"] for run in ("one", "two", None)]

    assert found == [*sizes, sum(sizes)]
