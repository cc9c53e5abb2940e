"""DAMAGES: what can happen to the files of a run, by name.

Each takes the folder of a finished run and damages it in place.
"""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maseval.core.storage.records import seal_record

LOG, CONFIG, LOCK, RESCUED = "log.jsonl", "config.json", "lock", "log.rescued.jsonl"


@dataclass(frozen=True)
class Damage:
    """A way to damage a run folder."""

    name: str
    text: str
    do: Callable[[Path], object]


def log_lines(folder: Path) -> list[bytes]:
    """The lines of the log, with their ends."""
    return (folder / LOG).read_bytes().splitlines(keepends=True)


def first_report(folder: Path) -> int:
    """The index of the first line of the log that holds a report."""
    return next(n for n, line in enumerate(log_lines(folder)) if b'"kind": "report"' in line)


def edited(line: bytes, **parts: object) -> bytes:
    """The line with other values for these keys, and a checksum that is right again."""
    record: dict[str, Any] = {**json.loads(line), **parts}
    record.pop("crc", None)
    return seal_record(record) + b"\n"


def rewritten(folder: Path, change: Callable[[list[bytes], int], object]) -> None:
    """Change the lines of the log; ``change`` gets them and the index of the first report."""
    lines, number = log_lines(folder), first_report(folder)
    change(lines, number)
    (folder / LOG).write_bytes(b"".join(lines))


def _replacing(make: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def change(lines: list[bytes], number: int) -> None:
        lines[number] = make(lines[number])

    return lambda folder: rewritten(folder, change)


def _closing(**parts: object) -> Callable[[Path], None]:
    def change(lines: list[bytes], number: int) -> None:
        lines[-1] = edited(lines[-1], **parts)

    return lambda folder: rewritten(folder, change)


def _swap(lines: list[bytes], number: int) -> None:
    lines[number], lines[number + 1] = lines[number + 1], lines[number]


def _forge(lines: list[bytes], number: int) -> None:
    lines.insert(number + 1, edited(lines[number], eval=[{"reward": 1.0}]))


def _writing(name: str, content: object) -> Callable[[Path], object]:
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    return lambda folder: (folder / name).write_bytes(text)


def _pipe(name: str) -> Callable[[Path], None]:
    def do(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)

    return do


def _marked(folder: Path) -> None:
    log = folder / LOG
    log.write_bytes(b"\xef\xbb\xbf" + log.read_bytes())


_ODD_LOCK: Mapping[str, object] = {"pid": "1", "host": [], "since": 5, "command": None}

_EVERY = (
    Damage(
        "torn",
        "the last line cut off",
        lambda f: os.truncate(f / LOG, os.path.getsize(f / LOG) - 9),
    ),
    Damage(
        "digit",
        "a digit changed in a report",
        _replacing(lambda x: x.replace(b'"duration_seconds": ', b'"duration_seconds": 1')),
    ),
    Damage("zeros", "a line of zeros", _replacing(lambda line: bytes(1200) + b"\n")),
    Damage("deep", "a line nested 100,000 deep", _replacing(lambda line: b"[" * 100_000 + b"\n")),
    Damage(
        "reward",
        "a reward edited, its checksum made right",
        _replacing(lambda line: edited(line, eval=[{"reward": 1.0, "passed": True}])),
    ),
    Damage("removed", "a line removed", lambda f: rewritten(f, lambda lines, n: lines.pop(n))),
    Damage("swapped", "two lines exchanged", lambda f: rewritten(f, _swap)),
    Damage("forged", "a line added, its checksum made right", lambda f: rewritten(f, _forge)),
    Damage("mark", "a byte order mark in front of the log", _marked),
    Damage(
        "blank",
        "blank lines in the log",
        lambda f: rewritten(f, lambda lines, n: lines.insert(n, b"\n  \n\n")),
    ),
    Damage("rescued", "a rescued file with missing keys", _writing(RESCUED, {"kind": "report"})),
    Damage("rescued-zeros", "a rescued file of zeros", _writing(RESCUED, bytes(1200))),
    Damage(
        "closing", "a closing line with values of other types", _closing(done="all", planned=[])
    ),
    Damage("closing-config", "a closing line with another configuration", _closing(config=[1])),
    Damage("lock", "a lock file with values of other types", _writing(LOCK, _ODD_LOCK)),
    Damage("lock-pipe", "a pipe in place of the lock file", _pipe(LOCK)),
    Damage("log-pipe", "a pipe in place of the log", _pipe(LOG)),
    Damage("config-pipe", "a pipe in place of config.json", _pipe(CONFIG)),
    Damage("config-zeros", "config.json full of zeros", _writing(CONFIG, bytes(1200))),
    Damage("config-bytes", "config.json of other bytes", _writing(CONFIG, b"\xff" * 1200)),
    Damage("config-deep", "config.json nested 100,000 deep", _writing(CONFIG, b"[" * 100_000)),
    Damage("config-list", "config.json with a list", _writing(CONFIG, [])),
)

DAMAGES: dict[str, Damage] = {damage.name: damage for damage in _EVERY}
