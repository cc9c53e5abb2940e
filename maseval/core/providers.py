"""Providers: the one way from an id such as ``openai/gpt-4o`` to a model, embedder or scorer.

The part before the slash names the provider, whose factory makes the rest. Providers are
registered, come with the library, or are entry points of installed packages.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, Protocol, TypeAlias, TypeVar
from urllib.parse import urlsplit

from maseval.core.exceptions import ConfigurationError, HookResultError, UnknownModelError
from maseval.core.lazy import find_entry_points
from maseval.core.storage.redaction import redact_value

if TYPE_CHECKING:  # takes long to load
    from importlib.metadata import EntryPoint

MadeT = TypeVar("MadeT")


class Providers(Generic[MadeT]):
    """The providers of one kind of thing, such as ``model``, by the prefix of its ids.

    Entry points are those of the group ``maseval.<kind>s``; ``like`` is a usual id, and ``made``
    the type that factories must return.
    """

    def __init__(
        self, kind: str, built_in: Mapping[str, str], like: str, made: type = object
    ) -> None:
        self.kind = kind
        self._made = made
        self._like = like
        self._group = f"maseval.{kind}s"
        self._built_in = built_in
        self.registered: dict[str, Callable[..., MadeT]] = {}

    def register(self, prefix: str, factory: Callable[..., MadeT]) -> None:
        """Let ``factory`` make all that ids with this prefix name."""
        if not prefix or "/" in prefix:
            raise ConfigurationError(
                f"a model prefix is the part of an id before the first '/', not {prefix!r}"
            )
        self.registered[prefix] = factory

    def resolve(self, model_id: str, **options: object) -> MadeT:
        """Make the thing that an id names; ``options`` go to its provider's factory."""
        prefix, name = self.split(model_id)
        made = self._factory(prefix, model_id)(name, **options)
        if not isinstance(made, self._made):
            raise HookResultError(
                f"the factory for {prefix!r} made {made!r}, not a {self._made.__name__}"
            )
        return made

    def split(self, model_id: str) -> tuple[str, str]:
        """Return the prefix of an id, by default that of the usual one, and the rest."""
        prefix, slash, name = str(model_id or "").partition("/")
        if not slash and prefix not in {*self.registered, *self._built_in}:
            prefix, name = self._like.partition("/")[0], prefix
        if not name:
            raise UnknownModelError(f"{model_id!r} names no model; write it like {self._like!r}")
        return prefix, name

    def _factory(self, prefix: str, model_id: str) -> Callable[..., MadeT]:
        if prefix in self.registered:
            return self.registered[prefix]
        from importlib.metadata import EntryPoint

        place = self._built_in.get(prefix)
        found = (
            EntryPoint(prefix, place, self._group) if place else self._entry_points().get(prefix)
        )
        if found is None:
            raise UnknownModelError(self._nobody(prefix, model_id))
        factory: Callable[..., MadeT] = found.load()
        return factory

    def _entry_points(self) -> "dict[str, EntryPoint]":
        return {found.name: found for found in find_entry_points(self._group)}

    def _nobody(self, prefix: str, model_id: str) -> str:
        import difflib

        known = sorted({*self.registered, *self._built_in, *self._entry_points()})
        alike = difflib.get_close_matches(prefix.lower(), known, n=1)
        hint = f"did you mean '{alike[0]}/…'? " if alike else ""
        way = f"maseval.register_{self.kind}({prefix!r}, factory)"
        return (
            f"no provider is installed for {prefix!r}, which {self.kind} {model_id!r} needs; "
            f"{hint}known prefixes: {', '.join(known)}. Install a package that provides it, "
            f"register one with {way}, or use scripted/…"
        )


Vector: TypeAlias = list[float]


class Embedder(Protocol):
    """Turns texts into vectors, one a text and in their order."""

    @property
    def model_id(self) -> str:
        """The id of the model."""

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return one request for all ``texts``."""


EMBEDDERS: Providers[Embedder] = Providers(
    "embedder", built_in={}, like="openai/text-embedding-3-large"
)


def register_embedder(prefix: str, factory: Callable[..., Embedder]) -> None:
    """Let ``factory(name)`` make the embedders of all ids ``prefix/name``."""
    EMBEDDERS.register(prefix, factory)


def resolve_embedder(model_id: str) -> Embedder:
    """Return the embedder for an id.

    Providers come from :func:`register_embedder`, and from installed packages that have an entry
    point in the group ``maseval.embedders``, named after the prefix.
    """
    return EMBEDDERS.resolve(model_id)


def check_base_url(base_url: object, name: str = "base_url") -> None:
    """Raise unless it is None, or an address to which the path of a request can be added."""
    if base_url is None:
        return
    address = str(base_url)
    try:
        parts = urlsplit(address)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        whole = False
    if not whole:
        raise ConfigurationError(
            f"{name} is {redact_value(address)!r}; give a whole address, like "
            "http://localhost:8000/v1"
        )
    if parts.query or parts.fragment:
        raise ConfigurationError(
            f"{name} has a query or a fragment after {redact_value(address)!r}, to which no path "
            "can be added; give a key as api_key (--agent-args api_key=KEY, --user-args) or in the "
            "provider's variable, such as OPENAI_API_KEY"
        )
