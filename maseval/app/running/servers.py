"""``maseval replay-server`` and ``chaos-server``: models on this machine, over OpenAI's protocol.

One says what was recorded, the other misbehaves, to test agents against.
"""

import os
from collections.abc import Callable, Sequence

from maseval.server.http import LOCAL
from maseval.server.replaying import OnRequest, ReplayServer, Upstream
from maseval.testing.faults import RATE, TEXT, ChaosServer, Played, faults_named

DEFAULT_PORT = 8765
DEFAULT_KEY_ENV = "OPENAI_API_KEY"


def replay_server(
    folder: str | os.PathLike[str],
    *,
    record: bool = False,
    upstream: str | None = None,
    key_env: str = DEFAULT_KEY_ENV,
    host: str = LOCAL,
    port: int = DEFAULT_PORT,
    on_request: OnRequest | None = None,
) -> ReplayServer:
    """Return a listening server for a folder of answers.

    Use it as a context manager, or call ``serve`` to serve in this thread. ``key_env`` names the
    variable with the upstream's key, for clients that send none.
    """
    return ReplayServer(
        folder,
        record=record,
        upstream=upstream,
        upstream_key=os.environ.get(key_env) or None,
        host=host,
        port=port,
        on_request=on_request,
    )


CHAOS_PORT = 8767


def chaos_server(
    faults: Sequence[str],
    *,
    seed: int = 0,
    rate: float = RATE,
    text: str = TEXT,
    upstream: str | None = None,
    key_env: str = DEFAULT_KEY_ENV,
    host: str = LOCAL,
    port: int = CHAOS_PORT,
    on_request: Callable[[Played], object] = lambda played: None,
) -> ChaosServer:
    """Return a listening server, for ``maseval.testing.serving`` or to serve yourself.

    Args:
        faults: Names of faults; ``maseval.testing.FAULTS`` has them all.
        seed: The same seed spoils the same requests in the same way.
        rate: The share of requests that are spoiled, from 0 to 1.
        text: The answer to all other requests.
        upstream: The base URL of a real provider that answers all others instead.
        key_env: The variable with the upstream's key, for clients that send none.
        host: Address to listen on.
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
