"""ModelScorer: how likely a language model finds a text, instead of what it would write.

Comparing the likelihoods of given answers needs no sampling and no parsing, so it is how plain
models are compared on multiple-choice questions.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from maseval.core.exceptions import ConfigurationError, HookResultError
from maseval.core.providers import Providers
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


class ScriptedModelScorer(ModelScorer):
    """A scorer without a model, for tests and demonstrations; it remembers what it was asked.

    Args:
        scores: A function of context and continuation, or the log-likelihood of each continuation,
            with or without the blanks around it.
        model_id: What it is called.
        default: The log-likelihood of a continuation that ``scores`` does not list.
    """

    def __init__(
        self,
        scores: Mapping[str, float] | Callable[[str, str], float],
        model_id: str = "scripted/scorer",
        default: float = -100.0,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed)
        self.asked: list[TextPair] = []
        self._scores = scores
        self._model_id = model_id
        self._default = default

    @property
    def model_id(self) -> str:
        return self._model_id

    def _loglikelihood_impl(self, context: str, continuation: str) -> float:
        self.asked.append((context, continuation))
        if callable(self._scores):
            return float(self._scores(context, continuation))
        listed = self._scores.get(continuation, self._scores.get(continuation.strip()))
        return self._default if listed is None else float(listed)


ScorerFactory: TypeAlias = Callable[..., ModelScorer]

SCORERS: Providers[ModelScorer] = Providers(
    "scorer", built_in={"scripted": "maseval.core.scorer:from_id"}, like="hf/gpt2", made=ModelScorer
)


def register_scorer(prefix: str, factory: ScorerFactory) -> None:
    """Let ``factory(name, **options)`` make the scorers of all ids ``prefix/name``."""
    SCORERS.register(prefix, factory)


def resolve_scorer(model_id: str, **options: object) -> ModelScorer:
    """Return the scorer for an id such as ``hf/gpt2``; a bare ``gpt2`` means the same.

    Providers come from :func:`register_scorer`, from the library itself (``scripted/scores.json``)
    and from entry points in the group ``maseval.scorers``. ``options`` go to the factory.
    """
    return SCORERS.resolve(model_id, **options)


def from_id(name: str, *, seed: int | None = None) -> ScriptedModelScorer:
    """Return the scorer for ``scripted/FILE``, a JSON object: the log-likelihood of each text."""
    try:
        scores = json.loads(Path(name).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"scripted/{name}: the file cannot be read: {error}") from None
    if not isinstance(scores, dict) or not all(
        isinstance(value, int | float) for value in scores.values()
    ):
        raise ConfigurationError(
            f"scripted/{name}: give a JSON object with a number for each text, "
            'like {"Paris": -0.5, "Rome": -3}'
        )
    return ScriptedModelScorer(scores, f"scripted/{name}", seed=seed)
