"""``--track``: a run is sent elsewhere at its end, and does not depend on it.

``maseval sync`` does so in processes of its own, which are ended if they take too long. What could
not be sent is one sentence at the end.
"""

import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from maseval.app.sharing.sync import Destination
from maseval.interface.trackers import TRACKER_SECONDS, BoundedProcess


def send_run(folder: Path, destinations: Sequence[Destination], *, content: bool) -> list[str]:
    """Send the run in ``folder``; return a note on each failure."""
    processes = [(each, _start_sync(folder, each, content)) for each in destinations]
    deadline = time.monotonic() + TRACKER_SECONDS
    again = f"send again with: maseval sync {shlex.quote(str(folder))}"
    return [
        f"{each.name}: the run was not sent ({failure}); {again} --to {each}"
        for each, process in processes
        if (failure := process.failure(deadline)) is not None
    ]


def _start_sync(folder: Path, destination: Destination, content: bool) -> BoundedProcess:
    # The address as it was given, with the password it may hold.
    to = "=".join(filter(None, (destination.name, destination.where)))
    more = ["--otel-content"] if content else []
    sync = ["sync", str(folder), "--to", to, *more]
    return BoundedProcess([sys.executable, "-m", "maseval.cli", *sync])
