"""Notes on simulations: kept in the run's folder, and written by the viewer's own page alone."""

import json
from pathlib import Path

import pytest

pytest.importorskip("starlette")

from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Simulation
from maseval.runs import RunFolder
from maseval.runs.exceptions import RunFolderError
from maseval.runs.notes import NOTES, SimulationNote, add_note, read_notes
from tests.runs.worlds import config, report
from tests.view.builders import NOT_OUR_PAGE, PAGE, viewer

pytestmark = pytest.mark.needs(library="starlette")

PATH = "/api/notes?run=run"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    with RunFolder.open(tmp_path / "run", config("a", "b")) as folder:
        folder.append(report("a"))
    return tmp_path


def told(root: Path, **more: str) -> str:
    key = Simulation.of(next(iter(RunFolder.read(root / "run").reports())))._asdict()
    known = {**key, "by": "kim", "text": "The order was right.", "about": "agent: wrong arguments"}
    return json.dumps({**known, "disagrees": True, **more})


def test_a_note_is_kept_and_shown_to_every_reader(root):
    client = viewer(root, writes=True)
    assert client.get(PATH).json() == {"notes": [], "writes": True}

    answer = client.post(PATH, content=told(root), headers=PAGE)

    assert answer.status_code == 200, answer.text
    (note,) = answer.json()["notes"]
    assert (note["by"], note["text"], note["disagrees"]) == ("kim", "The order was right.", True)
    assert note["about"] == "agent: wrong arguments" and note["at"]
    assert viewer(root).get(PATH).json() == {"notes": [note], "writes": False}
    assert len(read_notes(root / "run")) == 1


@pytest.mark.parametrize(("headers", "status"), NOT_OUR_PAGE)
def test_only_our_own_page_may_write(root, headers, status):
    answer = viewer(root, writes=True).post(PATH, content=told(root), headers=headers)
    assert answer.status_code == status
    assert not (root / "run" / NOTES).exists()


def test_a_viewer_that_was_not_started_to_be_written_to_only_reads(root):
    answer = viewer(root).post(PATH, content=told(root), headers=PAGE)
    assert answer.status_code == 405 and "--write" in answer.json()["error"]
    assert viewer(root, writes=True).put(PATH, content=told(root), headers=PAGE).status_code == 405
    assert not (root / "run" / NOTES).exists()


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"task_id": "z"}, 404),
        ({"trial": "x"}, 400),
        ({"by": ""}, 422),
        ({"by": "k" * 61}, 422),
        ({"text": "", "disagrees": False}, 422),
        ({"text": "x" * 4001}, 422),
        ({"text": "x\u202ey"}, 422),
        ({"text": "x" * 70_000}, 400),
    ],
)
def test_what_is_no_note_is_refused_and_nothing_is_written(root, more, status):
    answer = viewer(root, writes=True).post(PATH, content=told(root, **more), headers=PAGE)
    assert answer.status_code == status, answer.text
    assert not (root / "run" / NOTES).exists()


def test_a_body_that_is_no_object_is_refused(root):
    answer = viewer(root, writes=True).post(PATH, content="[]", headers=PAGE)
    assert answer.status_code == 400


def test_a_damaged_file_is_named(root):
    (root / "run" / NOTES).write_text('{"by": "kim"}\n')
    with pytest.raises(RunFolderError, match="no note"):
        read_notes(root / "run")


def test_notes_of_several_people_stand_in_their_order(root):
    one = Simulation("", "a", 0)
    for by in ("kim", "lee", "kim"):
        add_note(root / "run", SimulationNote(one, by, f"by {by}"))
    assert [each.by for each in read_notes(root / "run")] == ["kim", "lee", "kim"]
    with pytest.raises(ConfigurationError, match="empty"):
        add_note(root / "run", SimulationNote(one, "kim", " "))
