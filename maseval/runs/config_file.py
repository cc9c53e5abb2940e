"""``config.json``: the run that a folder belongs to, written once when the folder is created.

The first line of the log repeats it. A folder whose ``config.json`` is lost or damaged is read by
that line, and resuming the run writes the file again.
"""

import hashlib
import os
from itertools import count
from pathlib import Path
from typing import NamedTuple

from maseval.core.storage import strict_json
from maseval.core.storage.files import SUFFIX, json_bytes, sync_folder, write_bytes
from maseval.core.tracing import now
from maseval.core.words import excerpt
from maseval.runs.config import RunConfig
from maseval.runs.exceptions import RunConfigError, RunFolderError, check_regular
from maseval.runs.log import contents_of, first_record

FORMAT = 1
CONFIG, LOG, LOCK = "config.json", "log.jsonl", "lock"


def is_run_folder(path: Path) -> bool:
    """Return True if a run was begun there, even if its ``config.json`` is lost."""
    return os.path.lexists(path / CONFIG) or first_record(path / LOG) is not None


def create(folder: Path, config: RunConfig, created: str | None = None) -> None:
    """Make ``folder`` that of a run; one that is not ours, or damaged, is laid aside."""
    if os.path.lexists(folder / CONFIG):
        names = (folder / f"config-damaged-{number}.json" for number in count(1))
        os.replace(folder / CONFIG, next(name for name in names if not os.path.lexists(name)))
    write_bytes(folder / CONFIG, StoredConfig(created or now(), config).to_json())
    sync_folder(folder.parent)


class StoredConfig(NamedTuple):
    """The configuration that a run was started with; ``problem`` is what is wrong with its file.

    ``lost`` is set if the file cannot be used, so that the configuration is that of the log.
    """

    created: str
    config: RunConfig
    problem: str | None = None
    lost: bool = False

    @property
    def id(self) -> str:
        """A name for the run that its folder keeps wherever it is moved."""
        return hashlib.sha256(f"{self.created} {self.config.sha256}".encode()).hexdigest()[:16]

    def to_json(self) -> bytes:
        described = {"format": FORMAT, "created": self.created, "sha256": self.config.sha256}
        return json_bytes({**described, "config": self.config.values})


def read_config(folder: Path) -> StoredConfig:
    """Return when the run was started, and its configuration then."""
    path, in_log = folder / CONFIG, first_record(folder / LOG)
    try:
        found = _read_file(path)
    except _LostConfigError as error:
        if in_log is None:
            raise
        problem = f"{error.problem}; the configuration is read from the first line of the log"
        of_log = RunConfig.of(in_log["config"])
        return StoredConfig(str(in_log["at"]), of_log, problem, lost=True)
    if in_log is None or in_log["sha256"] == found.config.sha256:
        return found
    of_log = RunConfig.of(in_log["config"])
    differences = "; ".join(found.config.differences(of_log)) or "only in its notes"
    problem = (
        f"{path} is not the one that the log began with ({excerpt(differences)}); the log's "
        "counts. Restore the file from a copy, or remove it: resuming the run writes it again"
    )
    return StoredConfig(str(in_log["at"]), of_log, problem)


class _LostConfigError(RunFolderError):
    """The file is missing, damaged or edited: the ``problem``, by default without its way out."""

    def __init__(self, message: str, problem: str | None = None) -> None:
        super().__init__(message)
        self.problem = problem or message.rpartition("; ")[0]


def _read_file(path: Path) -> StoredConfig:
    try:
        check_regular(path)
        stored = strict_json.loads(path.read_bytes())
        created, config = str(stored["created"]), RunConfig.of(stored["config"])
        known = stored["format"] == FORMAT
        intact = stored["sha256"] == config.sha256
    except (FileNotFoundError, NotADirectoryError):
        raise _LostConfigError(
            f"{path.parent} is not a run folder: it has no {CONFIG}; "
            "`maseval runs` and list_runs() list the existing runs",
            f"{path} is missing",
        ) from None
    except RunFolderError as error:
        raise _LostConfigError(str(error)) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _LostConfigError(
            f"{path} is damaged ({type(error).__name__}: {excerpt(error)}); "
            "restore it from a copy, or choose another folder",
        ) from error
    if not known:
        raise RunFolderError(
            f"{path} has format {stored['format']!r}, and this version of maseval reads {FORMAT}"
        )
    if not intact:
        raise _LostConfigError(
            f"{path} was edited: its hash does not match its content; "
            "restore it, because the results belong to the original configuration",
        )
    return StoredConfig(created, config)


def check_usable(folder: Path, wanted: RunConfig, *, changed: bool = False) -> None:
    """Raise unless ``folder`` is free, or holds the wanted run or the beginning of it.

    With ``changed`` it may have been begun with other code.
    """
    if is_run_folder(folder):
        stored = read_config(folder)
        if stored.problem and not stored.lost:
            raise RunFolderError(stored.problem)
        check_regular(folder / LOCK)
        current = contents_of(folder / LOG).config or stored.config
        check_same_run(folder, current, wanted, changed=changed)
        return
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
