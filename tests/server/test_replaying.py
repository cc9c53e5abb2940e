"""Playing: by content, in order, and nothing that was not recorded."""

import json
import os
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from maseval.core.answer_cache import answer_cache
from maseval.server import ReplayServer
from maseval.server.replaying import canonical
from tests.server.provider import ask, asking, saying


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[..., Any]:
    """Makes a folder of answers from pairs of request and answer."""

    def folder_of(*pairs):
        cache, asked = answer_cache(tmp_path / "answers"), Counter()
        cache.folder.mkdir()
        for request, answer in pairs:
            key = cache.key({"chat_completions": canonical(request)})
            asked[key] += 1
            assert cache.store(cache.entry(key, asked[key]), answer)
        return cache.folder

    return folder_of


def test_the_same_question_gets_its_recorded_answer(recorded):
    path = recorded((asking("one"), saying("1")), (asking("two"), saying("2")))

    with ReplayServer(path) as server:
        answers = [ask(server.url, asking(text)) for text in ("two", "one", "two")]

    assert [answer.content for answer in answers] == ["2", "1", "2"]
    assert answers[0].json == saying("2")
    assert (server.played, server.misses, server.recorded, server.unused) == (3, 0, 0, [])


def test_a_question_recorded_often_gets_its_answers_in_turn_and_then_again(recorded):
    path = recorded(*((asking("roll"), saying(str(number))) for number in range(3)))

    with ReplayServer(path) as server:
        assert [ask(server.url, asking("roll")).content for _ in range(7)] == list("0120120")


def test_equal_questions_at_the_same_time_share_the_order(recorded):
    path = recorded(*((asking("roll"), saying(str(number))) for number in range(20)))

    with ReplayServer(path) as server:

        def roll(_):
            return int(ask(server.url, asking("roll")).content)

        with ThreadPoolExecutor(20) as pool:
            heard = [*pool.map(roll, range(20))]

    assert sorted(heard) == list(range(20))


def test_what_nobody_asked_for_is_named(recorded):
    path = recorded(*((asking(text), saying(text)) for text in ("a", "b", "b", "c")))

    with ReplayServer(path) as server:
        ask(server.url, asking("b"))

        assert len(server.unused) == 3
        assert all((path / name[:2] / f"{name}.json").is_file() for name in server.unused)


def test_a_miss_is_refused_with_a_status_that_is_not_retried(recorded):
    with ReplayServer(recorded((asking("one"), saying("1")))) as server:
        reply = ask(server.url, asking("One"))

    assert reply.status == 422
    assert reply.error["code"] == reply.error["type"] == "not_recorded"
    assert server.misses == 1 and server.played == 0
    assert reply.error["message"] == (
        "no answer to this request was recorded; record it: maseval replay-server answers "
        "--record --upstream URL"
    )


def test_a_damaged_answer_is_not_played(recorded):
    path = recorded((asking("a"), saying("1")))
    (file,) = path.rglob("*.json")
    file.write_text(file.read_text().replace("assistant", "ASSISTANT"))

    with ReplayServer(path) as server:
        assert ask(server.url, asking("a")).error["code"] == "not_recorded"


def test_a_request_that_is_no_json_is_refused(recorded):
    with ReplayServer(recorded()) as server:
        assert ask(server.url, asking("a", seed=float("nan"))).status == 400


def test_a_request_that_is_nested_too_deeply_is_refused_and_not_tried_again(recorded, caplog):
    content = "[" * 900 + "]" * 900
    with ReplayServer(recorded()) as server:
        reply = ask(server.url, b'{"messages": [{"content": %s}]}' % content.encode())

    assert reply.status == 400 and "nested too deeply" in reply.error["message"]
    assert not caplog.records


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
def test_a_pipe_in_the_place_of_an_answer_is_not_waited_for(recorded):
    path = recorded((asking("a"), saying("1")))
    (file,) = path.rglob("*.json")
    file.unlink()
    os.mkfifo(file)

    with ReplayServer(path) as server:
        assert ask(server.url, asking("a")).error["code"] == "not_recorded"


@pytest.mark.parametrize(
    "change",
    [
        lambda answer: answer | {"choices": []},
        lambda answer: {"id": "x"},
        lambda answer: {"choices": [{"message": None}]},
        lambda answer: saying("日本語 🎉 \u2028 \ud83d"),
    ],
    ids=["no choices", "no choices at all", "no message", "unicode"],
)
@pytest.mark.parametrize("stream", [False, True])
def test_odd_answers_are_played_as_they_are(recorded, change, stream):
    answer = change(saying("x"))

    with ReplayServer(recorded((asking("a"), answer))) as server:
        reply = ask(server.url, asking("a", stream=stream))

    assert reply.status == 200
    if stream:
        assert reply.text.endswith("data: [DONE]\n\n")
    else:
        assert reply.json == json.loads(json.dumps(answer))
