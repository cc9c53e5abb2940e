"""``live.json``: what a running run does at this moment, beside its log and never in it.

Written anew a few times a second by the process that holds the folder's lock, and removed at the
end. What a process leaves behind that was killed is recognised by the lock, and ignored.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import TypedDict
from uuid import uuid4

from maseval.core.shapes import mapping
from maseval.core.storage import strict_json
from maseval.runs.config_file import LOCK
from maseval.runs.lock import holder_of

LIVE = "live.json"
# Far more than a thousand simulations at once need; a larger file is not one of ours.
_MOST_BYTES = 16 << 20


class LastMessage(TypedDict):
    """The last message of a conversation, cut to what fits in a line or two."""

    role: str
    text: str


class InFlight(TypedDict):
    """A simulation that is running; ``step`` and ``last`` are None if the benchmark has none."""

    domain: str
    task: str
    trial: int
    since: str
    step: int | None
    last: LastMessage | None


class LiveRun(TypedDict):
    """A run at one moment; ``pid`` is the process that runs it, costs are in usd."""

    pid: int
    at: str
    cost: float
    tokens: int
    rate_limits: int
    in_flight: list[InFlight]


def publish(folder: Path, live: LiveRun) -> None:
    """Put it in place of what was there; a reader sees the old or the new one, never a part."""
    # Not synced: after a crash nobody wants to know what was going on before it.
    hidden = folder / f".{uuid4().hex}.tmp"
    try:
        hidden.write_bytes(strict_json.dumps(live).encode("ascii"))
        hidden.replace(folder / LIVE)
    except OSError:  # a full disk is reported where results are stored
        with suppress(OSError):
            hidden.unlink()


def withdraw(folder: Path) -> None:
    """At the end of a session nothing is in flight."""
    with suppress(OSError):
        os.unlink(folder / LIVE)


def read_live(folder: Path) -> LiveRun | None:
    """What the run does now; None if it is not running, or does not say."""
    path = folder / LIVE
    try:
        if path.stat().st_size > _MOST_BYTES:
            return None
        found = mapping(strict_json.loads(path.read_bytes()))
    except (OSError, ValueError):
        return None
    holder = holder_of(folder / LOCK)
    if holder is None or found.keys() < LiveRun.__required_keys__ or found["pid"] != holder.pid:
        return None
    return found  # type: ignore[return-value]
