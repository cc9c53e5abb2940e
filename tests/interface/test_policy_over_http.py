"""Retries, throttling and early stops, through a real library and a real server on loopback."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from maseval.core import provider_errors as errors
from maseval.core.call_policy import CallPolicy, throttle_of
from maseval.core.exceptions import RunStoppedError
from maseval.core.model import register_model, resolve_model
from maseval.interface.inference import OpenAIModelAdapter
from maseval.testing.provider_server import OpenAIProtocol, ProviderServer, Reply
from tests.core.worlds import Shop, numbered

CANARY = "canary-0123456789-do-not-sing"
HELLO = OpenAIProtocol.text("Hello")

fresh = count()


@pytest.fixture(autouse=True)
def served(server: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The models ``served/…``, all through one client."""
    sdk = pytest.importorskip("openai")
    monkeypatch.setattr("maseval.core.model.MODELS.registered", {})
    with sdk.OpenAI(base_url=f"{server.url}/v1", api_key=CANARY) as client:
        register_model("served", lambda name, **options: OpenAIModelAdapter(client, name))
        yield


def refusal(status: int, message: str = "not now", **headers: Any) -> Reply:
    return Reply(OpenAIProtocol.error(message, status), status, headers)


def model_of(
    server: ProviderServer, model_id: str | None = None, **limits: int
) -> OpenAIModelAdapter:
    return resolve_model(
        f"served/{model_id or f'model-{next(fresh)}'}",
        base_url=server.url,
        policy=CallPolicy(**{"base_delay": 0.01, **limits}),
    )


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (400, "This model's maximum context length is 8192 tokens", errors.ContextOverflowError),
        (400, "filtered by the content management policy", errors.ContentFilterError),
        (400, "temperature must be a number", errors.MalformedRequestError),
        (404, "the model does not exist", errors.ModelNotFoundError),
    ],
)
def test_what_stays_wrong_is_asked_once(server, status, message, kind):
    server.will(refusal(status, message), HELLO)

    with pytest.raises(kind):
        model_of(server).generate("hi")

    assert len(server.requests) == 1


def test_a_provider_that_stays_away_is_named_in_the_end(server):
    server.will(*[refusal(503) for _ in range(10)])

    with pytest.raises(errors.OverloadedError, match="HTTP 503") as caught:
        model_of(server, max_attempts=3).generate("hi")

    assert len(server.requests) == 3
    assert caught.value.details["gave_up"] == "max_attempts=3"


def test_a_run_comes_through_a_burst_of_refusals_and_slows_down(server):
    server.will(*[refusal(429) for _ in range(6)], *[HELLO] * 40)

    def ask(query):
        return model_of(server, "burst").generate(query)

    reports = Shop(ask, num_workers=8).run(numbered(40))

    assert {report["status"] for report in reports} == {"success"}
    assert len(server.requests) == 46
    throttle = throttle_of(f"served@{server.url}")
    assert (throttle.under_way, 1 <= throttle.limit < 40) == (0, True)


def test_a_refused_key_stops_a_run_of_many_tasks_and_is_never_shown(server):
    server.will(*[refusal(401, f"Incorrect API key: {CANARY}") for _ in range(100)])

    def agent(query):
        return model_of(server, "locked").generate(query)

    shop = Shop(agent, num_workers=4, stop_when_hopeless=True)

    with pytest.raises(RunStoppedError, match="openai refused the credentials") as caught:
        shop.run(numbered(100))

    assert 1 <= len(server.requests) == len(shop.reports) <= 4
    error = shop.reports[0]["error"]
    assert error["error_type"] == "AuthenticationError"
    assert (error["details"]["provider"], error["details"]["status"]) == ("openai", 401)
    assert CANARY not in f"{caught.value} {shop.reports}"
