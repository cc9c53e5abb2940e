"""Values sent between processes, as bytes of our own: what carries them does not see them."""

import json
import pickle
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from maseval.core.context import Heard
from maseval.core.engine.shipping import WorkResult
from maseval.core.exceptions import ConfigurationError, MASEvalError
from maseval.core.storage import strict_json

_PROTOCOL = 5
# Modules that are another one in every process; plain pickle would name them and leave it at that.
_NOT_ELSEWHERE = (b"__main__", b"__mp_main__")


class WorkerExceptionError(MASEvalError, RuntimeError):
    """An exception in a worker that cannot be sent; its name and text are in the message."""


_by_value: Any = None


def pack_by_value(pickler: Any) -> None:
    """Take along what no other process can import, from now on: ``pickler`` is cloudpickle."""
    global _by_value
    _by_value = pickler


def pack(value: object) -> bytes:
    """Pickle a value; functions of the program itself become part of it if a pickler can."""
    by_value = _by_value
    if by_value is None:
        return pickle.dumps(value, _PROTOCOL)
    with suppress(Exception):  # of whatever the value consists of
        data = pickle.dumps(value, _PROTOCOL)
        named = any(name in data for name in _NOT_ELSEWHERE)
        if not named and not by_value.list_registry_pickle_by_value():
            return data
    # Three times as slow, and it takes along what no other process can import.
    whole: bytes = by_value.dumps(value, _PROTOCOL)
    return whole


def unpack(data: bytes) -> Any:
    """Unpickle what this run's driver or workers packed; never a file or a model's words.

    Whoever can send anything here can run any code there anyway: calls are pickled as well.
    """
    return pickle.loads(data)


def can_be_sent(value: object) -> bool:
    try:
        pack(value)
    except Exception:  # of whatever the value consists of
        return False
    return True


def pack_for_worker(what: str, value: object, way: str) -> bytes:
    """Pack a value for the workers; if it cannot be packed, the error says the way out."""
    try:
        return pack(value)
    except Exception as error:  # of whatever the value consists of
        raise ConfigurationError(
            f"{what} cannot be sent to another process ({type(error).__name__}: {error}); {way}"
        ) from error


class WorkerReply(NamedTuple):
    """One reply of a worker process."""

    deliveries: Sequence[WorkResult]
    unread: Sequence[tuple[Sequence[int], str]] = ()
    """The numbers of orders that could not be read, by call, each with the reason."""
    heard: Mapping[int, Heard] = {}
    """News of conversations in progress, by the numbers of their orders."""
    complaints: int = 0
    """How often a provider complained to the worker since its last reply."""


def pack_reply(reply: WorkerReply) -> bytes:
    """Pack a reply, whatever is in a report or was raised.

    It is packed as one value: what its reports have in common is sent once.
    """
    carried = [_pack_exception(each.exception) for each in reply.deliveries]
    plain = [replace(each, exception=None) for each in reply.deliveries]
    try:
        return pack((reply._replace(deliveries=plain), carried))
    except Exception:  # an object in a report, which would become text in JSON anyway
        plain = [each if can_be_sent(each) else _as_text(each) for each in plain]
        return pack((reply._replace(deliveries=plain), carried))


def _as_text(delivery: WorkResult) -> WorkResult:
    return replace(delivery, report=json.loads(strict_json.dumps(delivery.report)))


def unpack_reply(data: bytes) -> WorkerReply:
    reply, carried = unpack(data)
    assert isinstance(reply, WorkerReply)
    pairs = zip(reply.deliveries, carried, strict=True)
    return reply._replace(
        deliveries=[
            each if error is None else replace(each, exception=_rebuild_exception(unpack(error)))
            for each, error in pairs
        ]
    )


def _pack_exception(error: BaseException | None) -> bytes | None:
    """Pack an exception in a form that arrives: many cannot be pickled, or not be read again."""
    if error is None:
        return None
    sendable = {name: value for name, value in vars(error).items() if can_be_sent(value)}
    parts = type(error), error.args, sendable
    for form in ((error,), parts):
        try:
            data = pack(form)
            _rebuild_exception(unpack(data))
        except Exception:
            continue
        return data
    return pack((WorkerExceptionError(f"{type(error).__name__}: {error}"),))


def _rebuild_exception(form: tuple[Any, ...]) -> BaseException:
    if len(form) == 1:
        whole: BaseException = form[0]
        return whole
    kind, args, state = form
    # Its __init__ takes other arguments than those that are left in ``args``.
    error: BaseException = kind.__new__(kind, *args)
    vars(error).update(state)
    return error
