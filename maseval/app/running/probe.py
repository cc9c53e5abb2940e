"""One call of each model before a run begins: what cannot work should fail in seconds."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from maseval.app.running.prices import address_of
from maseval.core.call_policy import CallPolicy
from maseval.core.exceptions import MASEvalError
from maseval.core.messages import Message
from maseval.core.model import resolve_model
from maseval.core.provider_errors import ProviderConnectionError, ProviderError, RateLimitError
from maseval.core.scripted import ScriptedModelAdapter

# A hiccup passes in a second, and so does an answer that one in ten times cannot be read; a server
# that is not there stays away.
QUICK = CallPolicy(max_attempts=4, base_delay=0.2, max_delay=0.5, max_total_wait=2.0)

_QUESTION: Message = {"role": "user", "content": "Reply with the word OK."}
_TOOL = {
    "type": "function",
    "function": {
        "name": "do_nothing",
        "description": "Does nothing; there is no need to call it.",
        "parameters": {"type": "object", "properties": {}},
    },
}
# A replay server has no answer to a question that was not asked when it recorded.
_NOT_RECORDED = "not_recorded"


class ModelProbeError(MASEvalError, RuntimeError):
    """A model does not answer, so that no simulation could succeed."""


class Probe(NamedTuple):
    """A model to ask, with the options of the run, and with a tool if it will have some.

    ``foreign`` says that another client library than ours will ask it, so that only an address at
    which nobody answers is a failure.
    """

    model_id: str
    options: Mapping[str, Any]
    args: Mapping[str, Any]
    tools: bool = False
    foreign: bool = False


def probe(models: Iterable[Probe]) -> None:
    """Ask each model once; raise ``ModelProbeError`` for the first that cannot be used."""
    for model in {str(each): each for each in models}.values():
        try:
            adapter = resolve_model(model.model_id, policy=QUICK, **model.options)
        except MASEvalError:
            if model.foreign:  # only the client library of the user's agent can ask it
                continue
            raise
        if isinstance(adapter, ScriptedModelAdapter):
            continue
        tools = [_TOOL] if model.tools else None
        try:
            adapter.chat([_QUESTION], generation_params=dict(model.args), tools=tools)
        except ProviderError as error:
            if not _is_decisive(error, model.foreign):
                continue
            address = address_of(model.model_id, model.options.get("base_url"))
            where = f" at {address}" if address else ""
            raise ModelProbeError(
                f"the model {model.model_id!r}{where} cannot be used, so nothing was started: "
                f"{error}. --no-probe (probe=False) starts without asking first",
                details=error.details,
            ) from error


def _is_decisive(error: ProviderError, foreign: bool) -> bool:
    if foreign:
        return isinstance(error, ProviderConnectionError)
    # Being asked too often passes, and the run waits for it.
    return not isinstance(error, RateLimitError) and _NOT_RECORDED not in error.text
