"""Which environment variables a worker is sent."""

from maseval.interface.ray.environment import needed_by_workers, own_secrets


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
    monkeypatch.setenv("NODE_API_KEY", "sk-of-the-node")

    found = own_secrets({"OPENAI_API_KEY": "sk-of-the-driver"})

    assert "sk-of-the-node" in found and "sk-of-the-driver" not in found
