"""Which environment variables a worker is sent."""

import json
import pickle

from maseval.interface.ray.environment import OwnSecrets, needed_by_workers


def test_keys_and_addresses_travel_and_nothing_else(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost")
    monkeypatch.setenv("SHOE_SIZE", "42")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "of this cluster")

    found = needed_by_workers()

    assert found["OPENAI_API_KEY"] == "sk-1" and found["OPENAI_BASE_URL"] == "http://localhost"
    assert not {"SHOE_SIZE", "PATH", "HOME", "RAY_AUTH_TOKEN"} & found.keys()
    assert needed_by_workers(["SHOE_SIZE"])["SHOE_SIZE"] == "42"


def test_the_secrets_of_a_machine_are_those_that_were_not_sent_to_it(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-driver")
    monkeypatch.setenv("NODE_API_KEY", 'sk-"of"-the-nöde')

    own = OwnSecrets({"OPENAI_API_KEY": "sk-of-the-driver"})
    arguments = json.dumps({"key": 'sk-"of"-the-nöde'})
    report = {"answer": 'sk-"of"-the-nöde, sk-of-the-driver', "arguments": arguments}

    assert all(own.are_in(pickle.dumps([each], 5)) for each in report.values())
    assert not own.are_in(pickle.dumps(["sk-of-the-driver"], 5))
    assert own.removed_from(report) == {
        "answer": "<redacted>, sk-of-the-driver",
        "arguments": '{"key": "<redacted>"}',
    }


def test_a_key_that_is_empty_or_short_is_nowhere(monkeypatch):
    monkeypatch.setenv("NODE_API_KEY", "")
    monkeypatch.setenv("OTHER_API_KEY", "ab")

    assert not OwnSecrets({}).are_in(pickle.dumps(["drab"], 5))
