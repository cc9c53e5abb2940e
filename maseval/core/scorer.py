"""ModelScorer: how likely a language model finds a text, instead of what it would write.

Comparing the likelihoods of given answers needs no sampling and no parsing, so it is how plain
models are compared on multiple-choice questions.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from maseval.core.exceptions import HookResultError
from maseval.core.tracing import (
    ConfigurableMixin,
    JsonObject,
    TraceableMixin,
    call_counts,
    note_end,
    now,
)

TextPair: TypeAlias = tuple[str, str]
"""A context, and a continuation whose likelihood is asked for."""


class ModelScorer(ABC, TraceableMixin, ConfigurableMixin):
    """Log-likelihoods of texts; a subclass has ``model_id`` and ``_loglikelihood_impl``.

    All values are natural logarithms, summed over the tokens of the continuation.
    """

    def __init__(self, seed: int | None = None) -> None:
        self.seed = seed
        self.logs: list[JsonObject] = []

    @property
    @abstractmethod
    def model_id(self) -> str:
        """The id of the model."""

    @abstractmethod
    def _loglikelihood_impl(self, context: str, continuation: str) -> float:
        """Return the log-likelihood of ``continuation`` after ``context``."""

    def _loglikelihood_batch_impl(self, pairs: Sequence[TextPair]) -> list[float]:
        """Return the log-likelihoods of many; override where they can be computed together."""
        return [self._loglikelihood_impl(*pair) for pair in pairs]

    def loglikelihood(self, context: str, continuation: str) -> float:
        """Return the log-likelihood of ``continuation`` after ``context``."""
        with self._log_call({"type": "loglikelihood"}):
            return self._loglikelihood_impl(context, continuation)

    def loglikelihood_batch(self, pairs: Sequence[TextPair]) -> list[float]:
        """``loglikelihood`` of many pairs, in their order."""
        with self._log_call({"type": "loglikelihood_batch", "batch_size": len(pairs)}):
            # A subclass that drops one would shift all others to the wrong pairs.
            found = list(self._loglikelihood_batch_impl(pairs))
            if len(found) != len(pairs):
                raise HookResultError(
                    f"{type(self).__name__} gave {len(found)} likelihoods for {len(pairs)} pairs"
                )
            return found

    def loglikelihood_choices(
        self, context: str, choices: Sequence[str], delimiter: str = " "
    ) -> list[float]:
        """Return the log-likelihood of each choice, with ``delimiter`` before it."""
        return self.loglikelihood_batch([(context, delimiter + choice) for choice in choices])

    @contextmanager
    def _log_call(self, entry: JsonObject) -> Iterator[None]:
        entry = {"timestamp": now(), **entry, "status": "success"}
        try:
            with note_end(entry):
                yield
        finally:
            self.logs.append(entry)

    def gather_traces(self) -> JsonObject:
        return {
            **super().gather_traces(),
            "model_id": self.model_id,
            "total_duration_seconds": sum(entry["duration_seconds"] for entry in self.logs),
            **call_counts(self.logs),
        }

    def gather_config(self) -> JsonObject:
        return {
            **super().gather_config(),
            "model_id": self.model_id,
            "scorer_type": type(self).__name__,
            "seed": self.seed,
        }
