"""``live.json``: the present state of a running run, on which no result depends.

It is written anew a few times a second by the process that holds the folder's lock, and removed at
the end. A file that a killed process leaves behind is recognised by the lock, and ignored.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NotRequired, TypedDict
from uuid import uuid4

from maseval.core.storage import strict_json
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
