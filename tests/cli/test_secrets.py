"""No key reaches a file or the terminal, however it was given and wherever it is repeated."""

import zipfile
from typing import Any

import pytest

from maseval import ScriptedModelAdapter, register_model
from maseval.runs import RunFolder
from tests.cli.commandline import maseval

CANARIES = {
    "argument": "CANARY-arg-7f3a9b",
    "environment": "CANARY-env-51c08d",
    "password": "CANARY-pass-9e21aa",
    "header": "CANARY-header-c4d2e0",
    "path": "CANARYpath12ab90",
    "tail": "CANARYtail77cd01",
    "variable": "CANARY-base-0d9c8b",
}
LIBRARY = ("tau2", "run", "--domain", "library", "--num-tasks", 2, "--user", "scripted")
ADDRESS = f"http://me:{CANARIES['password']}@localhost:1/{CANARIES['path']}/v1/{CANARIES['tail']}"


def talkative(
    name: str,
    *,
    api_key: str | None = None,
    base_url: str | None = None,
    seed: int | None = None,
    **options: Any,
) -> ScriptedModelAdapter:
    """A model that tells everything it was given, and then fails in the same words."""
    others = [CANARIES[name] for name in ("environment", "header", "variable")]
    told = f"{api_key} {base_url} {' '.join(others)}"
    replies = [f"My key is {api_key}.", told]
    if name == "fails":
        replies.append(RuntimeError(f"401 for {told}"))
    return ScriptedModelAdapter(replies, loop=True, model_id=f"talkative/{name}")


