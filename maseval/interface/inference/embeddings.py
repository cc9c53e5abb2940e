"""Embeddings from OpenAI, OpenRouter and every server that speaks their protocol."""

from collections.abc import Mapping, Sequence
from typing import Any

from maseval.core.call_policy import default_policy
from maseval.core.provider_errors import MalformedResponseError
from maseval.core.providers import Vector
from maseval.interface.inference.openai import OpenAIModelAdapter, shared_openai_client
from maseval.interface.inference.provider import Endpoint

_FROM_ENVIRONMENT = Endpoint(None, None, None)


class OpenAIEmbedder:
    """An embeddings model behind an ``openai.OpenAI`` client; retried like a chat."""

    def __init__(
        self, client: Any, model_id: str, params: Mapping[str, object] | None = None
    ) -> None:
        self._client = client
        self._params = dict(params or {})
        self._model = OpenAIModelAdapter(client, model_id)  # knows what its failures mean

    @property
    def model_id(self) -> str:
        return self._model.model_id

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        return default_policy().call(
            lambda attempt: self._request(list(texts)),
            model_id=self.model_id,
            endpoint="embeddings",
        )

    def _request(self, texts: list[str]) -> list[Vector]:
        try:
            answer = self._client.embeddings.create(
                model=self.model_id, input=texts, **self._params
            )
        except Exception as error:
            known = self._model.translate(error)
            if known is None:
                raise
            raise known from None
        vectors = [list(map(float, item.embedding)) for item in answer.data]
        if len(vectors) != len(texts):
            raise MalformedResponseError(
                f"{len(vectors)} vectors for {len(texts)} texts",
                provider="openai",
                model_id=self.model_id,
            )
        return vectors


def from_id(name: str) -> OpenAIEmbedder:
    """Return the embedder ``openai/<name>``: reads ``OPENAI_API_KEY`` and ``OPENAI_BASE_URL``."""
    return OpenAIEmbedder(shared_openai_client(name, _FROM_ENVIRONMENT), name)


def openrouter_from_id(name: str) -> OpenAIEmbedder:
    """Return the embedder ``openrouter/<name>``: reads the same variables of ``OPENROUTER``."""
    client = shared_openai_client(
        name, _FROM_ENVIRONMENT, prefix="openrouter", address="https://openrouter.ai/api/v1"
    )
    return OpenAIEmbedder(client, name, {"encoding_format": "float"})
