"""What every adapter must tell apart: a provider that fails from an agent that does."""

import pytest

from maseval.core.provider_errors import (
    ContentFilterError,
    MalformedResponseError,
    OverloadedError,
    ProviderConnectionError,
)
from maseval.interface.agents.framework import AgentGaveUpError
from maseval.testing.provider_server import OpenAIProtocol
from tests.interface.agents.frameworks import FRAMEWORKS, each, in_every_way
from tests.interface.agents.served import COUNTED, FAILURES, KEY, LOOKING, NAME, look, served


@in_every_way
@pytest.mark.parametrize(("reply", "error"), FAILURES)
def test_failures_of_the_provider_are_called_by_their_names(reply, error, clerk, server):
    server.will(reply)
    # Only where the server is late: a busy machine may take long for the others.
    agent = clerk(f"{server.url}/v1", model={"timeout": 0.5 if reply.delay else 60})

    with pytest.raises(error) as caught:
        agent.run("Hi")

    assert KEY not in str(caught.value)
    assert caught.value.model_id == NAME
    assert caught.value.retry_after == (7 if reply.status == 429 else None)
    assert len(server.requests) == 1
    assert agent.logs[-1]["error_type"] == error.__name__
    assert agent.logs[-1]["status"] == "error"


def test_a_refused_connection_is_the_providers_failure(clerk):
    with pytest.raises(ProviderConnectionError):
        clerk("http://127.0.0.1:9/v1").run("Hi")


@in_every_way
def test_what_was_done_and_used_before_a_failure_is_told(framework, clerk):
    broken = OverloadedError("gone", provider="p", model_id="m")
    with served(LOOKING, broken, usage=COUNTED) as (_, url):
        agent = clerk(url, [look])
        with pytest.raises(OverloadedError):
            agent.run("Look")

    assert agent.gather_usage().total_tokens == COUNTED["total_tokens"]
    roles = [message["role"] for message in agent.openai_messages()]
    assert [role for role in roles if role != "system"] == list(framework.kept_of_failure)
    assert agent.logs[-1]["error_type"] == "OverloadedError"


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        pytest.param(kind, body, marks=kind.marks(), id=f"{kind.__name__}-{number}")
        for kind in FRAMEWORKS
        if not kind.variant
        for number, body in enumerate(kind.unreadable)
    ],
    indirect=["kind"],
)
def test_an_answer_that_cannot_be_read_is_the_providers_failure(body, clerk, server):
    server.will(body)

    with pytest.raises(MalformedResponseError):
        clerk(f"{server.url}/v1").run("Hi")


@pytest.mark.parametrize("kind", each(lambda kind: kind.tells_filtered), indirect=True)
def test_a_filtered_answer_is_the_providers_failure(clerk, server):
    server.will(OpenAIProtocol.content_filter())

    with pytest.raises(ContentFilterError):
        clerk(f"{server.url}/v1").run("Hi")


@pytest.mark.parametrize("kind", each(lambda kind: kind.at_limit, variants=True), indirect=True)
def test_an_agent_that_reaches_its_limit_gave_up(framework, clerk):
    with served(LOOKING, loop=True) as (model, url):
        agent = clerk(url, [look], limit=3)
        with pytest.raises(AgentGaveUpError, match=framework.at_limit):
            agent.run("Look")

    assert len(model.requests) == 3
    results = agent.openai_messages().filter_by_role("tool")
    assert len(results) == framework.results_at_limit


@pytest.mark.parametrize("kind", each(lambda kind: kind.at_limit), indirect=True)
def test_the_limit_is_for_each_turn_and_an_answer_within_it_is_one(clerk):
    with served(*[LOOKING, LOOKING, "Done."] * 2) as (_, url):
        agent = clerk(url, [look], limit=4)
        assert [agent.run("Look"), agent.run("Look")] == ["Done.", "Done."]
