"""An outage that comes with a good status, through the real client libraries."""

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any, get_args

import pytest

from maseval.core import provider_errors as errors
from maseval.core.call_policy import CallPolicy
from maseval.core.model import resolve_model
from maseval.core.provider_errors import MalformedResponseError, OverloadedError
from maseval.interface.inference.endings import ENDINGS
from maseval.testing.provider_server import OpenAIProtocol, ProviderServer, Reply, completion
from tests.interface.inference.protocols import (
    AnthropicProtocol,
    ResponsesProtocol,
    candidate,
    message,
    response,
)
from tests.interface.libraries import QUIET_LITELLM, needing

pytestmark = QUIET_LITELLM


@pytest.fixture
def ask(server: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Ask a model of a library once; the answer's text, or the class of the failure."""
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")

    def ask_model(model_id, reply, **options):
        server.will(reply)
        path = "" if re.search("anthropic|google|gemini", model_id) else "/v1"
        address = {"base_url": server.url + path, "api_key": "key-1234"}
        policy = CallPolicy(max_attempts=1)
        model = resolve_model(model_id, policy=policy, **{**address, **options})
        try:
            return model.chat([{"role": "user", "content": "hi"}]).content
        except errors.ProviderError as error:
            return error

    return ask_model


def choice(text: str, reason: str, **more: Any) -> dict[str, Any]:
    answer = completion({"role": "assistant", "content": text}, reason)
    answer["choices"][0].update(more)
    return answer


def assert_outcome(
    outcome: MalformedResponseError | OverloadedError | str | None,
    kind: type[Any] | None,
    text: str | None,
) -> None:
    assert outcome == text if kind is None else type(outcome) is kind, repr(outcome)


FAILURES = [ending for ending, kind in ENDINGS.items() if kind is not None]
OPENAI = [
    pytest.param("openai/m", marks=needing("openai")),
    pytest.param("litellm/openai/m", marks=needing("litellm")),
    pytest.param("litellm/openrouter/m", marks=needing("litellm")),
]
ANTHROPIC = [
    pytest.param("anthropic/m", marks=needing("anthropic")),
    pytest.param("litellm/anthropic/m", marks=needing("litellm")),
]
GOOGLE = [
    pytest.param("google/m", marks=needing("google.genai")),
    pytest.param("litellm/gemini/m", marks=needing("litellm")),
]


@pytest.mark.parametrize("model_id", OPENAI)
@pytest.mark.parametrize(
    ("text", "ending"),
    [*product(["half a sen"], ENDINGS), *product([""], ["stop", "length", *FAILURES])],
)
def test_an_ending_is_the_models_own_or_its_providers_failure(ask, model_id, ending, text):
    assert_outcome(ask(model_id, choice(text, ending)), ENDINGS[ending], text)


@pytest.mark.parametrize("model_id", ANTHROPIC)
@pytest.mark.parametrize(
    "ending", ["end_turn", "max_tokens", "model_context_window_exceeded", "error", "pause_turn"]
)
@pytest.mark.parametrize("text", [None, "half a sen"])
def test_so_it_is_with_anthropic(ask, model_id, ending, text):
    blocks = [{"type": "text", "text": text}] if text else []

    assert_outcome(ask(model_id, message(blocks, ending)), ENDINGS[ending], text)


@pytest.mark.parametrize("model_id", GOOGLE)
@pytest.mark.parametrize(
    "ending", ["STOP", "MAX_TOKENS", "OTHER", "LANGUAGE", "TOO_MANY_TOOL_CALLS"]
)
def test_so_it_is_with_google(ask, model_id, ending):
    outcome = ask(model_id, candidate([{"text": "half a sen"}], ending))

    assert_outcome(outcome, ENDINGS[ending.lower()], "half a sen")


@pytest.mark.parametrize("ending", ["max_output_tokens", "steered", "content_filter"])
@pytest.mark.parametrize("status", ["incomplete", "cancelled", "queued"])
def test_so_it_is_with_responses(ask, ending, status):
    pytest.importorskip("openai")
    reason = {"reason": ending} if status == "incomplete" else None
    answer = {**ResponsesProtocol.text("half"), "status": status, "incomplete_details": reason}

    outcome = ask("openai-responses/m", answer)

    assert_outcome(outcome, ENDINGS[ending if reason else status], "half")


@pytest.mark.parametrize(
    ("text", "kind"), [("", errors.MalformedResponseError), ("half a sen", None)]
)
def test_an_ending_that_nobody_documents_is_believed_if_there_is_an_answer(ask, text, kind):
    pytest.importorskip("openai")

    assert_outcome(ask("openai/m", choice(text, "brand_new")), kind, text)


def literals() -> Iterator[Any]:
    """Yield the endings that the libraries themselves know."""
    chat = import_module("openai.types.chat.chat_completion").Choice
    responses = import_module("openai.types.responses.response")
    reasons = responses.IncompleteDetails.model_fields["reason"].annotation
    yield from get_args(chat.model_fields["finish_reason"].annotation)
    yield from (reason for each in get_args(reasons) for reason in get_args(each))
    yield from get_args(responses.ResponseStatus)
    yield from get_args(import_module("anthropic.types").StopReason)
    yield from import_module("google.genai.types").FinishReason.__members__


def test_every_ending_that_a_library_knows_has_a_row():
    for library in ("openai", "anthropic", "google.genai"):
        pytest.importorskip(library)

    # Of an incomplete answer the reason counts.
    assert {each.lower() for each in literals()} - {"incomplete"} <= ENDINGS.keys()


PAGE = Path(__file__).parents[3] / "docs" / "errors.md"


def test_the_page_of_errors_lists_every_ending_with_what_it_is():
    rows = re.findall(r"^\| `(\w+)`.*\| (`.*`) \|$", PAGE.read_text("utf-8"), re.M)
    listed = {ending: row for row, endings in rows for ending in re.findall(r"`(\w+)`", endings)}

    assert listed == {
        ending: kind.__name__ if kind else "success" for ending, kind in ENDINGS.items()
    }


@pytest.mark.parametrize("model_id", OPENAI)
@pytest.mark.parametrize("text", ["", "half a sen"])
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": 502, "message": "Provider disconnected"}, errors.OverloadedError),
        ({"code": "502", "message": "Provider disconnected"}, errors.OverloadedError),
        ({"code": 429, "message": "slow down"}, errors.RateLimitError),
        ({"code": "server_error", "message": "down"}, errors.OverloadedError),
        ({"code": "model_not_found", "message": "no such"}, errors.ModelNotFoundError),
        ({"code": 403, "message": "flagged by moderation"}, errors.ContentFilterError),
        ({"message": "upstream died"}, errors.MalformedResponseError),
        ("upstream died", errors.MalformedResponseError),
    ],
)
def test_an_error_beside_the_choices_is_no_answer(ask, model_id, text, error, kind):
    assert_outcome(ask(model_id, {**choice(text, "stop"), "error": error}), kind, text)
    assert_outcome(ask(model_id, {"error": error}), kind, text)


