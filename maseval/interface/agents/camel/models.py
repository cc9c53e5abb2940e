"""The models of a CAMEL agent, with every request of a turn passing through one function.

CAMEL reports too little of a request that failed: after the last 429 it raises an error of its own
that does not carry the provider's, and it meets an answer that it cannot read with whatever its
parser raises. CAMEL takes any ``ModelManager`` as an agent's models, so ours sees the requests.
"""

from collections.abc import Awaitable, Callable
from functools import cache
from typing import Protocol

from maseval.interface.agents.camel.chat_agent import Models
from maseval.interface.agents.camel.tools import camel_module

Ask = Callable[[], object]
"""Makes one request."""

AskAsync = Callable[[], Awaitable[object]]
"""Makes one request in an event loop."""


class Follower(Protocol):
    """Makes requests, and sees what comes of them."""

    def request(self, ask: Ask) -> object: ...
    async def request_async(self, ask: AskAsync) -> object: ...


def followed(models: Models, follower: Follower) -> Models:
    """The same models; each request to them is made by ``follower``."""
    return _manager_class(camel_module("models").ModelManager)(models, follower)


def is_out_of_attempts(error: Exception) -> bool:
    """Whether CAMEL gave up on a request after several attempts."""
    return isinstance(error, camel_module("models").ModelProcessingError)


@cache
def _manager_class(base: type) -> Callable[[Models, Follower], Models]:
    class FollowedModels(base):  # type: ignore[misc]
        def __init__(self, models: Models, follower: Follower) -> None:
            # Nothing of its own: models, strategy and settings stay those of the other manager.
            self.followed: Models = models
            self.follower: Follower = follower

        def __getattr__(self, name: str) -> object:
            return getattr(self.followed, name)

        def run(
            self, messages: object, response_format: object = None, tools: object = None
        ) -> object:
            return self.follower.request(
                lambda: self.followed.run(messages, response_format, tools)
            )

        async def arun(
            self, messages: object, response_format: object = None, tools: object = None
        ) -> object:
            return await self.follower.request_async(
                lambda: self.followed.arun(messages, response_format, tools)
            )

    return FollowedModels
