"""Scored cases, summaries of their checks, and the reasons why a replay failed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypedDict

from maseval.benchmark.tau2.conversation.recording import HasSimulation
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.releases import AnyVersion
from maseval.benchmark.tau2.formats.simulation import RewardInfo
from maseval.benchmark.tau2.review.errata import Erratum
from maseval.benchmark.tau2.review.errata.sound import errata_of_case, with_corrections
from maseval.benchmark.tau2.scoring.case import AnyTask, Case, open_case, release_of_task
from maseval.benchmark.tau2.scoring.judge import NoJudgeError
from maseval.benchmark.tau2.scoring.score import score
from maseval.benchmark.tau2.world.tasks import Criteria, RewardType
from maseval.core.model import ModelAdapter
from maseval.core.outcome import is_successful
from maseval.core.words import count_of
from maseval.data.store import AnyPath


class CaseKeywords(TypedDict, total=False):
    """Optional arguments of ``explain`` and ``label``; ``score_simulation`` describes each."""

    task: AnyTask | None
    solo: bool
    nl_model: ModelAdapter | None
    data_dir: AnyPath | None
    version: AnyVersion


class ScoredCase(NamedTuple):
    """A conversation in its world, what the checks said, and what is wrong with its task."""

    case: Case
    reward_info: RewardInfo
    errata: tuple[Erratum, ...] = ()


def score_case(
    simulation: Mapping[str, object] | HasSimulation,
    domain: str | Domain,
    *,
    task: AnyTask | None = None,
    solo: bool = False,
    nl_model: ModelAdapter | None = None,
    data_dir: AnyPath | None = None,
    version: AnyVersion = None,
) -> ScoredCase:
    """Read a simulation, find its task, and score it; the arguments are ``CaseKeywords``."""
    case = open_case(
        simulation, domain, task, solo=solo, data_dir=data_dir, version=version, graded=True
    )
    errata = errata_of_case(case, task, release_of_task(domain, task, version))
    return score_opened(case, errata, nl_model)


def score_opened(
    case: Case, errata: tuple[Erratum, ...], nl_model: ModelAdapter | None = None
) -> ScoredCase:
    """Score a case that is opened already, by the errata of its task."""
    return ScoredCase(case, _verdict(case, nl_model), errata)


def score_corrected(subject: ScoredCase) -> ScoredCase | None:
    """Score a case by the corrected criteria of its task; None if there are none, or no judge."""
    case = with_corrections(subject.case, subject.errata)
    if case is subject.case:
        return None
    try:
        return ScoredCase(case, _verdict(case, None))
    except NoJudgeError:
        return None


def _verdict(case: Case, nl_model: ModelAdapter | None) -> RewardInfo:
    """Score a case; a failure that no judge could turn needs no judge."""
    try:
        return score(case, nl_model=nl_model).reward_info
    except NoJudgeError as error:
        if error.so_far is None or is_successful(error.so_far["reward"]):
            raise
        return error.so_far


@dataclass(frozen=True)
class CheckSummary:
    """One check: whether the reward depends on it, and what it found.

    ``passed`` is None if it was not run. ``can_fail`` is False if the task has no criteria for it.
    """

    kind: str
    gates: bool
    passed: bool | None
    can_fail: bool
    detail: str = ""


def check_summaries(
    criteria: Criteria, reward_info: RewardInfo, *, looked: bool
) -> tuple[CheckSummary, ...]:
    """Return every check; ``looked`` is False if none was run."""
    passed: dict[RewardType, bool | None] = {kind: None for kind in RewardType}
    db = reward_info["db_check"]
    if looked:
        passed |= {
            RewardType.DB: None if db is None else db["db_match"],
            RewardType.ENV_ASSERTION: _all(reward_info["env_assertions"], "met"),
            RewardType.ACTION: _all(reward_info["action_checks"], "action_match"),
            RewardType.COMMUNICATE: _all(reward_info["communicate_checks"], "met"),
        }
        if reward_info["nl_assertions"] is not None:
            passed[RewardType.NL_ASSERTION] = _all(reward_info["nl_assertions"], "met")
    contents = {
        RewardType.DB: criteria.actions is not None or criteria.env_assertions is not None,
        RewardType.ENV_ASSERTION: bool(criteria.env_assertions),
        RewardType.ACTION: bool(criteria.actions),
        RewardType.COMMUNICATE: bool(criteria.communicate_info),
        RewardType.NL_ASSERTION: bool(criteria.nl_assertions),
    }
    return tuple(
        CheckSummary(
            kind.value,
            kind in criteria.reward_basis,
            passed[kind],
            contents[kind],
            _detail(kind, criteria, reward_info) if looked else "",
        )
        for kind in RewardType
    )


def _all(checks: Sequence[Mapping[str, object]] | None, key: str) -> bool:
    return all(check[key] for check in checks or ())


def _detail(kind: RewardType, criteria: Criteria, reward_info: RewardInfo) -> str:
    match kind:
        case RewardType.ENV_ASSERTION:
            return _share(reward_info["env_assertions"], "met", "assertions hold")
        case RewardType.ACTION:
            return _share(reward_info["action_checks"], "action_match", "actions taken")
        case RewardType.COMMUNICATE:
            return _share(reward_info["communicate_checks"], "met", "things said")
        case RewardType.NL_ASSERTION if criteria.nl_assertions:
            judged = reward_info["nl_assertions"]
            if judged is None:
                return f"{count_of(len(criteria.nl_assertions), 'assertion')}, not judged"
            return _share(judged, "met", "assertions hold")
        case _:
            return ""


def _share(checks: Sequence[Mapping[str, Any]] | None, key: str, words: str) -> str:
    return f"{sum(c[key] for c in checks)} of {len(checks)} {words}" if checks else ""
