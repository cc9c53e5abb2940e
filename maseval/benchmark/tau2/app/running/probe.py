"""One call of each model before a run begins: what cannot work should fail in seconds."""

from maseval.app.running.options import ExtraArguments
from maseval.app.running.prices import address_of
from maseval.benchmark.tau2.app.running.prepared import OWN, ModelSpec, PreparedRun
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


def probe(run: PreparedRun) -> None:
    """Ask each model of a run once; raise ``ModelProbeError`` for the first that cannot be used.

    With a tool if it will have some. The model of an own agent will be asked by another client
    library than ours, so that only an address at which nobody answers is a failure.
    """
    asked = list[tuple[object, ...]]()
    for role, model in run.models_asked.items():
        args = {} if role == OWN else model.args or {"temperature": 0.0}
        request = (model.model_id, model.options, args, role == "agent_model", role == OWN)
        if request not in asked:
            asked.append(request)
            _ask(model, args, has_tools=role == "agent_model", is_foreign=role == OWN)


def _ask(model: ModelSpec, args: ExtraArguments, *, has_tools: bool, is_foreign: bool) -> None:
    try:
        adapter = resolve_model(model.model_id, policy=QUICK, **model.options)
    except MASEvalError:
        if is_foreign:  # only the client library of the user's agent can ask it
            return
        raise
    if isinstance(adapter, ScriptedModelAdapter):
        return
    tools = [_TOOL] if has_tools else None
    try:
        adapter.chat([_QUESTION], generation_params=dict(args), tools=tools)
    except ProviderError as error:
        if not _is_decisive(error, is_foreign):
            return
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
