"""``maseval tau2 users``: how well the simulated users of recorded conversations did."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from maseval.app.benchmarks import Diagnosis
from maseval.app.results.examined import ExaminedRun, simulations_in_order
from maseval.app.results.finding import open_recording
from maseval.app.results.recording import notes_on
from maseval.app.results.user_faults import (
    SCRIPTED,
    PlayedUser,
    UserCheck,
    UserFinding,
    UserScore,
    user_scores,
)
from maseval.benchmark.tau2.app.results.recorded_setup import TAU2
from maseval.benchmark.tau2.app.results.sources import Files, FilesRead, read_report
from maseval.benchmark.tau2.data_loader import UnknownTaskError
from maseval.benchmark.tau2.results import Omitted
from maseval.benchmark.tau2.review.users import FaultKind, check_user_of_case
from maseval.benchmark.tau2.scoring.case import open_case
from maseval.core.report import Report
from maseval.core.scoring_options import ScoringKeywords, ScoringOptions
from maseval.runs.recording import Recording
from maseval.stats.failure_labels import Label

_PLACE = re.compile(r"\bmessage (\d+)")
# By what a label says, or by its rule; all others are choices against the task.
_KINDS = {
    "stopped before the confirmed action": FaultKind.LEFT,
    "left too early": FaultKind.LEFT,
    "invented facts": FaultKind.INVENTED,
    "led astray by the user": FaultKind.INVENTED,
    "information not asked for": FaultKind.UNSAID,
    "never asked": FaultKind.UNSAID,
    "reported without looking": FaultKind.BLIND,
    "empty turns": FaultKind.SILENT,
}


@dataclass(frozen=True)
class UsersOfRun:
    """A run or results file, and what was found about the user of each of its simulations."""

    path: Path
    played: Sequence[PlayedUser]
    notes: Sequence[str] = ()

    def to_dict(self) -> dict[str, object]:
        """Return all findings as JSON values."""
        return {
            "path": str(self.path),
            "notes": list(self.notes),
            "simulations": [
                {**each.simulation._asdict(), "passed": each.passed, **each.check.to_dict()}
                for each in self.played
            ],
        }


class UsersOfRuns(FilesRead[UsersOfRun]):
    """The runs and files whose users were checked."""

    @property
    def scores(self) -> list[UserScore]:
        """The numbers of each user model, over all runs and files together."""
        return user_scores(each for run in self for each in run.played)


def users(
    files: Files,
    *,
    on_progress: Callable[[int, int], object] | None = None,
    **scoring: Unpack[ScoringKeywords],
) -> UsersOfRuns:
    """Look for faults of the simulated user in runs and results files, passes and failures alike.

    A file that cannot be read does not stop the others; if none can, the first error is raised.
    ``scoring`` are the fields of ``ScoringOptions``.
    """
    found, options = UsersOfRuns(), ScoringOptions(**scoring)
    found.add_files(files, lambda file: _users(open_recording(file, options, TAU2), on_progress))
    return found


def _users(folder: Recording, on_progress: Callable[[int, int], object] | None) -> UsersOfRun:
    run, played = ExaminedRun(folder), []
    for number, one in enumerate(simulations_in_order(folder), 1):
        found = run.examine(one, ("line", "user"))
        if found.line is not None and found.user is not None:
            played.append(PlayedUser(one, bool(found.line.passed), found.user))
        if on_progress is not None:
            on_progress(number, len(folder.recorded))
    run.save()
    return UsersOfRun(folder.path, played, notes_on(folder))


def check_user_of_report(report: Report, diagnosis: Diagnosis | None) -> UserCheck | None:
    """Check the user of one simulation; None if nothing of it was recorded, or it had no user.

    A failure that its label puts on the user is a fault as well, unless it was found already.
    """
    found = read_report(report)
    if isinstance(found, Omitted) or found.recorded.solo:
        return None
    recorded, parsed = found.recorded, found.parsed
    model = parsed.models_of("user")
    if parsed.has_scripted_user:
        return UserCheck(obstacle=SCRIPTED, model=SCRIPTED)
    version = recorded.version
    try:
        case = open_case(recorded.simulation, parsed.world, parsed.judged_by, version=version)
    except UnknownTaskError as error:
        return UserCheck(obstacle=str(error), model=model)
    faults = check_user_of_case(case)
    findings = [
        UserFinding(each.kind.value, each.text, each.message_index, each.quote)
        for each in faults.faults
    ]
    if diagnosis is not None and diagnosis.label.who == "user" and faults.unreadable is None:
        blamed = _finding_of(diagnosis.label, len(case.recording.messages) - 1)
        if blamed.kind not in {each.kind for each in findings}:
            findings.append(blamed)
    return UserCheck(tuple(findings), faults.unreadable, model)


def _finding_of(label: Label, last: int) -> UserFinding:
    """Return the finding that a label of the user's failure is."""
    lines = sorted(label.evidence, key=lambda line: "the user" not in line)
    places = [int(each) for line in lines for each in _PLACE.findall(line)]
    kind = _KINDS.get(label.rule, _KINDS.get(label.what, FaultKind.CHOICE))
    text = f"the failure is the user's, {label.what}"
    return UserFinding(kind.value, text, places[0] if places else last, "; ".join(label.evidence))
