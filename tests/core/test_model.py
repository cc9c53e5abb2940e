import json
from collections.abc import Sequence

import pytest

from maseval.core import model as model_module
from maseval.core.exceptions import ConfigurationError, HookResultError, UnknownModelError
from maseval.core.messages import ChatResponse, Message, MessageHistory, tool_call
from maseval.core.model import ModelAdapter, Params, register_model, resolve_model
from maseval.core.scripted import ScriptedModelAdapter
from maseval.core.tracing import JsonObject
from maseval.core.usage import StaticPricingCalculator

PRICES = StaticPricingCalculator({"scripted": {"input": 1.0, "output": 10.0}})


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


@pytest.fixture
def no_registrations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_module.MODELS, "registered", {})


def test_a_text_answer_is_logged_by_its_size_and_its_tokens():
    model = ScriptedModelAdapter(["Hello"], usage={"input_tokens": 7, "output_tokens": 2})

    model.chat([user("hi"), user("there")], {"temperature": 0}, tools=[{}], thinking={"on": 1})

    (entry,) = model.logs
    assert entry.pop("timestamp") and entry.pop("duration_seconds") >= 0
    assert entry.pop("waited_seconds") >= 0
    assert entry == {
        "attempt": 1,
        "message_count": 2,
        "status": "success",
        "response_type": "text",
        "response_length": 5,
        "tool_calls_count": 0,
        "generation_params": {"temperature": 0},
        "input_tokens": 7,
        "output_tokens": 2,
        "tools_provided": 1,
        "kwargs": {"thinking": "{'on': 1}"},
    }


def test_a_tool_call_is_logged_as_one():
    model = ScriptedModelAdapter([[tool_call("look"), tool_call("open")]])

    model.chat([user("go")])

    entry = model.logs[0]
    assert (entry["response_type"], entry["response_length"], entry["tool_calls_count"]) == (
        "tool_call",
        0,
        2,
    )


def test_an_error_is_logged_and_passed_on():
    model = ScriptedModelAdapter([ConnectionError("line down")])

    with pytest.raises(ConnectionError):
        model.chat([user("hi")])

    (entry,) = model.logs
    assert entry.pop("timestamp") and entry.pop("duration_seconds") >= 0
    assert entry.pop("waited_seconds") >= 0
    assert entry == {
        "attempt": 1,
        "message_count": 1,
        "status": "error",
        "error": "line down",
        "error_type": "ConnectionError",
        "generation_params": {},
        "tools_provided": 0,
        "kwargs": {},
    }


def test_no_secret_reaches_the_traces():
    failure = ConnectionError("GET https://ann:hush1@host/v1?key=hush2 with Bearer hush3hush3")
    model = ScriptedModelAdapter(["ok", failure])
    params = {"max_tokens": 5, "extra_headers": {"X-Api-Key": "hush4"}}

    model.chat([user("hi")], params, api_key="hush5", api_base="https://b:hush6@host")
    with pytest.raises(ConnectionError):
        model.chat([user("hi")], params, api_key="hush5")

    assert "hush" not in json.dumps([model.gather_traces(), model.gather_config()])
    assert model.logs[0]["generation_params"]["max_tokens"] == 5


def test_a_history_is_sent_without_what_only_we_know():
    history = MessageHistory()
    history.add_message("user", "hi", metadata={"private": True})
    model = ScriptedModelAdapter(["Hello"])

    model.chat(history)

    assert model.requests[0]["messages"] == [user("hi")]


@pytest.mark.parametrize(("reply", "text"), [("Hello", "Hello"), (tool_call("look"), "")])
def test_generate_is_one_question_and_its_text(reply, text):
    model = ScriptedModelAdapter([reply])

    assert model.generate("hi", {"temperature": 1}) == text
    assert model.requests[0]["messages"] == [user("hi")]
    assert model.requests[0]["generation_params"] == {"temperature": 1}


