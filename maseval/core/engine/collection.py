"""Collecting from components that may fail, hang, or change meanwhile."""

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
    """Re-raise ``error`` if it is Ctrl-C, for code that catches everything."""
    # Ctrl-C belongs to the person at the keyboard, not to the repetition it happened to hit. It
    # only ever reaches the main thread; elsewhere the exception is the agent's own doing.
    if isinstance(error, KeyboardInterrupt) and current_thread() is main_thread():
        raise error


def collected(what: str, collect: Callable[[], Collected]) -> Collected:
    """The result of ``collect``, or a record of its failure."""
    try:
        return collect()
    except BaseException as error:  # a component's own code: what it breaks must not cost the rest
        let_interrupts_pass(error)
        return collection_failure(what, error)


def cut_loose(what: str, collect: Callable[[], Collected]) -> Collected:
    """A copy of what can be collected while another thread may still be writing.

    Components of a repetition that hangs may hang as well, so the wait is short.
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
    # The machine's facts are shared by all reports and never changed.
    return {key: part if key == "benchmark" else _copy(part) for key, part in parts.items()}


def _copy(part: object) -> object:
    # It may change during the copy, or hold what cannot be copied and becomes text in JSON.
    for duplicate in (copy.deepcopy, copy.deepcopy, _through_json):
        try:
            return duplicate(part)
        except Exception as error:
            failure = error
    return collection_failure("a copy", failure)


def _through_json(part: object) -> object:
    return json.loads(strict_json.dumps(part))
