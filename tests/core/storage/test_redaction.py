import shlex

import pytest

from maseval.core.storage.redaction import REDACTED, redact, redact_command, redact_text


@pytest.mark.parametrize(
    "key",
    [
        "api_key",
        "apiKey",
        "OPENAI_API_KEY",
        "x-goog-api-key",
        "access_token",
        "token",
        "client_secret",
        "Password",
        "credentials",
        "Authorization",
        "oauth",
    ],
)
def test_a_value_whose_key_names_a_secret_is_dropped(key):
    assert redact({key: "abc"}) == {key: REDACTED}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("max_tokens", 100),
        ("input_tokens", 7),
        ("max_token", 100),
        ("pad_token_id", 0),
        ("eos_token", "</s>"),
        ("stop_tokens", ["###STOP###"]),
        ("author", "Ann"),
        ("sort_keys", True),
        ("api_key", None),
        ("temperature", 0.5),
        ("keyboard", "qwerty"),
    ],
)
def test_what_only_sounds_like_a_secret_stays(key, value):
    assert redact({key: value}) == {key: value}


def test_secrets_are_found_at_any_depth():
    options = {"extra": [{"headers": {"Authorization": "Bearer abc", "Accept": "json"}}]}

    assert redact(options) == {
        "extra": [{"headers": {"Authorization": REDACTED, "Accept": "json"}}]
    }


def test_the_original_is_left_as_it_was():
    options = {"nested": {"api_key": "abc"}}

    redact(options)

    assert options == {"nested": {"api_key": "abc"}}


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("https://ann:pw@host/v1", "https://<redacted>@host/v1"),
        ("https://host/v1?key=abc&alt=json", "https://host/v1?key=<redacted>&alt=json"),
        ("GET https://host?q=1&api%5Fkey=abc failed", None),
        ("rejected header 'Bearer abcdef012345'", "rejected header 'Bearer <redacted>'"),
        ("Incorrect API key provided: sk-abcdef0123456789.", None),
        ("https://host/v1?max_tokens=5", "https://host/v1?max_tokens=5"),
        ("mail ann@host.com about the basic idea", "mail ann@host.com about the basic idea"),
    ],
)
def test_secrets_inside_texts_are_cut_out(text, clean):
    if clean is None:
        assert "abc" not in redact_text(text) and REDACTED in redact_text(text)
    else:
        assert redact_text(text) == clean


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (["--api-key", "abc"], ["--api-key", REDACTED]),
        (["--api-key=abc"], [f"--api-key={REDACTED}"]),
        (["--args", "temperature=0,api_key=abc"], ["--args", f"temperature=0,api_key={REDACTED}"]),
        (["--args=api_key=abc"], [f"--args=api_key={REDACTED}"]),
        (["--args", "api_key=a,bc"], ["--args", f"api_key={REDACTED}"]),
        (
            ["--args", '{"a": 1, "headers": {"token": "abc"}}'],
            ["--args", f'{{"a": 1, "headers": {{"token": "{REDACTED}"}}}}'],
        ),
        (["--args", '{"api_key": "abc'], ["--args", REDACTED]),
        (["--url", "http://me:a,bc@host/v1"], ["--url", f"http://{REDACTED}@host/v1"]),
        (["--max-tokens", "5", "-k", "2"], ["--max-tokens", "5", "-k", "2"]),
        (["--title", "two words"], ["--title", "two words"]),
    ],
)
def test_a_command_line_is_kept_without_its_secrets(words, kept):
    assert shlex.split(redact_command(words)) == kept
