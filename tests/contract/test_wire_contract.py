"""Recorded requests through our own adapter: on the wire they are what LiteLLM would send."""

import json
from typing import Any

import pytest

from maseval.benchmark.tau2.texts.loading import load_texts
from maseval.benchmark.tau2.wording import wording_of
from maseval.core.model import resolve_model
from maseval.testing.provider_server import OpenAIProtocol, serving
from tests.interface.libraries import needing

pytestmark = [pytest.mark.contract, pytest.mark.data, *needing("openai")]

BODIES = (
    *("0.2.0-mock-create", "0.2.0-mock-gt", "0.2.0-mock-nl-judge", "0.2.0-mock-solo"),
    *("1.0.1-mock-create", "1.0.1-mock-history-2", "1.0.1-mock-nl-judge"),
    "1.0.1-mock-user-tools",
)


@pytest.mark.parametrize("name", BODIES)
def test_recorded_requests_go_over_the_wire_as_the_versions_own_library_sends_them(
    name, contract_dir, shared_data
):
    recorded = json.loads((contract_dir / "texts" / "bodies" / f"{name}.json").read_text())
    wording = wording_of(
        load_texts(recorded["version"], shared_data / "tau2-texts"), recorded["version"]
    )
    with serving() as server:
        for request in recorded["requests"]:
            body = dict(request["body"])
            server.will(OpenAIProtocol.text("ok"))
            model = resolve_model(f"openai/{body['model']}", base_url=server.url)
            model.message_form = wording.message_form
            given = {key: body[key] for key in body if key in ("temperature", "seed", "max_tokens")}
            model.chat(
                body["messages"],
                generation_params=given,
                tools=body["tools"],
                tool_choice=body["tool_choice"],
            )
            assert server.requests[-1].body == on_the_wire(body, recorded["version"])


def on_the_wire(body: dict[str, Any], version: str) -> dict[str, Any]:
    """What a local server received from LiteLLM for such a request."""
    sent = {key: value for key, value in body.items() if value is not None}
    del sent["num_retries"]
    if version != "0.2.0":
        sent["messages"] = [
            {key: value for key, value in message.items() if value is not None}
            for message in sent["messages"]
        ]
    return sent