@pytest.mark.parametrize("model_id", OPENAI)
@pytest.mark.parametrize("text", ["", "half a sen"])
def test_an_error_inside_a_choice_is_no_answer(ask, model_id, text):
    error = {"code": 502, "message": "Provider disconnected"}

    outcome = ask(model_id, choice(text, "error", error=error))

    assert type(outcome) is errors.OverloadedError and outcome.transient


@pytest.mark.parametrize("model_id", OPENAI)
@pytest.mark.parametrize("nothing", [None, {}, "", {"code": None, "message": ""}])
def test_an_error_that_says_nothing_is_none(ask, model_id, nothing):
    assert ask(model_id, {**choice("whole", "stop"), "error": nothing}) == "whole"


@pytest.mark.parametrize("model_id", ANTHROPIC)
def test_anthropics_error_with_a_good_status_is_an_outage(ask, model_id):
    outcome = ask(model_id, AnthropicProtocol.error("busy", code="overloaded_error"))

    assert type(outcome) is errors.OverloadedError


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("vector_store_timeout", errors.OverloadedError),
        ("bio_policy", errors.ContentFilterError),
        ("invalid_prompt", errors.MalformedRequestError),
    ],
)
def test_a_response_that_failed_has_the_kind_of_its_code(ask, code, kind):
    pytest.importorskip("openai")
    error = {"code": code, "message": "it failed"}

    assert (
        type(ask("openai-responses/m", {**response([]), "status": "failed", "error": error}))
        is kind
    )


@pytest.mark.parametrize("model_id", OPENAI)
@pytest.mark.parametrize(
    ("status", "text", "code", "kind"),
    [
        (500, "This model's maximum context length is unknown", None, errors.OverloadedError),
        (400, "model not found: context length unknown", None, errors.ModelNotFoundError),
        (400, "This model's maximum context length is 8", None, errors.ContextOverflowError),
    ],
)
def test_the_status_comes_before_words(ask, model_id, status, text, code, kind):
    outcome = ask(model_id, Reply(OpenAIProtocol.error(text, status, code), status))

    assert_outcome(outcome, kind, None)


@pytest.mark.parametrize("model_id", [*OPENAI, *ANTHROPIC])
def test_an_answer_that_drips_ends_with_the_timeout(ask, model_id):
    body = (
        AnthropicProtocol.text("x" * 100)
        if "anthropic" in model_id
        else OpenAIProtocol.text("x" * 100)
    )
    ask(model_id, body)  # LiteLLM loads much of itself at its first request

    outcome = ask(model_id, Reply(body, pause=0.05), timeout=1)

    assert type(outcome) is errors.ProviderTimeoutError


@pytest.mark.parametrize("model_id", OPENAI)
def test_an_answer_that_is_slow_and_in_time_is_read(ask, model_id):
    assert ask(model_id, Reply(OpenAIProtocol.text("ok"), pause=0.001), timeout=60) == "ok"
