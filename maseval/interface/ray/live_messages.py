"""Live messages of a worker process, for people who watch the run from the driver."""

import time
from collections.abc import Callable, Mapping

from maseval.core.context import Said
from maseval.core.engine.repetition import Repetition
from maseval.core.storage.redaction import Secrets

# Nobody reads faster.
_EVERY = 1.0
# More than is shown: the driver removes its own secrets before it cuts a text.
_LONGEST = 2_000


class LiveMessages:
    """The last message of each repetition, reported about once a second and only if it is new."""

    def __init__(self, last_said: Callable[[str, int], Said | None], secrets: Secrets) -> None:
        self._last_said = last_said
        self._secrets = secrets
        self._next = 0.0
        self._told: dict[int, int] = {}

    def news(self, running: Mapping[Repetition, int]) -> dict[int, Said]:
        """Return the messages since the last call, by the numbers of the repetitions."""
        if time.monotonic() < self._next:
            return {}
        self._next = time.monotonic() + _EVERY
        now = {number: self._last(repetition) for repetition, number in running.items()}
        news = {
            number: said._replace(text=self._clean(said.text))
            for number, said in now.items()
            if said is not None and self._told.get(number) != said.messages
        }
        self._told = {number: said.messages for number, said in now.items() if said is not None}
        return news

    def _last(self, repetition: Repetition) -> Said | None:
        try:
            return self._last_said(str(repetition.task.id), repetition.repeat_idx)
        except Exception:  # a benchmark's own, read while its agents write
            return None

    def _clean(self, text: str) -> str:
        return self._secrets.removed_from_text(text)[:_LONGEST]