@pytest.mark.parametrize("name", ["speaks", "fails"])
def test_no_key_is_ever_written(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOME_API_KEY", CANARIES["environment"])
    monkeypatch.setenv("SOME_URL", f"https://host/x?sig={CANARIES['variable']}")
    register_model("talkative", talkative)
    headers = f'{{"extra_headers": {{"Authorization": "{CANARIES["header"]}"}}}}'

    task = maseval("tau2", "tasks", "--domain", "library", "--ids").stdout.splitlines()[0]
    outputs = [
        maseval(
            *("tau2", "run", "--domain", "library", "--num-tasks", 2, "--output", "r"),
            *("--agent-model", f"talkative/{name}", "--user", "scripted", "--json"),
            *("--agent-args", f"api_key={CANARIES['argument']}", "--agent-args", headers),
            *("--base-url", ADDRESS),
        ),
        maseval("show", "r"),
        maseval("show", "r", task),
        maseval("report", "r"),
        maseval("runs", tmp_path, "--json"),
        maseval("export", "r", "--table", "runs", "--output", "runs.csv"),
        maseval("export", "r", "--format", "tau2-bench")
        if name == "speaks"
        else maseval("runs", tmp_path),
    ]

    texts = [output.output for output in outputs]
    texts += [file.read_text(errors="replace") for file in tmp_path.rglob("*") if file.is_file()]
    log = (tmp_path / "r" / "log.jsonl").read_text()
    assert "My key is <redacted>." in log and log.count("<redacted>") > 4
    for way, canary in CANARIES.items():
        assert not any(canary in text for text in texts), way


def test_a_word_in_a_variable_with_the_name_of_a_secret_does_not_spoil_a_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MY_TOKEN", "assistant")
    monkeypatch.setenv("PRIMARY_KEY", "book_id")

    maseval(*LIBRARY, "--agent", "gold", "--output", "r")
    again = maseval("score", "r")

    assert "<redacted>" not in (tmp_path / "r" / "log.jsonl").read_text()
    assert again.exit_code == 0, again.output


def test_words_replaced_in_a_conversation_are_reported_once(tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOME_API_KEY", CANARIES["environment"])
    register_model("talkative", talkative)

    maseval(*LIBRARY, "--agent-model", "talkative/speaks", "--output", "r")

    assert (
        caplog.text.count("the value of the environment variable SOME_API_KEY occurs in task") == 1
    )
    for report in RunFolder.read("r").reports():
        assert report["config"]["redacted"] == {"the environment variable SOME_API_KEY": True}


@pytest.mark.parametrize(
    ("words", "way"),
    [
        ((*LIBRARY, "-o", "r", "--agent-model", "scripted/echo", "--base-url"), "OPENAI_API_KEY"),
        (("sync", "last", "--to"), "OTEL_EXPORTER_OTLP_HEADERS"),
    ],
)
@pytest.mark.parametrize("end", ["?sig=", "#token="])
def test_an_address_with_a_query_is_refused_with_the_way_to_give_a_key(
    words, way, end, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    address = f"http://localhost:1/v1{end}{CANARIES['argument']}"
    refused = maseval(*words, f"otel={address}" if words[0] == "sync" else address)

    assert refused.exit_code == 2 and way in refused.output
    assert CANARIES["argument"] not in refused.output and not (tmp_path / "r").exists()


def test_what_a_model_writes_stays_in_the_conversation(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = "see https://shop.example/orders?sig=CANARY-said-22aa11#st=1"
    register_model("telling", lambda name, **options: ScriptedModelAdapter([said], loop=True))

    maseval(*LIBRARY, "--agent-model", "telling/x", "--output", "r")

    assert said in (tmp_path / "r" / "log.jsonl").read_text()


NAMES = (
    *("sig", "signature", "X-Amz-Signature", "X-Goog-Signature", "pwd", "sas", "st", "jwt"),
    *("session", "sessionid", "pat", "otp", "pin", "hmac", "connection_string"),
)
VARIABLES = ("GITHUB_PAT", "AZURE_CONNECTION_STRING", "APP_PIN", "URL_SIGNATURE", "PHPSESSID")
GIVEN = {name: f"CANARY{number:02}x7f3a9b0c" for number, name in enumerate(NAMES)}
SET = {name: f"CANARY{number:02}y51c08d2e" for number, name in enumerate(VARIABLES)}


GRID = """
benchmark = "tau2"
user = "scripted"
num_tasks = 2
domain = "library"

[grid]
agent_model = ["chatty/speaks", "chatty/fails"]
"""


def chatty(name: str, *, seed: int | None = None, **options: Any) -> ScriptedModelAdapter:
    """A model that prints its options and the variables, and may fail in the same words."""
    told = f"{options} {SET}"
    reply = RuntimeError(f"401 for {told}") if name == "fails" else told
    return ScriptedModelAdapter([told, reply], loop=True, model_id=f"chatty/{name}")


def test_no_secret_by_its_name_is_written_by_a_run_or_a_grid(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, value in SET.items():
        monkeypatch.setenv(name, value)
    register_model("chatty", chatty)
    half = len(NAMES) // 2
    parts = {"extra_query": NAMES[:half], "default_query": NAMES[half:], "extra_headers": NAMES}
    tables = [
        "\n".join([f"[agent_args.{key}]", *(f'"{name}" = "{GIVEN[name]}"' for name in names)])
        for key, names in parts.items()
    ]
    (tmp_path / "grid.toml").write_text("\n".join([GRID, *tables]))

    outputs = [maseval("run", "grid.toml")]
    (tmp_path / "grid.toml").unlink()  # it is the user's own
    first, second = sorted(file.parent for file in tmp_path.rglob("log.jsonl"))
    for run in (first, second):
        outputs += [
            maseval("show", run),
            maseval("show", run, "--json"),
            maseval("report", run),
            maseval("bundle", run, "--output", tmp_path / f"{run.name}.zip"),
            maseval("export", run, "--table", "runs", "--output", f"{run.name}.csv"),
            maseval("score", run),
        ]
    outputs.append(maseval("compare", first, second))

    texts = [output.output for output in outputs]
    texts += [file.read_text(errors="replace") for file in tmp_path.rglob("*") if file.is_file()]
    for bundle in tmp_path.rglob("*.zip"):
        with zipfile.ZipFile(bundle) as archive:
            texts += [archive.read(name).decode(errors="replace") for name in archive.namelist()]
    assert any("<redacted>" in text for text in texts)
    for name, canary in [*GIVEN.items(), *SET.items()]:
        assert not [text for text in texts if canary in text], name


@pytest.mark.parametrize(
    "words",
    [
        ("tau2", "run", "-d", "os:environ"),
        ("tau2", "tasks", "-d", "os:environ"),
        ("tau2", "run", "-d", "library", "--agent", "os:environ"),
        ("run", "os:environ"),
        ("run", "examples/booking.py:BookingBenchmark", "--tasks", "os:environ"),
    ],
)
def test_a_name_that_leads_to_the_environment_prints_nothing_of_it(words, monkeypatch):
    monkeypatch.setenv("ANYTHING", "CANARY-of-the-environment")

    refused = maseval(*words)

    assert refused.exit_code == 2
    assert "_Environ" in refused.output and "CANARY" not in refused.output
