"""Asking components that may fail, hang, or change while they are asked."""

import copy
import json
from collections.abc import Callable
from threading import Thread, current_thread, main_thread

from maseval.core.report import collection_failure
from maseval.core.storage import strict_json
from maseval.core.tracing import JsonObject

Collected = JsonObject

_PATIENCE_SECONDS = 2.0


def let_interrupts_pass(error: BaseException) -> None:
    """Raise ``error`` again if it is Ctrl-C, for those who catch everything."""
    # Ctrl-C belongs to the person at the keyboard, not to the repetition it happened to hit. It
    # only ever reaches the main thread; elsewhere the exception is the agent's own doing.
    if isinstance(error, KeyboardInterrupt) and current_thread() is main_thread():
        raise error


def collected(what: str, collect: Callable[[], Collected]) -> Collected:
    """What ``collect`` gives, or a record of its failure."""
    try:
        return collect()
    except BaseException as error:  # a component's own code: what it breaks must not cost the rest
        let_interrupts_pass(error)
        return collection_failure(what, error)


def cut_loose(what: str, collect: Callable[[], Collected]) -> Collected:
    """What can be collected while another thread still writes to it, as a copy of its own.

    A component of a repetition that hangs may hang as well, so it is not waited for long.
    """
    answers: list[Collected] = []

    def ask() -> None:
        answers.append(_copied(collected(what, collect)))

    thread = Thread(target=ask, daemon=True, name="maseval-collector")
    thread.start()
    thread.join(_PATIENCE_SECONDS)
    if answers:
        return answers[0]
    return collection_failure(what, TimeoutError(f"no answer in {_PATIENCE_SECONDS} s"))


def _copied(parts: Collected) -> Collected:
    # The machine is the same for all reports, and never written to.
    return {key: part if key == "benchmark" else _copy(part) for key, part in parts.items()}


def _copy(part: object) -> object:
    # It may change under our hands, or hold what cannot be copied, which as JSON becomes text.
    for duplicate in (copy.deepcopy, copy.deepcopy, _through_json):
        try:
            return duplicate(part)
        except Exception as error:
            failure = error
    return collection_failure("a copy", failure)


def _through_json(part: object) -> object:
    return json.loads(strict_json.dumps(part))
