import hashlib
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.domains import DOMAINS
from maseval.benchmark.tau2.texts.loading import load_texts
from maseval.benchmark.tau2.texts.original import TEMPLATES, template
from maseval.benchmark.tau2.texts.texts import TextsError
from maseval.benchmark.tau2.wording import OURS, TextsUnavailableError, wording_of
from maseval.core.exceptions import ConfigurationError
from maseval.core.messages import MessageForm
from tests.benchmark.tau2.rooms import Live, room_domain, room_task
from tests.cli.commandline import maseval


@pytest.fixture(autouse=True)
def no_texts_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("MASEVAL_TAU2_TEXTS", raising=False)
    monkeypatch.delenv("MASEVAL_TAU2_DATA", raising=False)
    monkeypatch.setenv("MASEVAL_OFFLINE", "1")
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, shared_data: Path) -> None:
    monkeypatch.setenv("MASEVAL_TAU2_TEXTS", str(shared_data / "tau2-texts"))


@pytest.mark.data
@pytest.mark.parametrize("version", ["0.2.0", "v1.0.1"])
def test_without_any_choice_it_is_the_original_where_the_texts_are(here, version):
    assert wording_of(version=version).to_config()["version"] == version.removeprefix("v")
    assert wording_of("ours", version).name == "ours"


def test_our_own_texts_are_known_by_the_hash_of_every_word_of_them():
    texts = {
        "prompts": {name: template(name) for name in TEMPLATES},
        "tools": {
            name: [kit.definitions() for kit in (each.toolkit, each.user_toolkit) if kit]
            for name, each in sorted(DOMAINS.items())
        },
    }
    compact = json.dumps(texts, ensure_ascii=False, separators=(",", ":"))
    assert OURS.sha256 == hashlib.sha256(compact.encode()).hexdigest()


@pytest.mark.data
def test_texts_in_the_cache_are_found(shared_data, tmp_path):
    kept = tmp_path / "cache" / "tau2" / "v0.2.0" / "source" / "texts.json"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(load_texts("0.2.0", shared_data / "tau2-texts").to_bytes())
    assert wording_of().name == "original"
    assert wording_of(version="1.0.1").name == "ours"
    kept.write_text("{}")
    assert wording_of().name == "ours"


def test_a_named_file_that_is_not_right_is_an_error_and_not_passed_over(monkeypatch, tmp_path):
    (tmp_path / "texts.json").write_text("{}")
    monkeypatch.setenv("MASEVAL_TAU2_TEXTS", str(tmp_path / "texts.json"))
    with pytest.raises(TextsError):
        wording_of()


def test_asked_for_and_not_to_be_had_is_an_error_that_says_what_to_do():
    with pytest.raises(TextsUnavailableError, match="`maseval tau2 data texts` fetches them"):
        wording_of("original")
    with pytest.raises(TextsUnavailableError, match=r"texts --data-version 1\.0\.1` fetches them"):
        wording_of("original", "1.0.1")
    named = maseval("tau2", "data", "texts")
    assert named.exit_code == 1 and "MASEVAL_TAU2_TEXTS" in named.stderr


@pytest.mark.data
def test_the_command_that_the_error_names_prints_version_and_hash(here):
    printed = maseval("tau2", "data", "texts", "--data-version", "1.0.1").stdout
    assert printed.split() == ["v1.0.1", wording_of(version="1.0.1").sha256]


@pytest.mark.data
def test_loaded_texts_must_be_those_of_the_version(shared_data):
    texts = load_texts("1.0.1", shared_data / "tau2-texts")
    assert wording_of(texts, "1.0.1").sha256 == texts.sha256
    with pytest.raises(ConfigurationError, match=r"those of v1\.0\.1, but the run is one of v0"):
        wording_of(texts)


def test_any_other_word_is_refused():
    with pytest.raises(ConfigurationError, match="texts is 'mine'; choose one of: original, ours"):
        wording_of("mine")


def played(folder: Path, **settings: Any) -> Live:
    folder.mkdir(exist_ok=True)
    room = room_domain(folder)
    benchmark = Live(["Hello."] * 2, ["Hi", "Bye ###STOP###"] * 2, n_task_repeats=2, **settings)
    benchmark.run([room_task(room)])
    return benchmark


def test_a_run_that_falls_back_says_once_that_it_is_not_comparable(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        benchmark = played(tmp_path / "room")
    assert len([r for r in caplog.records if "not comparable" in r.message]) == 1
    assert benchmark.benchmark_level_config["tau2"]["texts"] == OURS.to_config()
    caplog.clear()
    played(tmp_path / "room", texts="ours")
    assert not [r for r in caplog.records if "not comparable" in r.message]


@pytest.mark.data
def test_a_run_with_the_originals_texts_records_them_and_sends_its_form(here, tmp_path):
    benchmark = played(tmp_path / "room", seed=300)
    assert benchmark.benchmark_level_config["tau2"]["texts"] == wording_of().to_config()
    agents, users = benchmark.models["agent_model"], benchmark.models["user_simulator"]
    assert [model.seed for model in agents] == [model.seed for model in users] == [626729, 373753]
    heard = benchmark.requests("user_simulator")[1]["messages"]
    assert heard[2] == {"role": "assistant", "content": "Hi", "tool_calls": None}


def test_our_form_has_no_nulls_and_no_second_name():
    call = {"id": "c", "name": "look", "arguments": {"at": "é"}, "requestor": "assistant"}
    spoken = {"role": "assistant", "content": "Hi", "tool_calls": None}
    calling = {"role": "assistant", "content": None, "tool_calls": [call]}
    function = {"name": "look", "arguments": '{"at": "\\u00e9"}'}

    assert OURS.message_form is MessageForm.PLAIN
    assert OURS.chat([spoken, calling]) == [
        {"role": "assistant", "content": "Hi"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": function}],
        },
    ]


@pytest.mark.parametrize("given", [None, {}, {"top_p": 1}])
def test_what_is_asked_for_is_added_to_our_parameters(given):
    assert OURS.params("gpt-4.1", given) == {"temperature": 0.0, **(given or {})}
    assert OURS.params("claude-x", given)["thinking"] == {"type": "disabled"}
    assert OURS.judge_params("claude-x") == {"temperature": 0.0}
