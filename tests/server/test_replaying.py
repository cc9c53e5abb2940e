"""Playing: by content, in order, and nothing that was not recorded."""

import json
import threading

import pytest

from maseval.core.exceptions import ConfigurationError
from maseval.server import ChatServer, ReplayServer, TapeError
from maseval.server.matching import canonical, digest
from maseval.server.tape import Exchange, Tape
from tests.server.provider import ask, asking, saying


@pytest.fixture
def taped(tmp_path):
    """Makes a tape of pairs of request and answer."""

    def tape_of(*pairs):
        path = tmp_path / "tape.jsonl"
        tape = Tape(path, growing=True)
        for request, answer in pairs:
            content = canonical(request)
            tape.append(Exchange(digest(content), content, answer))
        tape.close()
        return path

    return tape_of


def talk(*texts, system="You are helpful."):
    """A conversation in which everybody takes turns."""
    roles = ("user", "assistant")
    spoken = [{"role": roles[i % 2], "content": text} for i, text in enumerate(texts)]
    return {"model": "m", "messages": [{"role": "system", "content": system}, *spoken]}


def test_the_same_question_gets_its_recorded_answer(taped):
    path = taped((asking("one"), saying("1")), (asking("two"), saying("2")))

    with ReplayServer(path) as server:
        answers = [ask(server.url, asking(text)) for text in ("two", "one", "two")]

    assert [answer.content for answer in answers] == ["2", "1", "2"]
    assert answers[0].json == saying("2")
    assert (server.played, server.misses, server.recorded, server.unused) == (3, 0, 0, [])


def test_a_question_recorded_often_gets_its_answers_in_turn_and_then_again(taped):
    path = taped(*((asking("roll"), saying(str(number))) for number in range(3)))

    with ReplayServer(path) as server:
        assert [ask(server.url, asking("roll")).content for _ in range(7)] == list("0120120")


