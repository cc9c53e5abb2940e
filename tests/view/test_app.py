import pytest

pytest.importorskip("starlette")

from tests.report.reading import rows_of
from tests.runs.worlds import finished_run
from tests.view.builders import viewer

pytestmark = pytest.mark.needs(library="starlette")


def test_every_run_below_the_folder_is_listed(tmp_path):
    finished_run(tmp_path / "one", "a", "b")
    finished_run(tmp_path / "deep" / "two", "a")

    found = viewer(tmp_path).get("/api/runs").json()

    assert {(row["name"], row["state"], row["done"]) for row in found["runs"]} == {
        ("one", "complete", 2),
        ("deep/two", "complete", 1),
    }
    assert found["root"] == str(tmp_path)


def test_a_run_has_the_index_and_the_packets_of_its_report(tmp_path):
    finished_run(tmp_path / "one", "a", "b", trials=2)
    client = viewer(tmp_path)

    index = client.get("/api/run/index", params={"run": "one"}).json()
    packet = client.get("/api/run/packet", params={"run": "one", "domain": "", "task": "b"}).json()

    assert [task["id"] for task in index["tasks"]] == ["a", "b"]
    assert len(rows_of(index)) == 4
    assert len(packet["trials"]) == 2


def test_a_packet_can_be_asked_for_with_one_trial_alone(tmp_path):
    finished_run(tmp_path / "one", "a", trials=3)
    query = {"run": "one", "domain": "", "task": "a"}
    client = viewer(tmp_path)

    packet = client.get("/api/run/packet", params={**query, "trial": "2"}).json()
    missing = client.get("/api/run/packet", params={**query, "trial": "3"})

    assert (packet["names"], len(packet["trials"])) == (["2"], 1)
    assert missing.status_code == 404
    assert "trial '3' of task 'a'" in missing.json()["error"]


@pytest.mark.parametrize("address", ["/", "/run/one", "/run/deep/two", "/search?q=x"])
def test_every_address_is_the_same_page(tmp_path, address):
    answer = viewer(tmp_path).get(address)

    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert '<script type="module" src="/assets/view/view.js">' in answer.text


def test_an_address_without_a_page_is_a_page_for_people_and_a_sentence_for_programs(tmp_path):
    client = viewer(tmp_path)

    shown = client.get("/rnus", headers={"accept": "text/html,*/*"})
    told = client.get("/rnus")

    assert (shown.status_code, told.status_code) == (404, 404)
    assert shown.headers["content-type"] == "text/html; charset=utf-8"
    assert told.json()["error"]


@pytest.mark.parametrize("name", ["page.css", "dom.js", "page.js", "view/view.js", "view/view.css"])
def test_the_modules_of_report_and_viewer_are_served_as_they_are(tmp_path, name):
    assert viewer(tmp_path).get(f"/assets/{name}").status_code == 200


@pytest.mark.parametrize("address", ["/api/run/index", "/api/run/index?run=none", "/nowhere"])
def test_what_is_not_there_is_an_error_in_words(tmp_path, address):
    answer = viewer(tmp_path).get(address)

    assert 400 <= answer.status_code < 500
    assert answer.json()["error"]


def test_a_long_answer_is_compressed_and_a_short_one_is_not(tmp_path):
    short = viewer(tmp_path).get("/api/runs")
    for number in range(20):
        finished_run(tmp_path / f"run-{number}", "a")

    long = viewer(tmp_path).get("/api/runs")

    assert long.headers["content-encoding"] == "gzip" and len(long.json()["runs"]) == 20
    assert int(long.headers["content-length"]) < len(long.content) / 4
    assert "content-encoding" not in short.headers
