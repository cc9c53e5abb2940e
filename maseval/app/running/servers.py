"""``maseval replay-server``: says what was recorded or scripted, over OpenAI's protocol."""

import os

from maseval.core.exceptions import ConfigurationError
from maseval.core.scripted import from_id
from maseval.server.http import LOCAL
from maseval.server.models import ScriptServer
from maseval.server.replaying import OnRequest, ReplayServer

DEFAULT_PORT = 8765
DEFAULT_KEY_ENV = "OPENAI_API_KEY"


def replay_server(
    folder: str | os.PathLike[str] | None = None,
    *,
    record: bool = False,
    upstream: str | None = None,
    key_env: str = DEFAULT_KEY_ENV,
    script: str | os.PathLike[str] | None = None,
    host: str = LOCAL,
    port: int = DEFAULT_PORT,
    on_request: OnRequest | None = None,
) -> ReplayServer | ScriptServer:
    """Return a listening server for a folder of answers, or for a file with a list of replies.

    Use it as a context manager, or call ``serve`` to serve in this thread. ``key_env`` names the
    variable with the upstream's key, for clients that send none.
    """
    if (folder is None) is (script is None):
        raise ConfigurationError(
            "give either a folder of recorded answers or a script (--script replies.json)"
        )
    if script is not None:
        if record or upstream is not None:
            raise ConfigurationError("a script is only played; recording needs a folder")
        model = from_id(_script_name(script))
        return ScriptServer(model, host=host, port=port, on_request=on_request)
    assert folder is not None
    return ReplayServer(
        folder,
        record=record,
        upstream=upstream,
        upstream_key=os.environ.get(key_env) or None,
        host=host,
        port=port,
        on_request=on_request,
    )


def _script_name(path: str | os.PathLike[str]) -> str:
    name = os.fspath(path)
    if not name.endswith(".json"):
        raise ConfigurationError(f"a script is a .json file with a list of replies, not {name!r}")
    return name
