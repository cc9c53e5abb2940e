import json

import pytest

from maseval.core.storage.redaction import Secrets


@pytest.mark.parametrize(
    "config",
    [
        {"api_key": "canary-0123"},
        {"agent_args": {"headers": {"Authorization": "canary-0123"}}},
        {"models": [{"password": "canary-0123"}]},
        {"base_url": "https://ann:canary-0123@host/v1"},
        {"base_url": "https://canary-0123@host/v1"},
        {"base_url": "https://host/v1?key=canary-0123&alt=json"},
        {"note": "send Bearer canary-0123 along"},
    ],
)
def test_a_secret_of_the_configuration_is_taken_out_of_every_text(config):
    record = {"error": {"text": "no such key: canary-0123!"}, "canary-0123": ["canary-0123", 7]}

    clean = Secrets.of(config).removed_from(record)

    assert clean == {"error": {"text": "no such key: <redacted>!"}, "<redacted>": ["<redacted>", 7]}


def test_a_secret_of_the_environment_is_taken_out(monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", 'can"ary\né0123')

    assert Secrets.of({}).removed_from({"a": 'x can"ary\né0123'}) == {"a": "x <redacted>"}


def test_what_no_secret_was_given_for_stays_the_same_object():
    record = {"text": "sk-this-was-said-by-a-model", "url": "https://a:b@host"}

    assert Secrets.of({"api_key": "canary-0123"}).removed_from(record) is record


def test_numbers_that_look_like_a_secret_stay_numbers():
    record = {"n": 0.12345678, "said": "12345678"}

    assert Secrets.of({"pass_key": "12345678"}).removed_from(record) == {
        "n": 0.12345678,
        "said": "<redacted>",
    }


def test_short_values_are_not_hunted_for():
    record = {"text": "an easy task"}

    assert Secrets.of({"password": "easy"}).removed_from(record) is record


def test_of_two_secrets_the_longer_one_goes_first():
    secrets = Secrets.of({"key_a": "abcdefgh", "key_b": "abcdefgh-and-more"})

    assert secrets.removed_from({"a": "abcdefgh-and-more"}) == {"a": "<redacted>"}


def test_a_secret_within_the_arguments_of_a_tool_call_is_taken_out():
    secrets = Secrets.of({"api_key": 'can"ary\n0123'})
    arguments = json.dumps({"password": 'can"ary\n0123'})

    assert secrets.removed_from({"arguments": arguments}) == {
        "arguments": '{"password": "<redacted>"}'
    }
    assert secrets.removed_from_text(arguments) == '{"password": "<redacted>"}'
