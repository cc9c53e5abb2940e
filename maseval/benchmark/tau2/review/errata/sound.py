"""The sound verdict on a conversation, which stands beside the official one.

A task is unsound if no verdict on it can be right: its errata say so, or its reference solution
fails, is forbidden by the rules of the policy, or can never be matched. Such a task is left out
with all its simulations, passes too. For the others a corrected reference solution takes the place
of the task's own, and other right end states count as well.
"""

from collections.abc import Iterator, Mapping, Sequence

from maseval.benchmark.tau2.data_loader import load_raw_task
from maseval.benchmark.tau2.domains.releases import AnyVersion
from maseval.benchmark.tau2.formats.simulation import RewardInfo
from maseval.benchmark.tau2.review.errata.accepting import other_right_end, passes, with_criteria
from maseval.benchmark.tau2.review.errata.erratum import Erratum, errata_for, gold_actions
from maseval.benchmark.tau2.review.policy import check_gold
from maseval.benchmark.tau2.scoring.case import AnyTask, Case
from maseval.benchmark.tau2.scoring.score import score
from maseval.benchmark.tau2.world.reference import GoldKey, gold_key, gold_state, shortfall
from maseval.benchmark.tau2.world.setting import Setting
from maseval.benchmark.tau2.world.state.copying import once
from maseval.benchmark.tau2.world.tasks import Criteria, RewardType, TaskSpec
from maseval.core.exceptions import MASEvalError
from maseval.core.finding import LEFT_OUT, SOUND_FAIL, SOUND_PASS, Finding
from maseval.core.outcome import is_successful


def faults_of_task(case: Case, errata: Sequence[Erratum] = ()) -> tuple[str, ...]:
    """Return why no verdict on a task can be right, by its errata and its reference solution."""
    left_out = [str(each) for each in errata if each.sound_verdict.leave_out]
    corrected = with_corrections(case, errata).setting
    told = case.scenario
    ticket = case.raw_task.get("ticket") if case.setting.solo else None
    key = gold_key(corrected, f"{corrected.task.content}\n{told}", case.stage.files)
    return (*left_out, *_gold_faults(key, told, ticket if isinstance(ticket, str) else None))


def errata_of_case(
    case: Case, task: AnyTask | None = None, release: AnyVersion = None
) -> tuple[Erratum, ...]:
    """Return the errata of a case's task, where it is that of a release.

    ``task`` is the one by which the case was opened, if it was given. Results files bring tasks of
    their own: one that is not as the release has it has none of its errata.
    """
    domain, task_id = case.setting.domain, str(case.raw_task.get("id"))
    found = errata_for(domain, task_id, release)
    if not found or not isinstance(task, Mapping):
        return found
    try:
        published = load_raw_task(domain, task_id, version=release)
    except MASEvalError:  # there is no such task, or its files are not here
        return ()
    same_words = published.get("user_scenario") == task.get("user_scenario")
    return found if same_words and TaskSpec.of(published) == case.task else ()


def sound_finding(
    case: Case, errata: Sequence[Erratum] | None = None, official: RewardInfo | None = None
) -> Finding | None:
    """Return how the sound verdict differs from the official one; None if it does not.

    The ``errata`` are by default those of the case's task, as the release of its domain has it,
    and the ``official`` verdict is worked out if it is not given.
    """
    known = errata_of_case(case) if errata is None else errata
    if faults := faults_of_task(case, known):
        return _finding(LEFT_OUT, faults[0])
    verdict = score(case).reward_info if official is None else official
    passed, corrected = is_successful(verdict["reward"]), with_corrections(case, known)
    right = passed if corrected is case else passes(corrected, verdict)
    if not right:
        other = other_right_end(corrected, known, verdict)
        if other is not None:
            return None if passed else _finding(SOUND_PASS, f"another right end state: {other}")
    if right == passed:
        return None
    why = "; ".join(str(each) for each in known if _corrects(each))
    return _finding(SOUND_PASS if right else SOUND_FAIL, why)


def _finding(kind: str, why: str) -> Finding:
    return Finding("erratum", "task", kind, "known fault of the task", why, "proven")


def _corrects(erratum: Erratum) -> bool:
    return erratum.sound_verdict.gold is not None or erratum.sound_verdict.tell is not None


def with_corrections(case: Case, errata: Sequence[Erratum]) -> Case:
    """Return the case with the corrected criteria; itself if there is nothing to correct."""
    for each in errata:
        correction = each.sound_verdict
        if correction.gold is not None:
            case = with_criteria(case, actions=gold_actions(correction.gold))
        if correction.tell is not None:
            case = with_criteria(case, communicate_info=list(correction.tell))
    return case


@once(maxsize=4096)
def _gold_faults(key: GoldKey, told: str, ticket: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_faults_of_gold(key.setting, told, ticket)))


def _faults_of_gold(setting: Setting, told: str, ticket: str | None) -> Iterator[str]:
    """Yield why the reference solution of a task cannot be what a right agent does."""
    criteria = setting.task.evaluation_criteria
    if criteria is None:
        return
    calls = {action.action_id: action.call() for action in setting.task.actions}
    if RewardType.DB in criteria.reward_basis:
        for fault in gold_state(setting).errors:
            if setting.may_write(calls[fault.action_id]):
                yield f"gold impossible: {fault.name} fails: {fault.error}"
    for breach in check_gold(setting, told, ticket).breaches:
        yield f"gold against the policy: {breach.text}"
    for kind in shortfall(setting).kinds:
        if kind in criteria.reward_basis:
            yield f"gold impossible: carried out call by call, it fails at {kind.value}"
    yield from _texts_never_found(criteria)


def _texts_never_found(criteria: Criteria) -> Iterator[str]:
    """Commas are removed from what the agent says, so that a text with one is never found."""
    if RewardType.COMMUNICATE in criteria.reward_basis:
        for info in criteria.communicate_info or ():
            if "," in info:
                yield f"text to be told is wrong: {info!r} has a comma, which is never found"
