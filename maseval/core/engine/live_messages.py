"""Live messages of a worker process, for people who watch the run from the driver.

They go along with what a process replies anyway, as JSON and only as much as fits: what does not is
in a later reply. No result depends on them, and what is wrong with one does no harm to others.
"""

import json
import time
from collections.abc import Mapping

from maseval.core.context import Heard, Said
from maseval.core.engine.participants import BenchmarkHooks
from maseval.core.engine.repetition import Repetition
from maseval.core.storage import strict_json
from maseval.core.storage.redaction import Secrets

# Nobody reads faster; and a process spends at most one part in so many on it.
_EVERY, _REST = 1.0, 50
# More than is shown: the driver removes its own secrets before it cuts a text.
_LONGEST = 2_000
# Of one message, and of all in one reply, in characters of JSON.
_LONGEST_MESSAGE, _MOST_AT_ONCE = 50_000, 1_000_000


class LiveMessages:
    """News of each repetition's conversation, about once a second and only if there are any."""

    def __init__(self, benchmark: BenchmarkHooks, secrets: Secrets) -> None:
        self._benchmark = benchmark
        self._secrets = secrets
        self._next = 0.0
        self._steps: dict[int, int] = {}
        self._sent: dict[int, int] = {}

    def news(self, running: Mapping[Repetition, int], with_messages: bool) -> dict[int, Heard]:
        """Return what is new since the last call, by the numbers of the repetitions."""
        if time.monotonic() < self._next:
            return {}
        began = time.thread_time()
        self._steps = {number: self._steps.get(number, 0) for number in running.values()}
        self._sent = {number: self._sent.get(number, 0) for number in running.values()}
        found, room = {}, _MOST_AT_ONCE if with_messages else 0
        # Those of which least is known come first, as there may not be room for all.
        for repetition, number in sorted(running.items(), key=lambda pair: self._sent[pair[1]]):
            said = self._last(repetition, number)
            heard = self._fresh(repetition, number, room) if room > 0 else Heard(None)
            room -= sum(map(len, heard.messages))
            if said is not None or heard.messages:
                found[number] = heard._replace(said=said)
        self._next = time.monotonic() + max(_EVERY, _REST * (time.thread_time() - began))
        return found

    def _last(self, repetition: Repetition, number: int) -> Said | None:
        try:
            said = self._benchmark.last_said(str(repetition.task.id), repetition.repeat_idx)
            if said is None or said.messages == self._steps[number]:
                return None
            self._steps[number] = steps = int(said.messages)
            text = self._secrets.removed_from_text(said.text)[:_LONGEST]
            return Said(str(said.role), text, steps)
        except Exception:  # a benchmark's own, read while its agents write
            return None

    def _fresh(self, repetition: Repetition, number: int, room: int) -> Heard:
        """Return the messages that were not sent yet, until there is no more room."""
        after, texts = self._sent[number], list[str]()
        try:
            said = self._benchmark.messages_so_far(str(repetition.task.id), repetition.repeat_idx)
            if len(said) < after:  # a memory that was emptied
                after = 0
            for message in said[after:]:
                if room <= 0:
                    break
                texts.append(self._to_json(message))
                room -= len(texts[-1])
        except Exception:  # as above; what was read is as it should be
            pass
        self._sent[number] = after + len(texts)
        return Heard(None, after, texts)

    def _to_json(self, message: Mapping[str, object]) -> str:
        text = strict_json.dumps(self._secrets.removed_from(dict(message)))
        if len(text) <= _LONGEST_MESSAGE:
            return text
        return strict_json.dumps(_shorten(json.loads(text)))


def _shorten(message: Mapping[str, object]) -> Mapping[str, object]:
    """Keep those parts of a message that are short, and the beginning of its words."""
    kept, room = dict[str, object](), _LONGEST_MESSAGE // 10
    for name, part in message.items():
        size = len(strict_json.dumps({name: part}))
        if size <= room:
            kept[name], room = part, room - size
    words = message.get("content")
    text = words if isinstance(words, str) else strict_json.dumps(message)
    rest = f" … ({len(text):,} characters; the others are shown when the simulation has ended)"
    return {**kept, "content": text[: _LONGEST_MESSAGE // 10] + rest}
