"""Tags and notes, changed by the page."""

import pytest

pytest.importorskip("starlette")

from maseval.app.viewing.features import remarks
from maseval.runs import change_note, change_tags, read_annotations
from tests.runs.worlds import finished_run
from tests.view.builders import ADDRESS, viewer

pytestmark = pytest.mark.needs(library="starlette")

OURS = {"origin": ADDRESS}


@pytest.fixture
def root(tmp_path):
    finished_run(tmp_path / "one", "a")
    return tmp_path


def sent(root, path, edit=True, **body):
    client = viewer(root, features=[remarks()], edit=edit)
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


def test_without_edit_nothing_is_changed(root):
    assert sent(root, "tags", edit=False, run="one", tags=["a"]).status_code == 403
    assert sent(root, "note", edit=False, run="one", text="a").status_code == 403
    assert not (root / "one" / "annotations.json").exists()


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
    ],
)
def test_bad_requests_are_refused_and_change_nothing(root, path, body, status):
    answer = sent(root, path, **body)

    assert answer.status_code == status and answer.json()["error"]
    assert not (root / "one" / "annotations.json").exists()
