"""Embedders: what turns texts into vectors, found by an id such as ``openai/some-model``."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from maseval.core.providers import Providers

Vector: TypeAlias = list[float]


class Embedder(Protocol):
    """Turns texts into vectors, one a text and in their order."""

    @property
    def model_id(self) -> str:
        """The id of the model."""

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """One request for all ``texts``."""


_PROVIDERS: Providers[Embedder] = Providers(
    "embedder", built_in={}, like="openai/text-embedding-3-large"
)


def register_embedder(prefix: str, factory: Callable[..., Embedder]) -> None:
    """Let ``factory(name)`` make the embedders of all ids ``prefix/name``."""
    _PROVIDERS.register(prefix, factory)


def resolve_embedder(model_id: str) -> Embedder:
    """The embedder for an id.

    Providers come from :func:`register_embedder`, and from installed packages that have an entry
    point in the group ``maseval.embedders``, named after the prefix.
    """
    prefix, name = _PROVIDERS.split(model_id)
    return _PROVIDERS.factory(prefix, model_id)(name)
