"""``config.json``: the run that a folder belongs to, written once when the folder is created."""

from pathlib import Path

from maseval.core.exceptions import ConfigurationError
from maseval.core.storage import strict_json
from maseval.core.storage.files import SUFFIX, sync_folder, write_json
from maseval.core.tracing import now
from maseval.core.words import excerpt
from maseval.runs.config import RunConfig
from maseval.runs.exceptions import RunConfigError, RunFolderError, check_regular
from maseval.runs.log import heads_of

FORMAT = 1
CONFIG, LOG, LOCK = "config.json", "log.jsonl", "lock"


def create(folder: Path, config: RunConfig) -> None:
    """Make ``folder`` that of a run."""
    described = {"format": FORMAT, "created": now(), "sha256": config.sha256}
    write_json(folder / CONFIG, {**described, "config": config.values})
    sync_folder(folder.parent)


def read_config(folder: Path) -> tuple[str, RunConfig]:
    """Return when the run was started, and its configuration then."""
    path = folder / CONFIG
    try:
        check_regular(path)
        stored = strict_json.loads(path.read_bytes())
        created, config = str(stored["created"]), RunConfig.of(stored["config"])
        known = stored["format"] == FORMAT
        intact = stored["sha256"] == config.sha256
    except (FileNotFoundError, NotADirectoryError):
        raise RunFolderError(
            f"{folder} is not a run folder: it has no {CONFIG}; "
            "`maseval runs` and list_runs() list the existing runs"
        ) from None
    except (ValueError, KeyError, TypeError, ConfigurationError) as error:
        raise RunFolderError(
            f"{path} is damaged ({type(error).__name__}: {excerpt(error)}); restore it from a "
            "copy, or choose another folder"
        ) from error
    if not known:
        raise RunFolderError(
            f"{path} has format {stored['format']!r}, and this version of maseval reads {FORMAT}"
        )
    if not intact:
        raise RunFolderError(
            f"{path} was edited: its hash does not match its content; restore it, because the "
            "results belong to the original configuration"
        )
    return created, config


def current_config(folder: Path) -> RunConfig:
    """Return the configuration with everything added since the run was started."""
    _, first = read_config(folder)
    return heads_of(folder / LOG).config or first


def check_usable(folder: Path, wanted: RunConfig) -> None:
    """Raise unless ``folder`` is free, or holds the wanted run or the beginning of it."""
    if (folder / CONFIG).exists():
        check_same_run(folder, current_config(folder), wanted)
        return
    try:
        names = {path.name for path in folder.iterdir()}
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise RunFolderError(f"{folder} is a file; choose another path for the run") from None
    # Leftovers of a process that was killed while it created the folder do not matter.
    foreign = {name for name in names if name != LOCK and not name.endswith(SUFFIX)}
    if foreign:
        raise RunFolderError(
            f"{folder} holds other files, such as {min(foreign)!r}, and no {CONFIG}; "
            "choose a new or an empty folder for the run"
        )


def check_same_run(folder: Path, found: RunConfig, wanted: RunConfig) -> None:
    """Raise if the folder holds another run than the wanted one."""
    if wanted.extends(found):
        return
    differences = found.differences(wanted)
    listed = "".join(f"\n  {difference}" for difference in differences)
    raise RunConfigError(
        f"{folder} holds a run with another configuration:{listed}\n"
        "Only tasks and trials can be added to a run. Choose another folder (--output), repeat the "
        "old configuration to resume it, or fork (--fork, fork=True) into a folder beside it",
        differences,
    )
