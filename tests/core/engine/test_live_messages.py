"""Which messages a worker passes on."""

import json
from types import SimpleNamespace

import pytest

from maseval.core.context import Heard, Said
from maseval.core.engine import worker
from maseval.core.engine.parcel import WorkerReply, pack_reply, unpack_reply
from maseval.core.engine.worker import LiveMessages
from maseval.core.storage.redaction import Secrets


@pytest.fixture(autouse=True)
def always(monkeypatch):
    """Let a worker pass on messages whenever it is asked for any."""
    monkeypatch.setattr(worker, "_EVERY", 0.0)
    monkeypatch.setattr(worker, "_REST", 0.0)


class Running:
    """As much of a repetition as is needed."""

    repeat_idx = 0

    def __init__(self, name):
        self.task = SimpleNamespace(id=name)


def running(*names):
    return {Running(name): number for number, name in enumerate(names, 1)}


def watch(last=None, talks=None, secrets=()):
    known = SimpleNamespace(
        last_said=lambda task, trial: (last or {}).get(task),
        messages_so_far=lambda task, trial: (talks or {}).get(task, ()),
    )
    return LiveMessages(known, Secrets(secrets))


def words_of(heard):
    return [json.loads(each)["content"] for each in heard.messages]


def test_only_what_is_new_is_passed_on_without_secrets_and_cut():
    last = {"a": Said("user", "the key is sk-12345678", 1), "b": Said("user", "b" * 5_000, 4)}
    found = watch(last, secrets=["sk-12345678"])

    first = found.news(running("a", "b", "silent"), False)
    last["b"] = Said("assistant", "so long", 5)

    assert first[1] == Heard(Said("user", "the key is <redacted>", 1))
    assert len(first[2].said.text) == 2_000 and first.keys() == {1, 2}
    assert found.news(running("a", "b", "silent"), False) == {2: Heard(last["b"])}
    assert found.news(running("a", "b", "silent"), False) == {}


def test_all_messages_are_passed_on_once_and_in_order_if_somebody_follows():
    talk = [{"role": "user", "content": "the key is sk-12345678"}]
    found = watch(talks={"a": talk}, secrets=["sk-12345678"])

    assert found.news(running("a"), False) == {}
    first = found.news(running("a"), True)[1]
    talk += [{"content": "two"}, {"content": "three"}]
    then = found.news(running("a"), True)[1]
    assert found.news(running("a"), True) == {}
    del talk[1:]
    emptied = found.news(running("a"), True)[1]

    assert (first.after, words_of(first)) == (0, ["the key is <redacted>"])
    assert (then.after, words_of(then)) == (1, ["two", "three"])
    assert (emptied.after, words_of(emptied)) == (0, ["the key is <redacted>"])


def test_what_does_not_fit_comes_later_and_nobody_is_left_behind(monkeypatch):
    monkeypatch.setattr(worker, "_MOST_AT_ONCE", 100)
    talks = {
        name: [{"content": f"{name}{number}" + "x" * 50} for number in range(3)] for name in "ab"
    }
    found = watch(talks=talks)

    got = {1: [], 2: []}
    for _ in range(3):
        for number, heard in found.news(running("a", "b"), True).items():
            assert heard.after == len(got[number])
            got[number] += [each[:2] for each in words_of(heard)]

    assert got == {1: ["a0", "a1", "a2"], 2: ["b0", "b1", "b2"]}


def test_a_message_of_megabytes_is_cut_and_keeps_what_is_short():
    large = "x" * 3_000_000
    message = {"role": "tool", "id": "c7", "content": large, "raw": [large]}
    (text,) = watch(talks={"a": [message]}).news(running("a"), True)[1].messages

    found = json.loads(text)
    assert (found["role"], found["id"]) == ("tool", "c7") and "raw" not in found
    assert found["content"].startswith("xxx") and "(3,000,000 characters;" in found["content"]
    assert len(text) < 10_000


def test_whatever_is_in_a_message_it_arrives_and_harms_no_other():
    class Shy:
        def __str__(self):
            raise RuntimeError("not now")

        def __reduce__(self):
            raise RuntimeError("not to be pickled")

    last = {"a": Said(Shy(), "hi", 1), "b": Said("user", Shy(), 1), "c": Said("user", "hi", 1)}
    talks = {"a": [{"content": "one", "raw": Shy()}], "b": [5, Shy()], "c": [{"content": "yes"}]}
    news = watch(last, talks, ["sk-12345678"]).news(running("a", "b", "c"), True)
    arrived = unpack_reply(pack_reply(WorkerReply([], heard=news))).heard

    assert arrived == news and arrived.keys() == {1, 3}
    assert (words_of(arrived[1]), words_of(arrived[3])) == (["one"], ["yes"])


def test_nobody_is_asked_more_often_than_once_in_a_while(monkeypatch):
    monkeypatch.setattr(worker, "_EVERY", 3600.0)

    def ask(task, trial):
        asked.append(task)
        raise RuntimeError("list changed size during iteration")

    asked: list[str] = []
    found = LiveMessages(SimpleNamespace(last_said=ask, messages_so_far=ask), Secrets([]))

    assert [found.news(running("a"), True) for _ in range(3)] == [{}, {}, {}]
    assert asked == ["a", "a"]
