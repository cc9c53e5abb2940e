import json
import shlex

import pytest

from maseval.core.storage.redaction import REDACTED, Secrets, redact, redact_command, redact_text


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


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("https://ann:pw@host/v1", "https://host/v1"),
        ("at https://host/v1/chat?key=abc&alt=json!", "at https://host/v1/chat"),
        ("GET https://host#st=abc failed", "GET https://host failed"),
        ("rejected header 'Bearer abcdef012345'", "rejected header 'Bearer <redacted>'"),
        ("Incorrect API key provided: sk-abcdef0123456789.", None),
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
        (["--url", "http://me:a,bc@host/v1"], ["--url", "http://host/v1"]),
        (["--max-tokens", "5", "-k", "2"], ["--max-tokens", "5", "-k", "2"]),
        (["--title", "two words"], ["--title", "two words"]),
    ],
)
def test_a_command_line_is_kept_without_its_secrets(words, kept):
    assert shlex.split(redact_command(words)) == kept


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


@pytest.mark.parametrize(
    ("address", "kept"),
    [
        ("https://host/v1?sig=K&X-Amz-Signature=K#token=K", "https://host/v1"),
        ("https://K:K@host:8000/api/v1/", "https://host:8000/api/v1"),
        ("https://host/v1beta2/K/gateway", "https://host/v1beta2/<redacted>-"),
        ("https://host/K/v1", "https://host/<redacted>-"),
        ("https://host/bot/K?pwd=K", "https://host/bot/<redacted>-"),
        ("http://[::1]:80/v1?jwt=K", "http://[::1]:80/v1"),
        ("sqlite:///runs/mlflow.db", "sqlite:///runs/mlflow.db"),
    ],
)
def test_of_an_address_only_what_names_a_server_is_kept(address, kept):
    given = address.replace("K", "canary7f3a9b0c")
    stored = redact({"base_url": given, "to": [f"{given}"]})
    typed = redact_command(["--to", f"otel={given}", f"--base-url={given}", given])

    assert stored["base_url"] == stored["to"][0] and stored["base_url"].startswith(kept)
    assert typed.count(kept) == 3 and "canary" not in f"{stored} {typed}"
    quoted = Secrets.of({"base_url": given}).removed_from({"error": "no canary7f3a9b0c here"})
    assert ("canary" in str(quoted)) is ("K" not in address)


@pytest.mark.parametrize("word", ["2024-02-01", "gpt-4o-eastus-deployment", "completions"])
def test_parts_of_an_address_that_may_be_words_are_not_looked_for(word):
    record = {"content": word}
    address = f"https://host/v1/{word}?api-version={word}"

    assert Secrets.of({"base_url": address.replace(f"={word}", "=2024-02-01")}).removed_from(
        record
    ) == (record)


