"""Tags, notes and remarks, changed by the page."""

import pytest

pytest.importorskip("starlette")

from maseval.app.viewing.features import remarks
from maseval.runs import change_note, change_tags, read_annotations
from tests.report.reading import rows_of
from tests.runs.worlds import finished_run
from tests.view.builders import ADDRESS, viewer

pytestmark = pytest.mark.needs(library="starlette")

OURS = {"origin": ADDRESS}


@pytest.fixture
def root(tmp_path):
    finished_run(tmp_path / "one", "a")
    return tmp_path


def sent(root, path, edit=True, **body):
    client = viewer(root, features=[remarks(edit=edit)], edit=edit)
    return client.post(f"/api/run/{path}", json=body, headers=OURS)


def test_tags_and_note_are_shown_and_changed(root):
    assert sent(root, "tags", run="one", tags=["a", "b"]).json()["tags"] == ["a", "b"]
    assert sent(root, "note", run="one", text="look\nhere").json()["note"] == "look\nhere"

    [row] = viewer(root).get("/api/runs").json()["runs"]
    assert (row["tags"], row["note"]) == (["a", "b"], "look\nhere")
    assert sent(root, "note", run="one", text="").json()["note"] is None


def test_what_others_changed_meanwhile_is_kept(root):
    change_tags(root / "one", ["old", "theirs"])

    found = sent(root, "tags", run="one", tags=["mine"], was=["old"]).json()

    assert found["tags"] == ["theirs", "mine"]
    change_note(root / "one", "theirs")
    refused = sent(root, "note", run="one", text="mine", was=None)
    assert refused.status_code == 422 and "changed the note" in refused.json()["error"]
    assert read_annotations(root / "one").note == "theirs"


def about(task="a", **more):
    return {"run": "one", "domain": "", "task": task, "trial": "0", **more}


def test_remarks_and_opinions_are_kept_and_shown_to_every_page(root):
    client = viewer(root, features=[remarks(edit=True)], edit=True)
    [row] = rows_of(client.get("/api/run/index?run=one").json())
    first = sent(root, "remark", **about(text="<b>here</b>", message=1)).json()
    opinion = about(opinion="disagree", outcome=row["outcome"], text="it helped")

    found = sent(root, "remark", **opinion).json()

    assert first["reading"] is None
    assert found["reading"] == "Readers disagree with 1 of 1 verdict they have read"
    assert client.get("/api/run/remarks?run=one").json() == {**found, "edit": True}
    index = client.get("/api/run/index?run=one").json()
    assert [index["remarks"], index["reading"]] == [found["remarks"], found["reading"]]
    assert [(each["text"], each["message"], each["trial"]) for each in found["remarks"]] == [
        ("<b>here</b>", 1, "0"),
        ("it helped", None, "0"),
    ]
    rival = sent(root, "remark", **{**opinion, "opinion": "agree"})
    assert rival.status_code == 422 and "someone else" in rival.json()["error"]
    mine = {key: found["remarks"][1][key] for key in ("id", "written")}
    changed = sent(root, "remark", **{**opinion, **mine, "opinion": "agree"}).json()
    assert changed["reading"] == "Readers disagree with 0 of 1 verdict they have read"


def test_a_verdict_that_is_no_longer_there_takes_no_opinion(root):
    refused = sent(root, "remark", **about(opinion="agree", outcome="error"))

    assert refused.status_code == 400 and "changed since" in refused.json()["error"]
    assert not (root / "one" / "remarks.json").exists()


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("tags", {"run": "../one", "tags": ["a"]}, 404),
        ("tags", {"run": "none", "tags": ["a"]}, 404),
        ("tags", {"run": "one", "tags": "a"}, 400),
        ("tags", {"run": "one", "tags": ["a\nb"]}, 422),
        ("tags", {"run": "one", "tags": [f"t{number}" for number in range(60)]}, 422),
        ("note", {"run": "one", "text": 3}, 400),
        ("note", {"run": "one", "text": "\x1b[2J"}, 422),
        ("note", {"run": "one", "text": "x" * 30_000}, 422),
        ("note", {"text": "x"}, 400),
        ("remark", about("none", text="x"), 404),
        ("remark", about(text=3), 400),
        ("remark", about(text="x", message="1"), 400),
        ("remark", about(text="x", message=True), 400),
        ("remark", about(opinion="perhaps", text=""), 400),
        ("remark", about(text="\u202e"), 422),
    ],
)
def test_bad_requests_are_refused_and_change_nothing(root, path, body, status):
    answer = sent(root, path, **body)

    assert answer.status_code == status and answer.json()["error"]
    assert not {"annotations.json", "remarks.json"} & {each.name for each in root.rglob("*")}
