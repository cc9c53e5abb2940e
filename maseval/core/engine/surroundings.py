"""What a program has set for its whole process, taken along to others.

The default policy of calls, and the models, embedders and scorers that it registered.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from maseval.core import embedding, model, scorer
from maseval.core.call_policy import CallPolicy, default_policy, set_default_policy
from maseval.core.providers import Providers

_KINDS: dict[str, Providers[Any]] = {
    "model": model._PROVIDERS,
    "embedder": embedding._PROVIDERS,
    "scorer": scorer._PROVIDERS,
}


@dataclass(frozen=True)
class Surroundings:
    """The settings of one process; ``registered`` by kind and prefix."""

    policy: CallPolicy
    registered: dict[tuple[str, str], Callable[..., Any]]

    @classmethod
    def here(cls, sendable: Callable[[object], bool]) -> "Surroundings":
        """Those of this process, without factories that cannot be sent: few runs use them all."""
        registered = {
            (kind, prefix): factory
            for kind, providers in _KINDS.items()
            for prefix, factory in providers.registered.items()
            if sendable(factory)
        }
        return cls(default_policy(), registered)

    def put_up(self) -> None:
        """Set them in this process."""
        set_default_policy(self.policy)
        for (kind, prefix), factory in self.registered.items():
            _KINDS[kind].register(prefix, factory)
