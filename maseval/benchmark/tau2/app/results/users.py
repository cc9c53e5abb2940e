"""Recorded conversations in which not the agent was wrong: sound verdicts, and ``tau2 users``.

A known fault of a task changes what counts; ``maseval tau2 users`` says how well the simulated
users did.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from maseval.app.benchmarks import support_for
from maseval.app.results.examined import FINDINGS, examine_run
from maseval.app.results.finding import open_recording
from maseval.app.results.recording import notes_on
from maseval.app.results.users import PlayedUser, UserScore, played_users, user_scores
from maseval.benchmark.tau2.app.results.recorded_setup import TAU2
from maseval.benchmark.tau2.app.results.sources import Files, FilesRead, ReadReport, read_report
from maseval.benchmark.tau2.data_loader import UnknownTaskError
from maseval.benchmark.tau2.formats.simulation import RewardInfo
from maseval.benchmark.tau2.results import Omitted
from maseval.benchmark.tau2.review.causes import user_findings, user_not_read
from maseval.benchmark.tau2.review.causes.users import LOOKED_FOR
from maseval.benchmark.tau2.review.errata import Erratum, errata_for, sound_finding
from maseval.benchmark.tau2.scoring.case import open_case
from maseval.benchmark.tau2.scoring.judge import NoJudgeError
from maseval.benchmark.tau2.world.replay import ReplayError
from maseval.core.finding import LEFT_OUT, SOUND_FAIL, Finding
from maseval.core.outcome import verdict_for
from maseval.core.recorded import mapping, number
from maseval.core.report import Report
from maseval.core.scoring_options import ScoringKeywords, ScoringOptions
from maseval.runs.recording import Recording


def check_soundness(report: Report) -> Finding | None:
    """Return how a known fault of the task changes what counts; None if it changes nothing."""
    found = read_report(report)
    if isinstance(found, Omitted):
        return None
    passed = verdict_for(found.parsed.kind, found.parsed.status).passed
    try:
        case, errata = found.case, errata_of_report(found)
    except UnknownTaskError:
        return None
    try:
        sound = sound_finding(case, errata, _whole(found.simulation["reward_info"]))
    except (NoJudgeError, ReplayError):  # no judge was asked, or messages were deleted
        return None
    if sound is None or sound.kind == LEFT_OUT:
        return sound
    # A forged verdict counts otherwise than the conversation that the finding is about.
    return sound if passed is (sound.kind == SOUND_FAIL) else None


def errata_of_report(found: ReadReport) -> tuple[Erratum, ...]:
    """Return the known faults of the task of a report."""
    parsed, task_id = found.parsed, str(found.simulation["task_id"])
    return errata_for(parsed.world, task_id, parsed.release.name, parsed.judged_by)


def _whole(verdict: RewardInfo | None) -> RewardInfo | None:
    """Return a recorded verdict if it has what is needed of it; anybody may have written it."""
    given = mapping(verdict)
    is_whole = number(given.get("reward")) is not None and "reward_breakdown" in given
    return verdict if is_whole else None


@dataclass(frozen=True)
class UsersOfRun:
    """A run or results file, and what was found about the user of each of its simulations."""

    path: Path
    played: Sequence[PlayedUser]
    notes: Sequence[str] = ()

    def to_dict(self) -> dict[str, object]:
        return {
            "path": str(self.path),
            "notes": list(self.notes),
            "simulations": [
                {
                    **each.simulation._asdict(),
                    "model": each.model,
                    "passed": each.passed,
                    "findings": [finding.to_dict() for finding in each.findings],
                }
                for each in self.played
            ],
        }


class UsersOfRuns(FilesRead[UsersOfRun]):
    """The runs and files whose users were checked."""

    looked_for = LOOKED_FOR

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
    found = examine_run(folder, FINDINGS, on_progress)
    model = support_for(folder).user_model(folder.config.values)
    played = played_users(found.lines, found.findings, model)
    return UsersOfRun(folder.path, played, notes_on(folder))


def check_user_of_report(report: Report, cause: Finding | None) -> Sequence[Finding]:
    """Return the faults of the user of one simulation, if a model played it.

    A failure whose ``cause`` is the user is a fault as well, unless it was found already.
    """
    found = read_report(report)
    if isinstance(found, Omitted):
        return ()
    parsed = found.parsed
    if parsed.has_scripted_user:
        return ()
    if parsed.solo:
        return [user_not_read("no user took part")]
    try:
        case = open_case(
            found.simulation, parsed.world, parsed.judged_by, version=parsed.release.name
        )
    except UnknownTaskError as error:
        return [user_not_read(str(error))]
    return user_findings(case, cause)
