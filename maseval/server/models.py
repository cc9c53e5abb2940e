"""Servers of models in this process, for programs that only know a base URL.

``ModelServer`` serves model adapters, ``ScriptServer`` one list of replies to any client.
"""

import threading
from collections.abc import Mapping
from http import HTTPStatus

from maseval.core.exceptions import ConfigurationError, MASEvalError
from maseval.core.model import ModelAdapter
from maseval.core.provider_errors import ProviderError
from maseval.core.scripted import ScriptedModelAdapter
from maseval.server.completion import Completion, Refusal, RequestBody, completion
from maseval.server.http import LOCAL, ChatServer
from maseval.server.replaying import OnRequest, PlayingServer, RequestOutcome

# Not parameters of generation: who is asked, what is asked, and in which form to answer.
_OF_THE_PROTOCOL = frozenset(
    {*("model", "messages", "tools", "tool_choice", "stream", "stream_options")}
)


class ModelServer(ChatServer):
    """Serves model adapters under their names; with scripted ones any framework runs for free."""

    def __init__(self, *models: ModelAdapter, host: str = LOCAL, port: int = 0) -> None:
        super().__init__(self._ask, lambda: list(self._served), host=host, port=port)
        self._served: dict[str, ModelAdapter] = {}
        for model in models:
            self.add(model)

    def add(self, model: ModelAdapter, name: str | None = None) -> str:
        """Serve ``model`` under ``name``, by default its id; return the name."""
        name = name or model.model_id
        if self._served.setdefault(name, model) is not model:
            raise ConfigurationError(
                f"another model is already served as {name!r}; give one of them another name"
            )
        return name

    def remove(self, name: str) -> None:
        self._served.pop(name, None)

    def _ask(self, request: RequestBody, headers: Mapping[str, str]) -> Completion:
        name = str(request.get("model"))
        model = self._served.get(name)
        if model is None:
            raise Refusal(
                f"no model is served as {name!r}; available: {', '.join(self._served) or 'none'}",
                status=HTTPStatus.NOT_FOUND,
                code="model_not_found",
            )
        return answer_of(model, request)


def answer_of(model: ModelAdapter, request: RequestBody) -> Completion:
    """Ask ``model`` and return its answer in the protocol's form; its failures are refusals."""
    params = {key: value for key, value in request.items() if key not in _OF_THE_PROTOCOL}
    try:
        response = model.chat(
            request["messages"],
            generation_params={key: value for key, value in params.items() if value is not None},
            tools=request.get("tools"),
            tool_choice=request.get("tool_choice"),
        )
    except ProviderError as error:
        raise _refusal(error) from None
    except MASEvalError as error:
        # Not 500, after which clients would retry.
        raise Refusal(str(error), status=422, code=type(error).__name__) from None
    return completion(response, str(request.get("model")))


def _refusal(error: ProviderError) -> Refusal:
    wait = error.retry_after
    return Refusal(
        str(error),
        status=error.status or (502 if error.transient else 422),
        code=type(error).__name__,
        headers={} if wait is None else {"Retry-After": f"{wait:g}"},
    )


class ScriptServer(PlayingServer):
    """Serves a scripted model under any model name; requests are answered one after another."""

    def __init__(
        self,
        model: ScriptedModelAdapter,
        *,
        host: str = LOCAL,
        port: int = 0,
        on_request: OnRequest | None = None,
    ) -> None:
        super().__init__(lambda: [model.model_id], on_request, host, port)
        self.model = model
        self._turn = threading.Lock()

    @property
    def unused(self) -> list[str]:
        """The numbers of the replies that were not requested, counted from 1."""
        count = int(self.model.gather_config()["reply_count"])
        return [str(number) for number in range(len(self.model.requests) + 1, count + 1)]

    def _play(
        self, request: RequestBody, headers: Mapping[str, str]
    ) -> tuple[RequestOutcome, Completion, str]:
        with self._turn:
            return "played", answer_of(self.model, request), ""
