"""Answers that are kept: given again to equal requests only, and as they were."""

import json
import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from maseval import ChatResponse, resolve_model
from maseval.core.answer_cache import AnswerCache, answer_cache
from maseval.core.model import ModelAdapter
from maseval.core.provider_errors import MalformedRequestError
from maseval.core.scripted import ScriptedModelAdapter
from maseval.testing.provider_server import OpenAIProtocol, ProviderServer, Reply, serving

SAID = [{"role": "user", "content": "Which flight, please?"}]
TOOLS = [{"type": "function", "function": {"name": "find", "parameters": {"type": "object"}}}]
SECRET = "sk-proj-1234567890abcdefghijklmnop"


@pytest.fixture
def cache(tmp_path: Path) -> AnswerCache:
    return answer_cache(tmp_path / "answers")


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    pytest.importorskip("openai")
    with serving() as server:
        yield server


def model_at(
    server: ProviderServer, cache: AnswerCache, model: str = "mine", **options: Any
) -> ModelAdapter:
    model = resolve_model(
        f"openai/{model}", base_url=f"{server.url}/v1", **{"api_key": SECRET, **options}
    )
    model.use_cache(cache)
    return model


def files_in(cache: AnswerCache) -> list[Path]:
    return sorted(path for path in cache.folder.rglob("*") if path.is_file())


def test_an_equal_request_is_answered_as_before_and_nobody_is_asked(server, cache):
    thinking = OpenAIProtocol.calls(("find", {"to": "Zürich", "n": 1.0}))
    thinking["choices"][0]["message"]["reasoning_content"] = "They want to fly."
    server.will(thinking)

    first = model_at(server, cache).chat(SAID, {"temperature": 0.5}, TOOLS)
    again = model_at(server, cache)
    second = again.chat(SAID, {"temperature": 0.5}, TOOLS)

    assert second == first and second.tool_calls and second.usage and second.reasoning
    assert len(server.requests) == 1
    (entry,) = again.logs
    assert entry["from_cache"] is True and entry["attempt"] == 0 and entry["input_tokens"] == 100


def test_who_asks_the_same_again_gets_another_answer_and_so_does_the_next_run(server, cache):
    server.will(OpenAIProtocol.text("unreadable"), OpenAIProtocol.text('{"fine": 1}'))

    for _ in range(2):
        model = model_at(server, cache)
        assert [model.chat(SAID).content for _ in range(2)] == ["unreadable", '{"fine": 1}']
    assert len(server.requests) == 2


def test_what_comes_from_the_cache_costs_nothing_and_is_marked(server, cache):
    class TenEach:
        def calculate_cost(self, usage, model_id):
            return 10.0

    server.will(OpenAIProtocol.text("Yes."), OpenAIProtocol.text("No."))
    model_at(server, cache).chat(SAID)
    model = model_at(server, cache, cost_calculator=TenEach())
    model.chat(SAID)
    model.chat([{"role": "user", "content": "Which train, please?"}])

    used = model.gather_usage()
    assert (used.cost, used.total_tokens) == (10.0, 120)
    assert used.units == {"answers": 2, "answers_from_cache": 1, "tokens_from_cache": 120}
    assert used.kind == "llm"


@pytest.mark.parametrize(
    "change",
    [
        {"messages": [{"role": "user", "content": "Which train, please?"}]},
        {"generation_params": {"temperature": 0.6}},
        {"generation_params": {"temperature": 0.5, "max_tokens": 5}},
        {"tools": None},
        {"tool_choice": "required"},
        {"reasoning_effort": "low"},
    ],
)
def test_any_other_request_is_sent(server, cache, change):
    server.will(OpenAIProtocol.text("one"), OpenAIProtocol.text("two"))
    request = {"messages": SAID, "generation_params": {"temperature": 0.5}, "tools": TOOLS}
    model = model_at(server, cache)

    assert model.chat(**request).content == "one"
    assert model.chat(**{**request, **change}).content == "two"


@pytest.mark.parametrize("other", [{"seed": 2}, {"model": "other"}, {"top_p": 0.5}])
def test_another_seed_model_or_default_is_another_request(server, cache, other):
    server.will(OpenAIProtocol.text("one"), OpenAIProtocol.text("two"))

    assert model_at(server, cache, seed=1).chat(SAID).content == "one"
    assert model_at(server, cache, **{"seed": 1, **other}).chat(SAID).content == "two"


def test_the_same_model_elsewhere_is_another(server, cache):
    server.will(OpenAIProtocol.text("here"))
    assert model_at(server, cache).chat(SAID).content == "here"
    with serving() as elsewhere:
        elsewhere.will(OpenAIProtocol.text("there"))
        assert model_at(elsewhere, cache).chat(SAID).content == "there"


