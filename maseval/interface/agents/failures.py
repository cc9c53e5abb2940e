"""Finds the provider's failure behind whatever a framework raises because of it."""

from collections.abc import Iterator
from traceback import walk_tb

from maseval.core.exceptions import MASEvalError
from maseval.core.provider_errors import ProviderError
from maseval.interface.inference.http import error_from_status, transport_error


def provider_failure(
    error: Exception, *, provider: str, model_id: str | None
) -> ProviderError | None:
    """Return the provider's failure behind ``error``; None if there is none.

    Frameworks pass on or wrap the errors of their client library. Either way, the error or one of
    its causes has the status of the response, or is known as a transport error.
    """
    for link in causes(error):
        response = getattr(link, "response", None)
        status = getattr(link, "status_code", getattr(response, "status_code", None))
        if isinstance(status, int) and 400 <= status < 600:
            headers = getattr(link if hasattr(link, "headers") else response, "headers", None)
            return error_from_status(
                status, str(link), provider=provider, model_id=model_id, headers=headers
            )
        kind = transport_error(link)
        if kind is not None:
            text = str(link) or type(link).__name__
            return kind(text, provider=provider, model_id=model_id)
    return None


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and its causes, newest first."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        if isinstance(link, BaseExceptionGroup):
            for member in link.exceptions:
                yield from causes(member)
        link = link.__cause__ or link.__context__


def is_unreadable_answer(error: BaseException, models: str) -> bool:
    """Return True if a framework's model classes could not read the provider's answer.

    ``models`` is the name of their package. An answer that is not JSON or is incomplete makes the
    code that reads it raise whatever it happens to raise.
    """
    if isinstance(error, MASEvalError):
        return False
    if not isinstance(error, ValueError | LookupError | AttributeError):
        return False
    modules = (str(frame.f_globals.get("__name__")) for frame, _ in walk_tb(error.__traceback__))
    return any(f"{module}.".startswith(f"{models}.") for module in modules)
