"""What is sent between processes, as bytes: nothing of it is left to Ray, nor shows in its logs."""

import json
from dataclasses import replace
from typing import Any

from maseval.core.engine.shipping import Delivery
from maseval.core.exceptions import ConfigurationError, MASEvalError
from maseval.core.storage import strict_json
from maseval.interface.ray.connection import load_ray


class NotSendableError(ConfigurationError):
    """The benchmark, a task or its agent data cannot be sent to another process."""


class WorkerExceptionError(MASEvalError, RuntimeError):
    """An exception in a worker that cannot be sent; its name and text are in the message."""


def packed(value: object) -> bytes:
    """A value as bytes; functions and classes of the program itself are part of them."""
    data: bytes = load_ray().cloudpickle.dumps(value)
    return data


def unpacked(data: bytes) -> Any:
    """The value."""
    return load_ray().cloudpickle.loads(data)


def can_be_sent(value: object) -> bool:
    """Whether it can be packed."""
    try:
        packed(value)
    except Exception:  # of whatever the value consists of
        return False
    return True


def packed_for_worker(what: str, value: object, way: str) -> bytes:
    """A value as bytes, for the workers; raises what to do if it cannot be sent."""
    try:
        return packed(value)
    except Exception as error:  # of whatever the value consists of
        raise NotSendableError(
            f"{what} cannot be sent to another process ({type(error).__name__}: {error}); {way}"
        ) from error


def packed_delivery(delivery: Delivery) -> bytes:
    """A delivery as bytes, whatever is in its report or was raised."""
    carried = _carried(delivery.exception)
    plain = replace(delivery, exception=None)
    try:
        return packed((plain, carried))
    except Exception:  # an object in the report, which would become text in JSON anyway
        report = json.loads(strict_json.dumps(delivery.report))
        return packed((replace(plain, report=report), carried))


def unpacked_delivery(data: bytes) -> Delivery:
    """The delivery."""
    plain, carried = unpacked(data)
    assert isinstance(plain, Delivery)
    return replace(plain, exception=_put_together(carried))


Carried = tuple[bytes, ...] | None


def _carried(error: BaseException | None) -> Carried:
    """An exception in a form that arrives: many cannot be pickled, or not be read again."""
    if error is None:
        return None
    parts = type(error), error.args, _sendable(vars(error))
    for form in ((error,), parts):
        try:
            data = packed(form)
            _made_of(unpacked(data))
        except Exception:
            continue
        return (data,)
    return (packed((WorkerExceptionError(f"{type(error).__name__}: {error}"),)),)


def _put_together(carried: Carried) -> BaseException | None:
    return None if carried is None else _made_of(unpacked(carried[0]))


def _made_of(form: tuple[Any, ...]) -> BaseException:
    if len(form) == 1:
        whole: BaseException = form[0]
        return whole
    kind, args, state = form
    # Its __init__ takes other arguments than those that are left in ``args``.
    error: BaseException = kind.__new__(kind, *args)
    vars(error).update(state)
    return error


def _sendable(state: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in state.items() if can_be_sent(value)}
