"""``maseval chaos-server``: a provider on this machine that misbehaves, to test agents against."""

import os
from collections.abc import Callable, Sequence

from maseval.server.http import LOCAL
from maseval.server.upstream import Upstream
from maseval.testing.chaos import RATE, TEXT, ChaosServer, Played
from maseval.testing.faults import faults_named

DEFAULT_PORT = 8766
DEFAULT_KEY_ENV = "OPENAI_API_KEY"


def chaos_server(
    faults: Sequence[str],
    *,
    seed: int = 0,
    rate: float = RATE,
    text: str = TEXT,
    upstream: str | None = None,
    key_env: str = DEFAULT_KEY_ENV,
    host: str = LOCAL,
    port: int = DEFAULT_PORT,
    on_request: Callable[[Played], object] = lambda played: None,
) -> ChaosServer:
    """A server that listens already; pass it to ``maseval.testing.serving``, or serve it yourself.

    Args:
        faults: The names of what may go wrong; ``maseval.testing.FAULTS`` has them all.
        seed: The same seed spoils the same requests in the same way.
        rate: The share of requests that are spoiled, from 0 to 1.
        text: What it says to all others.
        upstream: The base URL of a real provider that answers all others instead.
        key_env: The variable with the upstream's key, for clients that send none.
        host: Where to listen.
        port: 0 is any that is free.
        on_request: Called with what was done with each request.
    """
    named = faults_named(faults)
    key = os.environ.get(key_env) or None
    return ChaosServer(
        named,
        seed=seed,
        rate=rate,
        text=text,
        upstream=None if upstream is None else Upstream(upstream, key),
        host=host,
        port=port,
        on_request=on_request,
    )
