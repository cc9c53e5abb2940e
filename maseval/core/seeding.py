"""One seed becomes many: every component of every repetition gets its own, reproducibly.

A seed depends only on the global seed, the task, the repetition and the component's path, never on
the order of requests. Parallel and partial runs therefore use the same seeds.
"""

import hashlib
from abc import ABC, abstractmethod
from typing import Self

from maseval.core.exceptions import MASEvalError
from maseval.core.tracing import ConfigurableMixin, JsonObject


class SeedingError(MASEvalError):
    """No seed can be given: its task or repetition is not set, or the provider takes none."""


class SeedGenerator(ABC, ConfigurableMixin):
    """The source of all seeds of a run."""

    @property
    @abstractmethod
    def global_seed(self) -> int | None:
        """The seed all others are derived from; None means that nothing is seeded."""

    @abstractmethod
    def derive_seed(self, name: str, per_repetition: bool = True) -> int | None:
        """Return the seed of a component; with ``per_repetition=False`` one for all repetitions."""

    @abstractmethod
    def for_task(self, task_id: str) -> Self:
        """Return a generator for one task."""

    @abstractmethod
    def for_repetition(self, rep_index: int) -> Self:
        """Return a generator for one repetition of its task."""

    @property
    @abstractmethod
    def seed_log(self) -> dict[str, int]:
        """The seeds given out so far, by path."""

    def gather_config(self) -> JsonObject:
        """Return the settings and the seeds given out."""
        return {**super().gather_config(), "seeds": self.seed_log}


class DefaultSeedGenerator(SeedGenerator):
    """Seeds from SHA-256; a subclass may override ``_compute_seed`` to use another rule."""

    def __init__(
        self,
        global_seed: int | None = None,
        task_id: str | None = None,
        rep_index: int | None = None,
        path_prefix: str = "",
        _shared_log: dict[str, int] | None = None,
    ) -> None:
        self._global_seed = global_seed
        self._task_id = task_id
        self._rep_index = rep_index
        self._path_prefix = path_prefix
        self._log: dict[str, int] = {} if _shared_log is None else _shared_log

    @property
    def global_seed(self) -> int | None:
        return self._global_seed

    @property
    def seed_log(self) -> dict[str, int]:
        return dict(self._log)

    def derive_seed(self, name: str, per_repetition: bool = True) -> int | None:
        if self._global_seed is None:
            return None
        if self._task_id is None:
            raise SeedingError("task_id not set. Call for_task() first.")
        if per_repetition and self._rep_index is None:
            raise SeedingError("rep_index not set. Call for_repetition() first.")
        path = self._path_to(name)
        scope = [self._task_id, self._rep_index] if per_repetition else [self._task_id]
        seed = self._compute_seed(path, [self._global_seed, *scope, path])
        self._log[path] = seed
        return seed

    def _compute_seed(self, full_path: str, components: list[object]) -> int:
        """Turn the components of a seed into a number from 0 to 2**31 - 1."""
        text = ":".join(str(component) for component in components)
        digest = hashlib.sha256(text.encode()).digest()
        return int.from_bytes(digest[:4], "big") & 0x7FFFFFFF

    def _path_to(self, name: str) -> str:
        return f"{self._path_prefix}/{name}" if self._path_prefix else name

    def child(self, name: str) -> Self:
        """Return a generator for the parts of the component ``name``; both write the same log."""
        return self.__class__(
            self._global_seed, self._task_id, self._rep_index, self._path_to(name), self._log
        )

    def for_task(self, task_id: str) -> Self:
        """Return a generator for one task, with an empty path and a log of its own."""
        return self.__class__(self._global_seed, task_id)

    def for_repetition(self, rep_index: int) -> Self:
        """Return a generator for one repetition of the same task; both write the same log."""
        return self.__class__(
            self._global_seed, self._task_id, rep_index, self._path_prefix, self._log
        )

    def gather_config(self) -> JsonObject:
        """Return the settings and the seeds given out."""
        return {
            **super().gather_config(),
            "global_seed": self._global_seed,
            "task_id": self._task_id,
            "rep_index": self._rep_index,
        }