def test_no_key_enters_the_cache_or_divides_it(server, cache):
    server.will(OpenAIProtocol.text("Yes."))
    headers = {"extra_headers": {"Authorization": f"Bearer {SECRET}"}}
    model_at(server, cache).chat(SAID, **headers)

    assert model_at(server, cache, api_key="sk-other").chat(SAID, **headers).content == "Yes."
    (file,) = files_in(cache)
    assert SECRET not in file.read_text() and "Which flight" not in file.read_text()


def test_an_answer_that_repeats_a_key_is_not_kept(server, cache, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "my-own-kind-of-key-4711")
    for said in (SECRET, "my-own-kind-of-key-4711", "sk-ant-api03-abcdefghijklmnopqrstuvwx"):
        server.will(OpenAIProtocol.text(f"Your key is {said}"))
        model_at(server, cache).chat([{"role": "user", "content": said[:4]}])
    assert files_in(cache) == []


def test_failures_are_not_kept(server, cache):
    server.will(Reply(OpenAIProtocol.error("no"), status=400), OpenAIProtocol.text("Yes."))
    model = model_at(server, cache)

    with pytest.raises(MalformedRequestError):
        model.chat(SAID)
    assert files_in(cache) == []
    assert model.chat(SAID).content == "Yes."


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[:-20],
        lambda text: "[]",
        lambda text: text.replace("Yes.", "No. "),
        lambda text: json.dumps({**json.loads(text), "key": "0" * 64}),
        lambda text: json.dumps({**json.loads(text), "answer": {"surprise": 1}}),
    ],
)
def test_a_damaged_entry_is_made_anew(server, cache, damage):
    server.will(OpenAIProtocol.text("Yes."), OpenAIProtocol.text("Yes."))
    model_at(server, cache).chat(SAID)
    (file,) = files_in(cache)
    whole = file.read_text()
    file.write_text(damage(whole))

    for _ in range(2):
        assert model_at(server, cache).chat(SAID).content == "Yes." and len(server.requests) == 2
        assert file.read_text() == whole


def test_the_answer_to_another_request_is_not_believed(server, cache):
    server.will(*(OpenAIProtocol.text(words) for words in ("Yes.", "No.", "Yes.")))
    model_at(server, cache).chat(SAID)
    (mine,) = files_in(cache)
    model_at(server, cache).chat([{"role": "user", "content": "May I smoke?"}])
    (other,) = (file for file in files_in(cache) if file != mine)

    mine.write_text(json.dumps({**json.loads(other.read_text()), "key": mine.stem}))

    assert model_at(server, cache).chat(SAID).content == "Yes." and len(server.requests) == 3


def test_the_record_of_a_call_has_the_hash_of_the_answer_that_was_kept_and_taken(server, cache):
    server.will(OpenAIProtocol.text("Yes."))
    first, second = model_at(server, cache), model_at(server, cache)
    first.chat(SAID)
    second.chat(SAID)
    (file,) = files_in(cache)
    (kept,), (taken,) = first.logs, second.logs

    assert kept["answer_sha256"] == taken["answer_sha256"] == json.loads(file.read_text())["sha256"]
    forged = AnswerCache(cache.folder)
    forged.store(file.stem, {**json.loads(file.read_text())["answer"], "content": "No."})
    third = model_at(server, forged)
    assert third.chat(SAID).content == "No."  # whoever writes to the folder can do that
    assert third.logs[0]["answer_sha256"] != kept["answer_sha256"]


def test_a_scripted_model_goes_on_with_its_script(cache):
    model = ScriptedModelAdapter(["one", "two"])
    model.use_cache(cache)

    assert [model.chat(SAID).content for _ in range(2)] == ["one", "two"]


def test_what_json_would_change_is_not_kept(cache):
    key = cache.key({"a": 1})
    cache.put(key, ChatResponse(content="x", reasoning={"details": {1: "not a text"}}))

    assert cache.get(key) is None and files_in(cache) == []
    assert cache.key({"a": object()}) is None


def test_a_folder_that_cannot_be_written_to_stops_nobody(tmp_path):
    (tmp_path / "file").write_text("")
    cache = AnswerCache(tmp_path / "file" / "below")
    cache.put("ab", ChatResponse(content="x"))
    assert cache.get("ab") is None


def put_many(folder: Path) -> None:
    cache = AnswerCache(folder)
    for number in range(60):
        key = cache.key({"number": number % 6})
        cache.put(key, ChatResponse(content=str(number % 6) * 500))
        found = cache.get(key)
        assert found is not None and found.content == str(number % 6) * 500


def test_threads_and_processes_share_a_folder(cache):
    processes = [
        multiprocessing.get_context("spawn").Process(target=put_many, args=(cache.folder,))
        for _ in range(2)
    ]
    for each in processes:
        each.start()
    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(put_many, cache.folder) for _ in range(4)]:
            done.result()
    for each in processes:
        each.join()

    assert [each.exitcode for each in processes] == [0, 0]
    assert len(files_in(cache)) == 6  # and no half of one
