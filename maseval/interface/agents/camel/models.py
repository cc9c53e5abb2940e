"""The models of a CAMEL agent, with every request of a turn passing through one function.

CAMEL reports too little of a request that failed: after the last 429 it raises an error of its own
that does not carry the provider's, and it meets an answer that it cannot read with whatever its
parser raises. CAMEL takes any ``ModelManager`` as an agent's models, so ours sees the requests.
"""

from collections.abc import Callable
from functools import cache

from maseval.interface.agents.camel.chat_agent import Models
from maseval.interface.agents.camel.tools import camel_module

Ask = Callable[[], object]
"""Makes one request."""

Follow = Callable[[Ask], object]
"""Makes a request, and sees what comes of it."""


def followed(models: Models, follow: Follow) -> Models:
    """The same models; each request to them is made by ``follow``."""
    return _manager_class(camel_module("models").ModelManager)(models, follow)


def is_out_of_attempts(error: Exception) -> bool:
    """Whether CAMEL gave up on a request after several attempts."""
    return isinstance(error, camel_module("models").ModelProcessingError)


@cache
def _manager_class(base: type) -> Callable[[Models, Follow], Models]:
    class FollowedModels(base):  # type: ignore[misc]
        def __init__(self, models: Models, follow: Follow) -> None:
            # Nothing of its own: models, strategy and settings stay those of the other manager.
            self.followed: Models = models
            self.follow: Follow = follow

        def __getattr__(self, name: str) -> object:
            return getattr(self.followed, name)

        def run(
            self, messages: object, response_format: object = None, tools: object = None
        ) -> object:
            return self.follow(lambda: self.followed.run(messages, response_format, tools))

    return FollowedModels
