"""Values laid aside on disk while they are needed, so that memory does not grow with their number.

The file has no name and is gone with the object, however the process ends.
"""

import json
import tempfile
import threading
import weakref
from typing import Any


class Scratch:
    """JSON values by their place in a file; for any number of threads."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="maseval-")  # noqa: SIM115 - closed below
        self._lock = threading.Lock()
        self._end = 0
        weakref.finalize(self, self._file.close)

    def put(self, value: object) -> int:
        """Lay a value aside, and return its place."""
        line = json.dumps(value).encode("ascii") + b"\n"
        with self._lock:
            place = self._file.seek(self._end)
            self._end += self._file.write(line)
        return place

    def get(self, place: int) -> Any:
        """The value that was laid aside there."""
        with self._lock:
            self._file.seek(place)
            line = self._file.readline()
        return json.loads(line)
