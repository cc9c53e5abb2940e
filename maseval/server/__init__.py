"""A local server that speaks OpenAI's chat completions: for models, for scripts and for tapes."""

from maseval.server.completion import Refusal
from maseval.server.http import ChatServer
from maseval.server.models import ModelServer

__all__ = ["ChatServer", "ModelServer", "Refusal"]
