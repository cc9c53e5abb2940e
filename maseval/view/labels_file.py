"""The labels of a run on the disk: beside its log, or in the cache where that is not possible.

They can be deleted at any time. Those of another file or another release are found again.
"""

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from maseval.core.shapes import entries, mapping, text
from maseval.core.storage import strict_json
from maseval.core.storage.files import write_bytes
from maseval.data.store import cache_dir
from maseval.runs.config_file import LOG
from maseval.view.log_index import Seen

NAME = "view-labels.json"
# Also another one when failures are labelled by other rules.
_FORMAT = 1

Labels = dict[int, tuple[str, ...]]
"""What a simulation is labelled with, by the place of its report."""


def save_labels(file: Path, labels: Mapping[int, tuple[str, ...]]) -> None:
    """Keep the labels of a log or a results file; where that is not possible, they are not kept."""
    found = {"format": [_FORMAT, _release()], "seen": Seen.now(file), "labels": [*labels.items()]}
    content = strict_json.dumps(found).encode("ascii")
    for place in _places(file):
        with suppress(OSError):
            write_bytes(place, content)
            return


def load_labels(file: Path) -> Labels:
    """The labels that are known of a log or a results file."""
    for place in _places(file):
        with suppress(OSError, ValueError, TypeError):
            found = mapping(strict_json.loads(place.read_bytes()))
            seen = Seen(*(int(text(each)) for each in entries(found.get("seen"))))
            if found.get("format") == [_FORMAT, _release()] and _begins_as(file, seen):
                return _read(found.get("labels"))
    return {}


def _release() -> str:
    try:
        return version("maseval")
    except PackageNotFoundError:  # run from a checkout that nobody installed
        return ""


def _read(pairs: object) -> Labels:
    known: Labels = {}
    for pair in entries(pairs):
        at, labels = entries(pair)
        known[int(text(at))] = tuple(map(text, entries(labels)))
    return known


def _begins_as(file: Path, seen: Seen) -> bool:
    """Whether it is the file that was seen; a log may have grown since."""
    now = Seen.now(file)
    return now == seen or (file.name == LOG and now.file == seen.file and now.size > seen.size)


def _places(file: Path) -> list[Path]:
    name = hashlib.sha256(str(file.absolute()).encode("utf-8", "surrogatepass")).hexdigest()[:32]
    cached = cache_dir() / "view" / f"labels-{name}.json"
    return [file.with_name(NAME), cached] if file.name == LOG else [cached]
