"""The labelling page: what it shows, what it keeps, and whom it lets write."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")

from maseval.app.judging.label import begin_labelling
from maseval.view.command import view
from tests.app.judging.runs import judge_passes
from tests.noisy_runs import noisy_run
from tests.view.builders import NOT_OUR_PAGE, PAGE, viewer

pytestmark = pytest.mark.needs(library="starlette")

ADDRESS_OF_LABELS = "/api/label?run=run&by=kim&numbers=6"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = noisy_run(tmp_path_factory.mktemp("labelled") / "run", 0.02).folder
    judge_passes(folder)
    return folder


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "run")
    return tmp_path


def answer_to(state: dict[str, Any], answer: str, **more: Any) -> str:
    one = {key: state["next"][key] for key in ("domain", "task_id", "trial")}
    return json.dumps({**one, "answer": answer, **more})


def test_each_conversation_is_shown_without_what_a_judge_said(root):
    client = viewer(root, writes=True)
    state = client.get(ADDRESS_OF_LABELS).json()
    assert (state["labelled"], state["total"]) == (0, 6)
    assert state["answers"] == ["kept", "broken", "unsure"]
    assert state["next"]["messages"] and state["next"]["policy"] and state["next"]["wish"]
    assert "a-judge answered" not in json.dumps(state)
    assert not {"verdicts", "explanation", "labels"} & state["next"].keys()


def test_labels_are_kept_and_resumed(root):
    client = viewer(root, writes=True)
    state = client.get(ADDRESS_OF_LABELS).json()
    for number in range(6):
        told = answer_to(state, "kept", note="fine" if number == 0 else None)
        answer = client.post(ADDRESS_OF_LABELS, content=told, headers=PAGE)
        assert answer.status_code == 200, answer.text
        state = answer.json()
        assert state["said"].startswith("a-judge answered:")
        assert state["labelled"] == number + 1
        assert state == {**viewer(root).get(ADDRESS_OF_LABELS).json(), "said": state["said"]}
    assert "next" not in state
    assert "corrected by 6 labels" in state["shares"][0]
    labels = begin_labelling(root / "run", "kim", numbers=6).labelled.values()
    assert [each.note for each in labels].count("fine") == 1


@pytest.mark.parametrize(("headers", "status"), NOT_OUR_PAGE)
def test_only_our_own_page_may_write(root, headers, status):
    client = viewer(root, writes=True)
    state = client.get(ADDRESS_OF_LABELS).json()
    answer = client.post(ADDRESS_OF_LABELS, content=answer_to(state, "kept"), headers=headers)
    assert answer.status_code == status
    assert not begin_labelling(root / "run", "kim").labelled


def test_a_viewer_that_was_not_started_to_be_written_to_only_reads(root):
    state = viewer(root).get(ADDRESS_OF_LABELS).json()
    answer = viewer(root).post(ADDRESS_OF_LABELS, content=answer_to(state, "kept"), headers=PAGE)
    assert answer.status_code == 405
    assert "--write" in answer.json()["error"]
    for method in ("put", "delete", "patch"):
        refused = getattr(viewer(root, writes=True), method)(ADDRESS_OF_LABELS, headers=PAGE)
        assert refused.status_code == 405
    assert viewer(root, writes=True).post("/api/runs", headers=PAGE).status_code == 405


def test_other_machines_need_the_token_to_write(root):
    client = viewer(root, writes=True, token="secret", hosts=None)
    assert client.post(ADDRESS_OF_LABELS, content="{}", headers=PAGE).status_code == 401


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("[]", "no label"),
        ("{", "no label"),
        ('{"domain": "library"}', "no label"),
        ('{"domain": "library", "task_id": "x", "trial": 0, "answer": "kept"}', "not drawn"),
        ('{"note": "' + "x" * 70_000 + '"}', "at most"),
    ],
)
def test_what_is_no_label_is_refused_and_nothing_kept(root, body, words):
    answer = viewer(root, writes=True).post(ADDRESS_OF_LABELS, content=body, headers=PAGE)
    assert answer.status_code in (400, 422)
    assert words in answer.json()["error"]
    assert not begin_labelling(root / "run", "kim").labelled


@pytest.mark.parametrize(
    "address",
    [
        "/api/label?run=run",
        "/api/label?run=none&by=kim",
        "/api/label?run=run&by=kim&numbers=many",
        "/api/label?run=run&by=kim&about=weather",
        "/api/label?run=..%2Frun&by=kim",
    ],
)
def test_a_bad_address_is_answered_with_a_sentence(root, address):
    answer = viewer(root, writes=True).get(address)
    assert answer.status_code in (400, 404, 422)
    assert answer.json()["error"]


@pytest.mark.parametrize(("name", "page"), [("run", "/label/run"), ("", "/")])
def test_the_command_opens_the_page_on_which_one_run_is_labelled(root, name, page):
    found = view(root / name, port=0, writes=True)
    with found.server:
        assert found.address.endswith(page)
