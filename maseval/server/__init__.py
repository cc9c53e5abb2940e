"""Local servers that speak OpenAI's chat completions: models, recorded answers."""

from maseval.server.completion import Refusal
from maseval.server.http import ChatServer, ModelServer
from maseval.server.replaying import ReplayServer, Served

__all__ = [
    "ChatServer",
    "ModelServer",
    "Refusal",
    "ReplayServer",
    "Served",
]
