"""Verdicts as a run recorded them, compared with those that its conversations give when recomputed.

Whoever edits a log can make its checksums right again, so that only recomputing shows whether its
verdicts hold. ``RunCheck`` does that while the reports of a run are read. A list of runs has no
time for it: what the last check found is remembered in the cache of this machine, and counts as
long as the log is the same file. It is not kept in the folder of the run, because whoever hands
over an edited run could hand over a good result with it.
"""

import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from maseval import __version__
from maseval.core.exceptions import MASEvalError
from maseval.core.recorded import mapping
from maseval.core.report import Report
from maseval.core.storage import strict_json
from maseval.core.storage.files import FileState, write_json
from maseval.core.words import text_or_none
from maseval.data.store import cache_dir
from maseval.runs.config import Simulation
from maseval.runs.config_file import LOG

VerdictChecker = Callable[[Report], str | None]
"""Returns how the verdict of a report differs from the recomputed one; None if it holds."""

UNCONFIRMED = "record: verdict does not hold"
"""The label of a simulation whose recorded verdict is not the recomputed one."""


@dataclass(frozen=True)
class VerdictCheck:
    """The verdicts of a run that do not hold, each with its difference, of how many.

    ``obstacle`` says why they could not be recomputed.
    """

    checked: int = 0
    differing: Mapping[Simulation, str] = field(default_factory=dict)
    obstacle: str | None = None

    @property
    def note(self) -> str | None:
        """A sentence that must stand beside the recorded numbers, if there is one."""
        return self._say("numbers as recorded are not to be trusted")

    @property
    def note_on_recomputed(self) -> str | None:
        """The sentence for where the verdicts that do not hold are replaced."""
        return self._say("these numbers are of the recomputed ones")

    def _say(self, conclusion: str) -> str | None:
        if not self.differing:
            return self.obstacle
        first, words = next(iter(self.differing.items()))
        return (
            f"{len(self.differing)} of {self.checked} recorded verdicts do not hold when they are "
            f"recomputed (the first: {first}: {words}); {conclusion}"
        )

    def to_dict(self) -> dict[str, object]:
        """Return the findings as JSON values."""
        differing = [{"simulation": str(one), "text": text} for one, text in self.differing.items()]
        return {"checked": self.checked, "differing": differing, "obstacle": self.obstacle}


class RunCheck:
    """Checks the reports of the run at ``path`` one after the other."""

    def __init__(self, path: Path, check: VerdictChecker, obstacle: str | None = None) -> None:
        self._log = path / LOG
        self._state = FileState.now(self._log)
        self._check = check
        self._obstacle = obstacle
        self._checked: dict[Simulation, None] = {}
        self._differing: dict[Simulation, str] = {}

    def add(self, report: Report) -> str | None:
        """Check one report, and return what is wrong with its verdict."""
        if self._obstacle is not None:
            return None
        try:
            found = self._check(report)
        except MASEvalError as error:
            self._obstacle = f"rewards as recorded, not recomputed: {error}"
            return None
        simulation = Simulation.of(report)
        self._checked[simulation] = None
        self._differing.pop(simulation, None)  # it may have been run again
        if found is not None:
            self._differing[simulation] = found
        return found

    def finish(self) -> VerdictCheck:
        """Return what was found, and remember it for the list of runs."""
        found = VerdictCheck(len(self._checked), dict(self._differing), self._obstacle)
        if self._obstacle is None and self._state == FileState.now(self._log):
            remember_check(self._log, self._state, found.note)
        return found


def remember_check(log: Path, state: FileState, note: str | None) -> None:
    """Keep what was found in a log that was in this state; where it cannot be kept, it is not."""
    with suppress(OSError):
        write_json(check_place(log), {"maseval": __version__, "log": [*state], "note": note or ""})


def recall_check(log: Path) -> str | None:
    """Return what the last check found: empty if all verdicts hold, None if that is not known."""
    with suppress(OSError, ValueError):
        kept = mapping(strict_json.loads(check_place(log).read_bytes()))
        if (kept.get("maseval"), kept.get("log")) == (__version__, [*FileState.now(log)]):
            return text_or_none(kept.get("note"))
    return None


def check_place(log: Path) -> Path:
    """Return the file in which the last check of a log is remembered."""
    name = hashlib.sha256(str(log.absolute()).encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return cache_dir() / "verdicts" / f"{name}.json"
