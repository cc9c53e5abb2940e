"""Which messages a worker passes on; nothing of Ray is needed for that."""

from types import SimpleNamespace

from maseval.core.context import Said
from maseval.core.storage.redaction import Secrets
from maseval.interface.ray import live_messages
from maseval.interface.ray.live_messages import LiveMessages


class Running:
    """As much of a repetition as is needed."""

    repeat_idx = 0

    def __init__(self, name):
        self.task = SimpleNamespace(id=name)


def running(*names):
    return {Running(name): number for number, name in enumerate(names, 1)}


def test_only_what_is_new_is_passed_on_without_secrets_and_cut(monkeypatch):
    monkeypatch.setattr(live_messages, "_EVERY", 0.0)
    talks = {"a": Said("user", "the key is sk-12345678", 1), "b": Said("user", "b" * 5_000, 4)}
    watch = LiveMessages(lambda task, trial: talks.get(task), Secrets(["sk-12345678"]))

    first = watch.news(running("a", "b", "silent"))
    talks["b"] = Said("assistant", "so long", 5)

    assert first[1] == Said("user", "the key is <redacted>", 1)
    assert len(first[2].text) == 2_000 and first.keys() == {1, 2}
    assert watch.news(running("a", "b", "silent")) == {2: talks["b"]}
    assert watch.news(running("a", "b", "silent")) == {}


def test_nobody_is_asked_more_often_than_once_in_a_while(monkeypatch):
    monkeypatch.setattr(live_messages, "_EVERY", 3600.0)

    def ask(task, trial):
        asked.append(task)
        raise RuntimeError("list changed size during iteration")

    asked: list[str] = []
    watch = LiveMessages(ask, Secrets([]))

    assert [watch.news(running("a")) for _ in range(3)] == [{}, {}, {}]
    assert asked == ["a"]