class Wrong(ModelAdapter):
    @property
    def model_id(self) -> str:
        return "wrong/one"

    def _chat_impl(
        self,
        messages: list[Message],
        generation_params: Params | None = None,
        tools: Sequence[JsonObject] | None = None,
        tool_choice: str | dict[str, object] | None = None,
        **kwargs: object,
    ) -> ChatResponse:
        return {"content": "Hello"}


def test_an_answer_of_the_wrong_shape_is_named_and_counted():
    model = Wrong()

    with pytest.raises(HookResultError, match=r"Wrong\._chat_impl returned .*'wrong/one'"):
        model.generate("hi")

    assert model.gather_traces()["failed_calls"] == 1


def test_labelling_what_was_gathered_leaves_the_record_alone():
    model = ScriptedModelAdapter(["a"])
    model.generate("x")

    model.gather_usage().category = "models"

    assert model.gather_usage().category is None


@pytest.mark.parametrize(
    ("reported", "cost"), [({}, 23.0), ({"cost": 0.25}, 0.25), ({"cost": "unknown"}, 23.0)]
)
def test_the_provider_knows_its_cost_best(reported, cost):
    usage = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5, **reported}
    model = ScriptedModelAdapter([ChatResponse("a", usage=usage)], cost_calculator=PRICES)

    model.generate("x")

    assert model.gather_usage().cost == cost


def test_a_calculator_that_tells_nothing_is_named():
    class Flat:
        def calculate_cost(self, usage, model_id):
            return 1.0

    config = ScriptedModelAdapter([], cost_calculator=Flat()).gather_config()

    assert config["cost_calculator"] == "Flat"


@pytest.mark.parametrize(
    ("model_id", "name"),
    [("openai/gpt-4o", "gpt-4o"), ("gpt-4o", "gpt-4o"), ("openai/org/tuned", "org/tuned")],
)
def test_a_registered_provider_gets_the_rest_of_the_id(no_registrations, model_id, name):
    register_model("openai", lambda name, **options: ScriptedModelAdapter([], model_id=name))

    assert resolve_model(model_id).model_id == name


def test_a_registration_wins_over_what_is_built_in(no_registrations):
    register_model("scripted", lambda name, **options: ScriptedModelAdapter([], model_id="mine"))

    assert resolve_model("scripted/echo").model_id == "mine"


def test_an_unknown_prefix_is_answered_with_the_known_ones(no_registrations):
    register_model("openai", lambda name, **options: ScriptedModelAdapter([]))

    with pytest.raises(UnknownModelError, match=r"'opnai'.*did you mean 'openai/…'") as caught:
        resolve_model("opnai/gpt-4o")

    known = str(caught.value).partition("known prefixes: ")[2]
    assert "openai" in known and "scripted" in known


@pytest.mark.parametrize("model_id", ["", "openai/", "scripted", None])
def test_an_id_without_a_model_is_refused(model_id):
    with pytest.raises(UnknownModelError, match="names no model"):
        resolve_model(model_id)


@pytest.mark.parametrize("prefix", ["", "a/b"])
def test_a_prefix_is_one_word(prefix):
    with pytest.raises(ConfigurationError, match="before the first '/'"):
        register_model(prefix, ScriptedModelAdapter)


def test_a_factory_must_make_a_model(no_registrations):
    register_model("odd", lambda name, **options: name)

    with pytest.raises(HookResultError, match="'odd' made 'one'"):
        resolve_model("odd/one")


def test_an_installed_package_can_provide_models(no_registrations, tmp_path, monkeypatch):
    (tmp_path / "acme_models.py").write_text(
        "from maseval.core.scripted import ScriptedModelAdapter\n"
        "def make(name, **options):\n"
        "    return ScriptedModelAdapter(['from acme'], model_id=name)\n"
    )
    metadata = tmp_path / "acme_models-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-models\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[maseval.models]\nacme = acme_models:make\n")
    monkeypatch.syspath_prepend(tmp_path)

    assert resolve_model("acme/fast").generate("x") == "from acme"
    with pytest.raises(UnknownModelError, match="acme"):
        resolve_model("nowhere/model")
