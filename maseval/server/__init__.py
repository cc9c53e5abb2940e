"""Local servers that speak OpenAI's chat completions: for models, for scripts and for tapes."""

from maseval.server.completion import Refusal
from maseval.server.http import ChatServer
from maseval.server.models import ModelServer, ScriptServer
from maseval.server.replaying import ReplayServer, Served
from maseval.server.tape import Tape, TapeError

__all__ = [
    "ChatServer",
    "ModelServer",
    "Refusal",
    "ReplayServer",
    "ScriptServer",
    "Served",
    "Tape",
    "TapeError",
]
