"""Local servers that speak OpenAI's chat completions: models, scripts, recorded answers."""

from maseval.server.completion import Refusal
from maseval.server.http import ChatServer
from maseval.server.models import ModelServer, ScriptServer
from maseval.server.replaying import ReplayServer, Served

__all__ = [
    "ChatServer",
    "ModelServer",
    "Refusal",
    "ReplayServer",
    "ScriptServer",
    "Served",
]
