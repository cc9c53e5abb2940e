"""Sound verdicts on the simulations of runs and results files."""

from maseval.app.results.sound import SoundCheck
from maseval.benchmark.tau2.app.results.sources import read_report
from maseval.benchmark.tau2.data_loader import UnknownTaskError
from maseval.benchmark.tau2.errata.sound import (
    errata_of_case,
    sound_verdict_by,
    soundness_of,
    with_corrections,
)
from maseval.benchmark.tau2.formats.simulation import RewardInfo
from maseval.benchmark.tau2.results import Omitted
from maseval.benchmark.tau2.scoring.case import open_case
from maseval.benchmark.tau2.scoring.judge import NoJudgeError
from maseval.core.outcome import RecordedReport
from maseval.core.recorded import mapping, number
from maseval.core.report import Report


def check_soundness(report: Report) -> SoundCheck | None:
    """Return the sound verdict on a simulation; None if nothing of it, or its task, is known."""
    found, passed = read_report(report), RecordedReport(report).outcome.passed
    if isinstance(found, Omitted):
        return None
    recorded, parsed = found
    solo, version = recorded.solo, recorded.version
    try:
        case = open_case(
            *(recorded.simulation, parsed.world, parsed.judged_by),
            solo=solo,
            version=version,
            graded=True,
        )
    except UnknownTaskError:
        return None
    errata = errata_of_case(case, parsed.judged_by, version)
    sound = soundness_of(case, errata)
    if not sound.sound:
        return SoundCheck(left_out=True, reason=sound.reasons[0])
    if passed and with_corrections(case, errata) is case:
        return SoundCheck(passed=True)
    try:
        new = sound_verdict_by(case, errata, _whole(recorded.verdict))
    except NoJudgeError:  # only a judge can decide, and none was asked
        return SoundCheck(passed=passed)
    if new.official is not passed or not new.differs:
        # A copy, or a forged verdict: what decides the official one is not in the conversation.
        return SoundCheck(passed=passed)
    return SoundCheck(passed=new.outcome == "passed", differs=True, reason=new.reason)


def _whole(verdict: RewardInfo | None) -> RewardInfo | None:
    """Return a recorded verdict if it has what is needed of it; anybody may have written it."""
    given = mapping(verdict)
    is_whole = number(given.get("reward")) is not None and "reward_breakdown" in given
    return verdict if is_whole else None
