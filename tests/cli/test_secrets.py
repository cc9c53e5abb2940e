"""No key reaches a file or the terminal, however it was given and wherever it is repeated."""

import pytest

from maseval import ScriptedModelAdapter, register_model
from maseval.runs import RunFolder
from tests.cli.commandline import maseval

CANARIES = {
    "argument": "CANARY-arg-7f3a9b",
    "environment": "CANARY-env-51c08d",
    "password": "CANARY-pass-9e21aa",
    "query": "CANARY-query-3377fe",
    "header": "CANARY-header-c4d2e0",
}
LIBRARY = ("tau2", "run", "--domain", "library", "--num-tasks", 2, "--user", "scripted")
ADDRESS = f"http://me:{CANARIES['password']}@localhost:1/v1?api_key={CANARIES['query']}"


def talkative(name, *, api_key=None, base_url=None, seed=None, **options):
    """A model that tells everything it was given, and then fails in the same words."""
    told = f"{api_key} {CANARIES['environment']} {base_url} {CANARIES['header']}"
    replies = [f"My key is {api_key}.", told]
    if name == "fails":
        replies.append(RuntimeError(f"401 for {told}"))
    return ScriptedModelAdapter(replies, loop=True, model_id=f"talkative/{name}")


@pytest.mark.parametrize("name", ["speaks", "fails"])
def test_no_key_is_ever_written(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOME_API_KEY", CANARIES["environment"])
    register_model("talkative", talkative)
    headers = f'{{"extra_headers": {{"Authorization": "{CANARIES["header"]}"}}}}'

    outputs = [
        maseval(
            *("tau2", "run", "--domain", "library", "--num-tasks", 2, "--output", "r"),
            *("--agent-model", f"talkative/{name}", "--user", "scripted", "--json"),
            *("--agent-args", f"api_key={CANARIES['argument']}", "--agent-args", headers),
            *("--base-url", ADDRESS),
        ),
        maseval("show", "r"),
        maseval("show", "r", first_task(), "--full"),
        maseval("report", "r"),
        maseval("runs", tmp_path, "--json"),
        maseval("tau2", "export", "r") if name == "speaks" else maseval("runs", tmp_path),
    ]

    texts = [output.output for output in outputs]
    texts += [file.read_text(errors="replace") for file in tmp_path.rglob("*") if file.is_file()]
    log = (tmp_path / "r" / "log.jsonl").read_text()
    assert "My key is <redacted>." in log and log.count("<redacted>") > 4
    for way, canary in CANARIES.items():
        assert not any(canary in text for text in texts), way


def first_task():
    return maseval("tau2", "tasks", "--domain", "library", "--ids").stdout.splitlines()[0]


def test_a_word_in_a_variable_with_the_name_of_a_secret_does_not_spoil_a_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MY_TOKEN", "assistant")
    monkeypatch.setenv("PRIMARY_KEY", "book_id")

    maseval(*LIBRARY, "--agent", "gold", "--output", "r")
    again = maseval("tau2", "score", "r")

    assert "<redacted>" not in (tmp_path / "r" / "log.jsonl").read_text()
    assert again.exit_code == 0, again.output


def test_words_replaced_in_a_conversation_are_reported_once(tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOME_API_KEY", CANARIES["environment"])
    register_model("talkative", talkative)

    maseval(*LIBRARY, "--agent-model", "talkative/speaks", "--output", "r", "--no-probe")

    assert (
        caplog.text.count("the value of the environment variable SOME_API_KEY occurs in task") == 1
    )
    for report in RunFolder.read("r").reports():
        assert report["config"]["redacted"] == {"the environment variable SOME_API_KEY": True}