def test_a_secret_of_the_environment_is_taken_out(monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", 'can"ary\né0123')

    assert Secrets.of({}).removed_from({"a": 'x can"ary\né0123'}) == {"a": "x <redacted>"}


@pytest.mark.parametrize(
    "word",
    [
        "assistant",
        "reservation_id",
        "get_reservation_details",
        "getUserDetails",
        "economy class",
        "mia_li_3668",
        "#W2378156",
        "555-123-2002",
        "2024-05-15",
    ],
)
def test_a_word_of_a_conversation_is_no_secret_because_a_variable_holds_it(word, monkeypatch):
    for name in ("MY_TOKEN", "PRIMARY_KEY", "LOGIN_PASSWORD"):
        monkeypatch.setenv(name, word)
    record = {"role": word, "content": f"the {word}", word: 1}

    assert Secrets.of({}).removed_from(record) is record


@pytest.mark.parametrize("word", ["assistant", "tool_calls", "reservation_id", "getUserDetails"])
def test_a_plain_name_is_never_looked_for_even_if_it_is_the_key_of_a_model(word, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", word)
    record = {"role": word}

    assert Secrets.of({"api_key": word, "url": f"http://a:{word}@b"}).removed_from(record) is record


@pytest.mark.parametrize("name", ["SOME_API_KEY", "MY_TOKEN", "DB_PASSWORD", "AWS_SECRET"])
@pytest.mark.parametrize(
    "secret",
    [
        "sk-proj-abcdefghijkl",
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        "AKIAIOSFODNN7EXAMPLE",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "hunter2-in-production",
        "Sommer2024",
        "correct horse battery staple",
        "qzwxecrvtbynumikolpaqzwxecrvtbynumikolpa",
        "AbCdEfGhIjKlMnOpQrStUv",
    ],
)
def test_what_looks_like_a_secret_is_taken_out(name, secret, monkeypatch):
    monkeypatch.setenv(name, secret)

    secrets = Secrets.of({})

    assert secrets.removed_from({"said": f"it is {secret}!"}) == {"said": "it is <redacted>!"}
    assert secrets.sources_in(f'"{secret}"') == [f"the environment variable {name}"]


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


NAMES = [
    *("sig", "signature", "X-Amz-Signature", "X-Goog-Signature", "pwd", "sas", "jwt", "GITHUB_PAT"),
    *("pat", "otp", "pin", "hmac", "connection_string", "AzureConnectionString", "st", "session"),
    *("sessionid", "session_id", "PHPSESSID", "sid"),
]
CANARY = "c7f3a9b0canary4e1d"


@pytest.mark.parametrize("name", NAMES)
def test_every_name_counts_in_options_addresses_variables_and_commands(name, monkeypatch):
    monkeypatch.setenv(name.upper().replace("-", "_"), CANARY)
    address = f"https://host/v1/x?{name}={CANARY}&alt=json"
    printed = {"content": f"the agent printed {CANARY}", "url": address}

    assert redact({"extra_query": {name: CANARY}}) == {"extra_query": {name: REDACTED}}
    assert CANARY not in redact_text(f"GET {address} failed")
    assert CANARY not in redact_command(["--agent-args", f"{name}={CANARY}"])
    assert CANARY not in str(Secrets.of({}).removed_from(printed))
    monkeypatch.delenv(name.upper().replace("-", "_"))
    assert CANARY not in str(Secrets.of({"extra_headers": {name: CANARY}}).removed_from(printed))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("session", "retail-evaluation"),
        ("session_id", "mia_li_3668"),
        ("sid", "W2378156"),
        ("st", "first"),
        ("pinned", "c7f3a9b0canary4e1d"),
        ("pattern", "c7f3a9b0canary4e1d"),
        ("signal_strength", "poor"),
        ("pin_memory", True),
        ("shipping", "next day"),
    ],
)
def test_ordinary_names_and_values_stay(key, value):
    assert redact({key: value}) == {key: value}
    assert redact_text(f"bad request: {key}={value}") == f"bad request: {key}={value}"


@pytest.mark.parametrize(
    "text",
    [
        "Your PIN code is 1234; the session=mia_li_3668 is over",
        "max_tokens=4096, stop_token=### and pad_token_id=0",
        "the connection string of the router hangs loose",
        "Enter your SIM's pin: 1234",
        "token=retail",
    ],
)
def test_ordinary_sentences_stay(text):
    assert redact_text(text) == text


JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4fw"
PRIVATE_KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow+c7f3/\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (JWT, JWT),
        ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "16C7e42F"),
        ("glpat-abcdefghijkl0123", "abcdefgh"),
        ("AKIAIOSFODNN7EXAMPLE", "IOSFODNN"),
        (PRIVATE_KEY, "MIIEow"),
        ("DefaultEndpointsProtocol=https;AccountName=a;AccountKey=c7f3a9b0cd==;X=y", "c7f3a9b0cd"),
        ("Password=c7f3a9b0cd;Server=db", "c7f3a9b0cd"),
        ("host=db user=me password=c7f3a9b0cd", "c7f3a9b0cd"),
        ("postgresql://me:c7f3a9b0cd@db/runs", "c7f3a9b0cd"),
    ],
)
def test_a_secret_is_known_by_its_shape_under_any_name(text, secret, monkeypatch):
    monkeypatch.setenv("INNOCENT", text)

    assert secret not in str(redact({"note": f"see {text} there"}))
    assert secret not in redact_text(f"it said {text} again")
    assert secret not in str(Secrets.of({}).removed_from({"printed": text}))


def test_the_folder_a_shell_is_in_is_no_password(monkeypatch):
    monkeypatch.setenv("PWD", "/home/me/runs7a8b9c/of-the-evaluation")
    record = {"content": "cd /home/me/runs7a8b9c/of-the-evaluation"}

    assert Secrets.of({}).removed_from(record) is record


def test_the_arguments_of_a_tool_are_content_whatever_their_names():
    call = {"name": "activate_debit_card", "arguments": {"pin": "4711", "of": {"session": "a1"}}}

    assert redact({"pin": "4711", "actions": [call]}) == {"pin": REDACTED, "actions": [call]}
    assert redact({"arguments": {"pin": "4711"}}) == {"arguments": {"pin": REDACTED}}
