"""A last resort for paid results that cannot be written where they belong."""

import logging
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from maseval.core.storage.records import RecordWriter, new_record_file

logger = logging.getLogger(__name__)


class Rescue:
    """Keeps such results in a file beside the intended one, else in a private temporary folder."""

    def __init__(self, intended: Path) -> None:
        self._beside = intended.with_name(f"{intended.stem}.rescued.jsonl")
        self._writers: list[RecordWriter] = []

    @property
    def paths(self) -> list[Path]:
        """The files that hold rescued results."""
        return [writer.path for writer in self._writers if writer.count]

    def keep(self, record: Mapping[str, Any], reason: OSError) -> None:
        """Write ``record`` wherever possible, and log at ERROR where it is and why."""
        what = f"task {record.get('task_id')}, repetition {record.get('repeat_idx')}"
        for writer in self._places():
            with suppress(OSError):
                writer.append(record)
                logger.error("%s; the report of %s is kept in %s", reason, what, writer.path)
                return
        logger.error("%s; the report of %s is only in benchmark.reports", reason, what)

    def close(self) -> None:
        """Close the files, and remove those that are still empty."""
        for writer in self._writers:
            writer.close()
            if not writer.count:
                writer.path.unlink(missing_ok=True)

    def _places(self) -> Iterator[RecordWriter]:
        yield from list(self._writers)
        if not self._writers:
            with suppress(OSError):
                yield self._opened(self._beside)
        if len(self._writers) < 2:
            with suppress(OSError):
                folder = Path(tempfile.mkdtemp(prefix="maseval-rescued-"))
                yield self._opened(folder / self._beside.name)

    def _opened(self, path: Path) -> RecordWriter:
        writer = new_record_file(path)
        self._writers.append(writer)
        return writer
