"""Which messages a worker passes on."""

import pytest

from maseval.core.context import Said
from maseval.core.engine import worker
from maseval.core.engine.parcel import WorkerReply, pack_reply, unpack
from maseval.core.engine.worker import LastWords
from maseval.core.storage.redaction import Secrets


@pytest.fixture(autouse=True)
def always(monkeypatch):
    """Let a worker pass on messages whenever it is asked for any."""
    monkeypatch.setattr(worker, "_EVERY", 0.0)


class Running:
    """As much of a repetition as is needed."""

    def __init__(self, name):
        self.key = name, 0


def running(*names):
    return {Running(name): number for number, name in enumerate(names, 1)}


def watch(last, secrets=()):
    return LastWords(lambda task, trial: last.get(task), Secrets(secrets))


def test_what_was_said_last_is_passed_on_without_secrets_and_cut():
    last = {"a": Said("user", "the key is sk-12345678", 1), "b": Said("user", "b" * 5_000, 4)}
    found = watch(last, secrets=["sk-12345678"])

    first = found.news(running("a", "b", "silent"))

    assert first[1] == Said("user", "the key is <redacted>", 1)
    assert len(first[2].text) == 2_000 and first.keys() == {1, 2}


def test_whatever_is_in_a_message_it_harms_no_other():
    class Shy:
        def __str__(self):
            raise RuntimeError("not now")

    last = {"a": Said(Shy(), "hi", 1), "b": Said("user", Shy(), 1), "c": Said("user", "hi", 1)}
    news = watch(last, ["sk-12345678"]).news(running("a", "b", "c"))

    assert unpack(pack_reply(WorkerReply([], said=news))).said == {3: last["c"]}


def test_nobody_is_asked_more_often_than_once_in_a_while(monkeypatch):
    monkeypatch.setattr(worker, "_EVERY", 3600.0)

    def ask(task, trial):
        asked.append(task)
        raise RuntimeError("list changed size during iteration")

    asked: list[str] = []
    found = LastWords(ask, Secrets([]))

    assert [found.news(running("a")) for _ in range(3)] == [{}, {}, {}]
    assert asked == ["a"]
