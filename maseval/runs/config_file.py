"""``config.json``: the run that a folder belongs to, for people to read.

The first line of the log is the same, and counts: the file is written anew if it is lost or edited.
Logs of earlier releases have no such line, so that the file is read.
"""

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

from maseval.core.storage import strict_json
from maseval.core.storage.files import SUFFIX, json_bytes, sync_folder, write_bytes
from maseval.core.words import excerpt
from maseval.runs.config import RunConfig
from maseval.runs.exceptions import RunConfigError, RunFolderError
from maseval.runs.log import contents_of, counts_at_end, first_record, last_record

FORMAT = 1
CONFIG, LOG, LOCK = "config.json", "log.jsonl", "lock"


def is_run_folder(path: Path) -> bool:
    """Return True if a run was begun there, even if its ``config.json`` is lost."""
    return os.path.lexists(path / CONFIG) or first_record(path / LOG) is not None


def write_config(folder: Path, stored: "StoredConfig") -> None:
    """Write the file, unless it is there as it should be."""
    path, content = folder / CONFIG, stored.to_json()
    if not path.is_file() or path.read_bytes() != content:
        write_bytes(path, content)
        sync_folder(folder.parent)


class StoredConfig(NamedTuple):
    """The configuration that a run was started with, and when that was."""

    created: str
    config: RunConfig

    @property
    def id(self) -> str:
        """A name for the run that its folder keeps wherever it is moved."""
        return hashlib.sha256(f"{self.created} {self.config.sha256}".encode()).hexdigest()[:16]

    def to_json(self) -> bytes:
        return json_bytes(
            {
                "format": FORMAT,
                "created": self.created,
                "sha256": self.config.sha256,
                "config": self.config.values,
            }
        )


def read_config(folder: Path) -> StoredConfig:
    """Return when the run was started, and its configuration then."""
    if (in_log := first_record(folder / LOG)) is not None:
        return StoredConfig(str(in_log["at"]), RunConfig.of(in_log["config"]))
    return _read_file(folder / CONFIG)


def latest_config(folder: Path) -> RunConfig:
    """Return the configuration of a run, with the tasks and trials that were added to it."""
    closed = counts_at_end(last_record(folder / LOG))
    # The line that ends a session repeats what was added, so that a long log need not be read.
    latest = contents_of(folder / LOG).config if closed is None else closed["config"]
    if latest is None:
        return read_config(folder).config
    return latest if isinstance(latest, RunConfig) else RunConfig.of(latest)


def _read_file(path: Path) -> StoredConfig:
    try:
        stored = strict_json.loads(path.read_bytes())
        form, config = stored["format"], RunConfig.of(stored["config"])
        if form != FORMAT:
            raise ValueError(f"it has format {form!r}, and this version of maseval reads {FORMAT}")
        if stored["sha256"] != config.sha256:
            raise ValueError("it was edited: its hash does not match its content")
        return StoredConfig(str(stored["created"]), config)
    except (FileNotFoundError, NotADirectoryError):
        raise RunFolderError(
            f"{path.parent} is not a run folder: it has no {CONFIG}; "
            "`maseval runs` and list_runs() list the existing runs",
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunFolderError(
            f"{path} is damaged ({type(error).__name__}: {excerpt(error)}); "
            "restore it from a copy, or choose another folder",
        ) from error


def check_free(folder: Path) -> None:
    """Raise unless a run can begin in a folder that holds none."""
    try:
        names = {path.name for path in folder.iterdir()}
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise RunFolderError(f"{folder} is a file; choose another path for the run") from None
    # Leftovers of a process that was killed while it created the folder do not matter.
    foreign = {name for name in names if not name.startswith(LOCK) and not name.endswith(SUFFIX)}
    if foreign:
        raise RunFolderError(
            f"{folder} holds other files, such as {min(foreign)!r}, and no {CONFIG}; "
            "choose a new or an empty folder for the run"
        )


def check_same_run(
    folder: Path, found: RunConfig, wanted: RunConfig, *, changed: bool = False
) -> None:
    """Raise if the folder holds another run than the wanted one."""
    if wanted.extends(found):
        return
    what, differences, rule = "configuration", found.differences(wanted), _ONLY_MORE
    if wanted.with_code_of(found).extends(found):
        if changed:
            return
        what, differences, rule = "code", found.changed_code(wanted), _CHANGED_CODE
    listed = "".join(f"\n  {difference}" for difference in differences)
    raise RunConfigError(
        f"{folder} holds a run with {'other code' if what == 'code' else f'another {what}'}:"
        f"{listed}\n{rule}. Choose another folder (--output), repeat the old {what} to resume it, "
        "or fork into a folder next to it (run --fork, fork=True)",
        differences,
    )


_ONLY_MORE = "Only tasks and trials can be added to a run"
_CHANGED_CODE = (
    "--resume-changed (resume_changed=True) keeps what is finished, runs the rest with the code as "
    "it is now, and records which simulation ran under which"
)
