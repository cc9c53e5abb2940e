"""ScriptServer: one list of replies, served to any client."""

import threading
from collections.abc import Mapping

from maseval.core.scripted import ScriptedModelAdapter
from maseval.server.completion import Completion, Refusal, RequestBody
from maseval.server.http import LOCAL, ChatServer
from maseval.server.models import answer_of
from maseval.server.replaying import OnRequest, Served


class ScriptServer(ChatServer):
    """Serves a scripted model under any model name; requests are answered one after another."""

    def __init__(
        self,
        model: ScriptedModelAdapter,
        *,
        host: str = LOCAL,
        port: int = 0,
        on_request: OnRequest | None = None,
    ) -> None:
        super().__init__(self._answer, lambda: [model.model_id], host=host, port=port)
        self.model = model
        self.played = self.misses = self.recorded = self.under_way = 0
        self._on_request = on_request
        self._turn = threading.Lock()

    @property
    def unused(self) -> list[int]:
        """The numbers of the replies that were not requested, counted from 1."""
        count = int(self.model.gather_config()["reply_count"])
        return list(range(len(self.model.requests) + 1, count + 1))

    def _answer(self, request: RequestBody, headers: Mapping[str, str]) -> Completion:
        about = str(request.get("model")), len(request["messages"])
        with self._turn:
            try:
                answer = answer_of(self.model, request)
            except Refusal as refusal:
                self.misses += 1
                self._report(Served("missed", *about, words=refusal.text))
                raise
            self.played += 1
        self._report(Served("played", *about, len(self.model.requests)))
        return answer

    def _report(self, served: Served) -> None:
        if self._on_request is not None:
            self._on_request(served)
