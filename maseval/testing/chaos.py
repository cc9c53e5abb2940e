"""ChaosServer: a provider that answers, but not always well."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import count
from typing import NamedTuple

from maseval.core.exceptions import ConfigurationError
from maseval.core.messages import ChatResponse, chat_usage
from maseval.server.completion import Completion, Refusal, completion
from maseval.server.upstream import Upstream
from maseval.testing.faults import Fault
from maseval.testing.provider_server import ProviderServer, Reply, Request

GOOD = "good"
RATE = 0.3
TEXT = "All is well."


class Played(NamedTuple):
    """What the server did with one request; ``fault`` is ``good`` if it answered it well."""

    number: int
    fault: str

    @property
    def is_good(self) -> bool:
        """Whether the request was answered well."""
        return self.fault == GOOD


class ChaosServer(ProviderServer):
    """Answers some requests well and the others with one of ``faults``.

    Args:
        faults: What may go wrong, each as often as the others.
        seed: The same seed spoils the same requests, counted as they come in, in the same way.
        rate: The share of requests that are spoiled, from 0 to 1.
        text: What it says where it answers well.
        upstream: A real provider that answers instead.
        on_request: Called with what was done with each request.
    """

    def __init__(
        self,
        faults: Sequence[Fault],
        *,
        seed: int = 0,
        rate: float = RATE,
        text: str = TEXT,
        upstream: Upstream | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        on_request: Callable[[Played], object] = lambda played: None,
    ) -> None:
        if not 0 <= rate <= 1:
            raise ConfigurationError(f"rate is {rate:g}; give a share from 0 to 1")
        super().__init__(host, port)
        self.played: Counter[str] = Counter()
        self._faults = list(faults)
        self._seed, self._rate = seed, rate
        self._text, self._upstream = text, upstream
        self._numbers = count(1)
        self._on_request = on_request

    @property
    def base_url(self) -> str:
        """The base URL to give to a client of OpenAI's protocol."""
        return f"{self.url}/v1"

    def reply_to(self, request: Request) -> Reply:
        """A good reply, or a spoiled one."""
        number = next(self._numbers)
        fault = self._fault_of(number)
        reply = self._answered(request)
        self.played[fault.name if fault else GOOD] += 1
        self._on_request(Played(number, fault.name if fault else GOOD))
        return fault.spoil(reply) if fault and reply.status == 200 else reply

    def _fault_of(self, number: int) -> Fault | None:
        # Drawn for each request by itself: with several clients their order is not certain.
        chance = random.Random(f"{self._seed}/{number}")
        if not self._faults or chance.random() >= self._rate:
            return None
        return chance.choice(self._faults)

    def _answered(self, request: Request) -> Reply:
        if request.method == "GET":
            model = {"id": "chaos", "object": "model", "created": 0, "owned_by": "maseval"}
            return Reply({"object": "list", "data": [model]})
        try:
            return Reply(self._completion(request))
        except Refusal as refusal:
            return Reply(refusal.body, refusal.status, refusal.headers)

    def _completion(self, request: Request) -> Completion:
        if self._upstream is not None:
            return self._upstream.ask(request.body, request.headers)
        said = ChatResponse(self._text, usage=chat_usage(10, 5))
        return completion(said, str(request.body.get("model")))
