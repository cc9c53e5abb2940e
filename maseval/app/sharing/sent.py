"""What of a run was sent where: a small file beside its log, which only ever grows.

Nothing depends on it but what is sent next. The log itself does not know of it.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maseval.app.sharing.destinations import Destination

SENT = "sent.jsonl"


@dataclass(frozen=True)
class Sent:
    """The file, as far as one destination is concerned."""

    path: Path
    destination: Destination

    def traces(self) -> set[str]:
        """The ids of the traces that have arrived."""
        return {trace for line in self._lines() for trace in line.get("traces", ())}

    def run(self) -> tuple[str, str] | None:
        """The id that a tracker gave to the run, and the digest of what it was last sent."""
        found = [line for line in self._lines() if "run" in line]
        return (str(found[-1]["run"]), str(found[-1].get("digest"))) if found else None

    def note_traces(self, traces: Sequence[str]) -> None:
        """Note what has arrived."""
        self._note({"traces": list(traces)})

    def note_run(self, run: str, digest: str) -> None:
        """Note the id that a tracker gave to the run."""
        self._note({"run": run, "digest": digest})

    def _note(self, facts: dict[str, object]) -> None:
        line = json.dumps({**self._named, **facts}) + "\n"
        # Whoever cannot be told of it is sent the same once more, which changes nothing.
        with suppress(OSError), open(self.path, "a", encoding="utf-8") as file:
            file.write(line)

    @property
    def _named(self) -> dict[str, object]:
        return {"to": self.destination.name, "at": self.destination.address}

    def _lines(self) -> Iterator[dict[str, Any]]:
        try:
            text = self.path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return
        for line in text.splitlines():
            with suppress(ValueError):
                found = json.loads(line)
                if isinstance(found, dict) and self._named.items() <= found.items():
                    yield found
