"""Embeddings through the real client library, from a local server."""

from collections.abc import Iterator

import pytest

from maseval.core.exceptions import MASEvalError
from maseval.core.providers import resolve_embedder
from maseval.testing.provider_server import ProviderServer, Reply, serving

pytest.importorskip("openai")


def answer(*vectors: list[float]) -> dict[str, object]:
    data = [
        {"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(vectors)
    ]
    return {"object": "list", "model": "m", "data": data, "usage": {}}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    with serving() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "key")
        monkeypatch.setenv("OPENROUTER_BASE_URL", f"{server.url}/v1")
        yield server


def test_all_texts_go_in_one_request_to_the_endpoint(server):
    server.will(Reply(answer([1.0, 0.0], [0.0, 1.0])))

    found = resolve_embedder("openai/text-embedding-3-large").embed(["a", "b"])

    assert found == [[1.0, 0.0], [0.0, 1.0]]
    (request,) = server.requests
    assert request.path == "/v1/embeddings"
    assert (request.body["model"], request.body["input"]) == (
        "text-embedding-3-large",
        ["a", "b"],
    )


def test_openrouter_is_asked_for_floats(server):
    server.will(Reply(answer([1.0])))

    resolve_embedder("openrouter/qwen/qwen3-embedding-8b").embed(["a"])

    assert server.requests[0].body["encoding_format"] == "float"
    assert server.requests[0].body["model"] == "qwen/qwen3-embedding-8b"


def test_too_few_vectors_are_the_providers_fault(server):
    server.will(*[Reply(answer([1.0]))] * 8)

    with pytest.raises(MASEvalError, match="1 vectors for 2 texts"):
        resolve_embedder("openai/m").embed(["a", "b"])


def test_without_a_key_the_error_names_the_variable(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)

    with pytest.raises(MASEvalError, match="OPENAI_API_KEY"):
        resolve_embedder("openai/m")
