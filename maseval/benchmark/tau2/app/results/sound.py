"""Sound verdicts on the simulations of runs and results files."""

from maseval.app.results.variants import LEFT_OUT, SOUND_FAIL, SOUND_PASS
from maseval.benchmark.tau2.app.results.sources import ReadReport, read_report
from maseval.benchmark.tau2.data_loader import UnknownTaskError
from maseval.benchmark.tau2.formats.simulation import RewardInfo
from maseval.benchmark.tau2.results import Omitted
from maseval.benchmark.tau2.review.errata import Erratum
from maseval.benchmark.tau2.review.errata.sound import (
    errata_of_case,
    sound_verdict_by,
    soundness_of,
    with_corrections,
)
from maseval.benchmark.tau2.scoring.judge import NoJudgeError
from maseval.core.finding import Finding
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
    sound = soundness_of(case, errata)
    if not sound.sound:
        return _finding(LEFT_OUT, sound.reasons[0])
    if passed and with_corrections(case, errata) is case:
        return None
    try:
        new = sound_verdict_by(case, errata, _whole(found.recorded.verdict))
    except NoJudgeError:  # only a judge can decide, and none was asked
        return None
    if new.official is not passed or not new.differs:
        # A copy, or a forged verdict: what decides the official one is not in the conversation.
        return None
    return _finding(SOUND_PASS if new.outcome == "passed" else SOUND_FAIL, new.reason or "")


def _finding(kind: str, why: str) -> Finding:
    return Finding("erratum", "task", kind, "known fault of the task", why, "proven")


def errata_of_report(found: ReadReport) -> tuple[Erratum, ...]:
    """Return the known faults of the task of a report."""
    return errata_of_case(found.case, found.parsed.judged_by, found.recorded.version)


def _whole(verdict: RewardInfo | None) -> RewardInfo | None:
    """Return a recorded verdict if it has what is needed of it; anybody may have written it."""
    given = mapping(verdict)
    is_whole = number(given.get("reward")) is not None and "reward_breakdown" in given
    return verdict if is_whole else None
