"""Recorded conversations in which not the agent was wrong: faults of tasks and of users."""

from collections.abc import Sequence

from maseval.benchmark.tau2.app.results.sources import ReadReport, read_report
from maseval.benchmark.tau2.data_loader import UnknownTaskError
from maseval.benchmark.tau2.formats.simulation import RewardInfo
from maseval.benchmark.tau2.results import Omitted
from maseval.benchmark.tau2.review.causes import user_findings, user_not_read
from maseval.benchmark.tau2.review.errata import Erratum, errata_for, sound_finding
from maseval.benchmark.tau2.scoring.case import open_case
from maseval.benchmark.tau2.scoring.judge import NoJudgeError
from maseval.benchmark.tau2.world.replay import ReplayError
from maseval.core.finding import LEFT_OUT, SOUND_FAIL, Finding
from maseval.core.outcome import verdict_for
from maseval.core.recorded import mapping, number
from maseval.core.report import Report


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
