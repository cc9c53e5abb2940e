"""Verdicts as a run recorded them, compared with those that its conversations give when recomputed.

Whoever edits a log can make its checksums right again, so that only recomputing shows whether its
verdicts hold. ``VerdictCheck`` does that while the reports of a run are read. A list of runs has no
time for it: what the last check found is remembered in the cache of this machine, and counts as
long as the log is the same file. It is not kept in the folder of the run, because whoever hands
over an edited run could hand over a good result with it.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple, TypedDict, cast

from maseval.core.outcome import Outcome, Simulation
from maseval.core.report import Report
from maseval.core.storage.files import FileState
from maseval.core.tracing import JsonObject
from maseval.runs.config_file import LOG
from maseval.runs.log import kept_about
from maseval.runs.recording import Recording
from maseval.stats.summary import summarise


class SimulationDoubt(NamedTuple):
    """A reason to doubt a verdict: a label, and the sentence that stands first on its page."""

    label: str
    text: str

    @property
    def is_misfit(self) -> bool:
        """True if the task is not that of the conversation, so that nothing can be judged by it."""
        return self.label == MISFIT


def doubt_in(report: Mapping[str, object]) -> SimulationDoubt | None:
    """Return what a results file has against one of its simulations, from its report."""
    found = report.get("doubt")
    return found if isinstance(found, SimulationDoubt) else None


class Misstatement(NamedTuple):
    """The difference of a recorded verdict from the recomputed one, which is ``passed``.

    ``checks`` are those of the recomputed verdict, in the benchmark's own form, and ``measures``
    its other numbers.
    """

    text: str
    passed: bool | None
    checks: Mapping[str, object] | None = None
    measures: Mapping[str, float] | None = None

    @property
    def doubt(self) -> SimulationDoubt:
        """The difference as a reason to doubt the simulation."""
        return SimulationDoubt(UNCONFIRMED, f"the recorded verdict does not hold: {self.text}")


VerdictChecker = Callable[[Report], Misstatement | None]
"""Compares the verdict of a report with the recomputed one; returns None if it holds."""

_VERDICTS = "verdicts"

UNCONFIRMED = "record: verdict does not hold"
"""The label of a simulation whose recorded verdict is not the recomputed one."""

MISFIT = "record: task does not fit"
"""The label of a simulation whose task is not that of its conversation."""


class RunDoubt(TypedDict):
    """The reasons to doubt the numbers of a run, with pass^1 as recorded and as recomputed."""

    reasons: list[str]
    recorded: JsonObject | None
    recomputed: JsonObject | None


def doubt_about(recording: Recording, check: "VerdictCheck | None" = None) -> RunDoubt | None:
    """Return why a recording is doubtful: the damage to a folder, and verdicts that do not hold."""
    found: RunDoubt | None = check.doubt if check else getattr(recording, "doubt", None)
    if not (damage := list(getattr(recording, "damage", ()))):
        return found
    known = found or _doubt([], None, None)
    return {**known, "reasons": [*damage, *known["reasons"]]}


class VerdictCheck:
    """The verdicts of a run that do not hold, each with its difference, of how many.

    Reports are checked one after the other. ``obstacle`` says why verdicts cannot be recomputed.
    """

    def __init__(self, run: Recording, obstacle: str | None = None) -> None:
        self._run = run
        self._log = run.path / LOG
        self._state = FileState.now(self._log)
        self.obstacle = obstacle
        self._checked: dict[Simulation, Outcome] = {}
        self.differing: dict[Simulation, Misstatement] = {}
        self._scores: tuple[JsonObject | None, JsonObject | None] = (None, None)

    def add(self, line: Outcome, found: Misstatement | None, obstacle: str | None = None) -> None:
        """Add how a verdict differs from the recomputed one, or why it cannot be recomputed."""
        if obstacle is not None:
            self.obstacle = f"rewards as recorded, not recomputed: {obstacle}"
            return
        simulation = line.simulation
        self._checked[simulation] = line
        self.differing.pop(simulation, None)  # it may have been run again
        if found is not None:
            self.differing[simulation] = found

    def finish(self) -> "VerdictCheck":
        """Remember what was found for the list of runs."""
        if self.differing:
            recorded = self._checked
            new = {
                simulation: recorded[simulation]._replace(passed=difference.passed, reason=None)
                for simulation, difference in self.differing.items()
            }
            before, after = (
                summarise(outcomes.values(), planned=self._run.planned).overall.pass_1
                for outcomes in (recorded, {**recorded, **new})
            )
            self._scores = before, after
        # A log that was written to meanwhile has not been checked as a whole.
        if self.obstacle is None and self._state == FileState.now(self._log):
            known = kept_about(self._log)
            known.put(_VERDICTS, [self._state, self.doubt or _doubt([], None, None)])
            known.save()
        return self

    @property
    def doubt(self) -> RunDoubt | None:
        """The verdicts that do not hold, as pages show them first; None if all do.

        With pass^1 as recorded and as recomputed.
        """
        return _doubt([self._say_what_differs()], *self._scores) if self.differing else None

    @property
    def note(self) -> str | None:
        """A sentence that must stand beside the recorded numbers, if there is one."""
        return self._say("do not trust the recorded numbers")

    @property
    def note_on_recomputed(self) -> str | None:
        """The sentence for where the verdicts that do not hold are replaced."""
        return self._say("these numbers use the recomputed verdicts")

    def _say(self, conclusion: str) -> str | None:
        return f"{self._say_what_differs()}; {conclusion}" if self.differing else self.obstacle

    def _say_what_differs(self) -> str:
        lost = [
            simulation for simulation in self.differing if self._checked[simulation].passed is None
        ]
        false = [simulation for simulation in self.differing if simulation not in lost]
        parts = [
            f"{len(ones)} of {len(self._checked)} {what} (the first: {ones[0]}: "
            f"{self.differing[ones[0]].text})"
            for ones, what in (
                (false, "recorded verdicts do not hold when they are recomputed"),
                (lost, "simulations are recorded without the verdict that recomputing gives"),
            )
            if ones
        ]
        return "; ".join(parts)

    def to_dict(self) -> dict[str, object]:
        differing = [
            {"simulation": str(simulation), "text": difference.text}
            for simulation, difference in self.differing.items()
        ]
        return {"checked": len(self._checked), "differing": differing, "obstacle": self.obstacle}


def _doubt(
    reasons: list[str], recorded: JsonObject | None, recomputed: JsonObject | None
) -> RunDoubt:
    return {"reasons": reasons, "recorded": recorded, "recomputed": recomputed}


def recall_check(log: Path) -> RunDoubt | None:
    """Return what the last check found: no reasons if all verdicts hold, None if never checked."""
    match kept_about(log).get(_VERDICTS):
        case [state, dict(doubt)] if state == [*FileState.now(log)]:
            return cast("RunDoubt", doubt) if doubt.keys() == RunDoubt.__required_keys__ else None
    return None