def test_equal_questions_at_the_same_time_share_the_order(taped):
    path = taped(*((asking("roll"), saying(str(number))) for number in range(20)))
    heard = []

    with ReplayServer(path) as server:

        def roll():
            heard.append(int(ask(server.url, asking("roll")).content))

        threads = [threading.Thread(target=roll) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert sorted(heard) == list(range(20))


def test_what_nobody_asked_for_is_named_by_its_lines(taped):
    path = taped(*((asking(text), saying(text)) for text in ("a", "b", "b", "c")))

    with ReplayServer(path) as server:
        assert server.unused == [2, 3, 4, 5]
        ask(server.url, asking("b"))
        assert server.unused == [2, 4, 5]


def test_a_miss_is_refused_with_a_status_that_is_not_retried(taped):
    with ReplayServer(taped((asking("one"), saying("1")))) as server:
        reply = ask(server.url, asking("One"))

    assert reply.status == 422
    assert reply.error["code"] == reply.error["type"] == "tape_miss"
    assert server.misses == 1 and server.played == 0
    assert reply.error["message"] == (
        "the tape has no answer to this request; the nearest, line 2, differs first at "
        "messages[0].content: recorded 'one', asked 'One'. Record it: maseval replay-server "
        "tape.jsonl --record --upstream URL"
    )


def missed(path, request):
    with ReplayServer(path) as server:
        return ask(server.url, request).error["message"]


RECORDED = [
    talk("hello"),
    talk("hello", "hi", "where is my order?"),
    talk("hello", "hi", "where is my order?", "on its way", "thanks"),
    talk("good day"),
    talk("good day", "hi", "cancel it"),
]


@pytest.mark.parametrize(
    ("request_", "line", "place"),
    [
        (talk("hello", "hi", "cancel my order"), 3, "messages[3].content"),
        (talk("good day", "hi", "cancel all"), 6, "messages[3].content"),
        (talk("hello", "hi", "where is my order?", "lost", "oh"), 4, "messages[4].content"),
        (talk("good day", "hi", "cancel it", system="Be rude."), 6, "messages[0].content"),
        (talk("hello", system="Be rude."), 2, "messages[0].content"),
        ({**talk("hello", "hi", "where is my order?"), "model": "n"}, 3, "model"),
        ({**talk("good day"), "temperature": 1}, 5, "temperature"),
        (talk("something else"), 2, "messages[1].content"),
        ({"model": "m", "messages": []}, 2, "messages[0]"),
    ],
)
def test_a_miss_names_the_nearest_recording_and_where_it_parts(taped, request_, line, place):
    path = taped(*((request, saying("x")) for request in RECORDED))

    assert f"line {line}, differs first at {place}" in missed(path, request_)


def test_a_question_of_another_model_is_compared_with_that_models_questions(taped):
    user = {**talk("as a customer", system="Play a customer."), "model": "user"}
    path = taped((talk("hello"), saying("x")), (user, saying("y")))
    other = {**talk("as a buyer", system="Play a buyer."), "model": "user"}

    assert "line 3, differs first at messages[0].content" in missed(path, other)


def test_an_empty_tape_says_so(taped):
    assert "it is empty" in missed(taped(), asking("a"))


def test_the_explanation_fits_into_what_clients_show(taped):
    path = taped((asking("x" * 5000), saying("1")))

    assert len(missed(path, asking("x" * 4000 + "y" * 1000))) < 450


def test_explaining_many_misses_does_not_read_the_tape_each_time(taped, monkeypatch):
    path = taped(*((talk(f"hello {number}"), saying("x")) for number in range(200)))
    reads = []
    at = Tape.at
    monkeypatch.setattr(Tape, "at", lambda *given: reads.append(given) or at(*given))

    with ReplayServer(path) as server:
        for number in range(50):
            ask(server.url, talk(f"hello {number}", system="Be rude."))

    assert server.misses == 50
    assert len(reads) < 200 + 50 * 6


def test_the_models_of_a_tape_are_listed(taped):
    path = taped((asking("a"), saying("1")), (asking("a") | {"model": "n/x"}, saying("2")))

    with ReplayServer(path) as server:
        listed = ask(server.url, b"", "/models", "GET").json
        one = ask(server.url, b"", "/models/n%2Fx", "GET").json

    assert [model["id"] for model in listed["data"]] == ["m", "n/x"]
    assert one["id"] == "n/x"


def test_every_request_is_reported(taped):
    told = []

    with ReplayServer(taped((asking("a"), saying("1"))), on_request=told.append) as server:
        ask(server.url, asking("a"))
        ask(server.url, asking("b"))

    assert [(one.outcome, one.model, one.messages, one.line) for one in told] == [
        ("played", "m", 1, 2),
        ("missed", "m", 1, None),
    ]
    assert "recorded 'a', asked 'b'" in told[1].words


def test_a_tape_that_is_damaged_meanwhile_is_not_asked_again_and_again(taped):
    path = taped((asking("a"), saying("1")))

    with ReplayServer(path) as server:
        path.write_text(path.read_text().replace("assistant", "ASSISTANT"))
        reply = ask(server.url, asking("a"))

    assert reply.status == 422 and reply.error["code"] == "tape_error"
    assert "line 2" in reply.error["message"]


def test_a_damaged_tape_is_not_served_and_no_port_stays_taken(taped):
    path = taped((asking("a"), saying("1")))
    good = path.read_text()
    path.write_text(good.replace("assistant", "ASSISTANT"))
    with ChatServer(lambda request, headers: {}) as other:
        port = other.port

    with pytest.raises(TapeError, match="line 2"):
        ReplayServer(path, port=port)

    path.write_text(good)
    with ReplayServer(path, port=port) as server:
        assert server.port == port


@pytest.mark.parametrize("options", [{"record": True}, {"upstream": "http://localhost:1/v1"}])
def test_recording_and_an_upstream_come_together(tmp_path, options):
    with pytest.raises(ConfigurationError, match="give both or neither"):
        ReplayServer(tmp_path / "tape.jsonl", **options)

    assert list(tmp_path.iterdir()) == []


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
def test_odd_answers_are_played_as_they_are(taped, change, stream):
    answer = change(saying("x"))

    with ReplayServer(taped((asking("a"), answer))) as server:
        reply = ask(server.url, asking("a", stream=stream))

    assert reply.status == 200
    if stream:
        assert reply.text.endswith("data: [DONE]\n\n")
    else:
        assert reply.json == json.loads(json.dumps(answer))
