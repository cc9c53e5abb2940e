"""Files of a run beside its log, on which no result depends: ``live.json`` and talks.

``live.json`` is the present state of a running run, written anew a few times a second by the
process that holds the folder's lock, and removed at the end. A file that a killed process leaves
behind is recognised by the lock, and ignored. ``live-talks`` has a file for each conversation that
is going on, a message a line, for as long as it is.
"""

import logging
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NotRequired, TypedDict
from uuid import uuid4

from maseval.core.storage import strict_json
from maseval.core.storage.redaction import Secrets
from maseval.runs.config_file import LOCK
from maseval.runs.lock import holder_of

if TYPE_CHECKING:  # whoever reads a run needs no engine
    pass

LIVE = "live.json"
# Far more than a thousand simulations at once need; a larger file is not one of ours.
_MOST_BYTES = 16 << 20


class InFlight(TypedDict):
    """A simulation that is running; ``step`` and ``last`` are None if the benchmark has none.

    ``last`` is the role and the text of the last message, cut to what fits in a line or two.
    """

    domain: str
    task: str
    trial: int
    since: str
    step: int | None
    last: Mapping[str, str] | None


class LiveRun(TypedDict):
    """A run at one moment; ``pid`` is the process that runs it, costs are in usd.

    ``elapsed`` and ``left`` are seconds: since this session began, and by its pace until the end.
    """

    pid: int
    at: str
    cost: float
    tokens: int
    rate_limits: int
    in_flight: list[InFlight]
    elapsed: NotRequired[float]
    left: NotRequired[float | None]


def publish(folder: Path, live: LiveRun) -> None:
    """Replace ``live.json``; a reader sees the old or the new one, never a part."""
    # Not synced: after a crash nobody wants to know what was going on before it.
    hidden = folder / f".{uuid4().hex}.tmp"
    try:
        hidden.write_bytes(strict_json.dumps(live).encode("ascii"))
        hidden.replace(folder / LIVE)
    except OSError:  # a full disk is reported where results are stored
        with suppress(OSError):
            hidden.unlink()


def withdraw(folder: Path) -> None:
    """Remove the file at the end of a session, when nothing is in flight."""
    with suppress(OSError):
        os.unlink(folder / LIVE)


def read_live(folder: Path) -> LiveRun | None:
    """Return the present state of the run, or None if it is not running or does not say."""
    path = folder / LIVE
    try:
        if path.stat().st_size > _MOST_BYTES:
            return None
        found = strict_json.loads_object(path.read_bytes())
    except (OSError, ValueError):
        return None
    holder = holder_of(folder / LOCK)
    whole = found.keys() >= LiveRun.__required_keys__
    if holder is None or not whole or found["pid"] != holder.pid:
        return None
    return found  # type: ignore[return-value]


TALKS = "live-talks"


class TalkFiles:
    """Writes the conversations that are going on; of each, only what is new."""

    def __init__(self, folder: Path, secrets: Secrets) -> None:
        self._folder, self._secrets = folder / TALKS, secrets
        self._written: dict[Path, tuple[int, str]] = {}
        self.close()  # what a killed process left behind

    def write(self, talks: Mapping[tuple[str, str, int], Sequence[Mapping[str, object]]]) -> None:
        """Add the messages that came since the last time; drop what is over."""
        now = {_talk_path(self._folder, key): talk for key, talk in talks.items() if talk}
        for path in self._written.keys() - now.keys():
            self._written.pop(path)
            with suppress(OSError):
                path.unlink(missing_ok=True)
        for path, talk in now.items():
            try:
                self._add(path, talk)
            except Exception as error:  # a full disk, or an agent that writes at the same time
                logger.debug("%s", error)
                self._written[path] = 0, ""  # to be written anew; no result depends on it

    def _add(self, path: Path, talk: Sequence[Mapping[str, object]]) -> None:
        known, last = self._written.get(path, (0, ""))
        if known == len(talk):
            return
        lines = self._lines(talk[known - 1 :]) if known else []
        begun = lines[:1] == [last]
        if not begun:  # a first or another attempt
            lines = self._lines(talk)
        path.parent.mkdir(exist_ok=True)
        # Not the length of ``talk``, which may be growing.
        self._written[path] = begun * (known - 1) + len(lines), lines[-1]
        with path.open("a" if begun else "w", encoding="ascii") as file:
            file.writelines(lines[begun:])

    def _lines(self, talk: Sequence[Mapping[str, object]]) -> list[str]:
        return [f"{strict_json.dumps(self._secrets.removed_from(dict(each)))}\n" for each in talk]

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        self._written.clear()


def read_talk(folder: Path, key: tuple[str, str, int]) -> list[dict[str, object]]:
    """Return the messages so far of a simulation that is running; none if it is not."""
    if holder_of(folder / LOCK) is None:
        return []
    try:
        text = _talk_path(folder / TALKS, key).read_bytes()
        whole = text[: text.rfind(b"\n") + 1].splitlines()  # the last may still be written
        return [strict_json.loads_object(line) for line in whole]
    except (OSError, ValueError):
        return []


def _talk_path(folder: Path, key: tuple[str, str, int]) -> Path:
    # Names of tasks are not names of files.
    return folder / f"{sha256(strict_json.dumps(key).encode()).hexdigest()[:32]}.jsonl"


logger = logging.getLogger(__name__)
