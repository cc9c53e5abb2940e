"""The example on each provider's page runs, as it stands there, against a local server."""

import re
from pathlib import Path

import pytest

from maseval.testing.provider_server import (
    AnthropicProtocol,
    GoogleProtocol,
    OpenAIProtocol,
    ResponsesProtocol,
)
from tests.interface.libraries import QUIET_LITELLM, needing

PAGES = Path(__file__).parents[3] / "docs" / "models"
EXAMPLE = re.compile(r"^```py\n(.*?)^```$", re.M | re.S)


def example(page):
    (found,) = EXAMPLE.findall((PAGES / f"{page}.md").read_text(encoding="utf-8"))
    return found


@QUIET_LITELLM
@pytest.mark.parametrize(
    ("page", "protocol", "variable", "path"),
    [
        pytest.param("openai", OpenAIProtocol, "OPENAI_BASE_URL", "/v1", marks=needing("openai")),
        pytest.param(
            *("openai-responses", ResponsesProtocol, "OPENAI_BASE_URL", "/v1"),
            marks=needing("openai"),
        ),
        pytest.param(
            "anthropic", AnthropicProtocol, "ANTHROPIC_BASE_URL", "", marks=needing("anthropic")
        ),
        pytest.param(
            "google", GoogleProtocol, "GOOGLE_GEMINI_BASE_URL", "", marks=needing("google.genai")
        ),
        pytest.param(
            "litellm", OpenAIProtocol, "DEEPSEEK_API_BASE", "/v1", marks=needing("litellm")
        ),
    ],
)
def test_the_example_of_a_page_runs(page, protocol, variable, path, server, monkeypatch, capsys):
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    monkeypatch.setenv(variable, server.url + path)
    for key in ("OPENAI", "ANTHROPIC", "GEMINI", "DEEPSEEK"):
        monkeypatch.setenv(f"{key}_API_KEY", "key-1234")
    server.will(protocol.text("Hello!"))

    exec(example(page), {})

    said, number = capsys.readouterr().out.splitlines()
    assert said == "Hello!"
    assert float(number) > 0
    assert len(server.requests) == 1
