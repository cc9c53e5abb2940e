"""A conversation with its verdict, and what is known to be wrong with its task."""

from collections.abc import Mapping
from typing import NamedTuple, TypedDict

from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.releases import AnyVersion
from maseval.benchmark.tau2.formats.simulation import RewardInfo
from maseval.benchmark.tau2.review.errata import Erratum, errata_for
from maseval.benchmark.tau2.review.errata.sound import with_corrections
from maseval.benchmark.tau2.scoring.case import AnyTask, Case, open_case, release_of_task
from maseval.benchmark.tau2.scoring.judge import NoJudgeError
from maseval.benchmark.tau2.scoring.score import score
from maseval.core.model import ModelAdapter
from maseval.core.report_parts import is_successful
from maseval.data.folder import AnyPath


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
    simulation: Mapping[str, object],
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
    release = release_of_task(domain, task, version)
    errata = errata_for(case.setting.domain, str(case.raw_task.get("id")), release, task)
    return score_opened(case, errata, nl_model)


def score_opened(
    case: Case, errata: tuple[Erratum, ...], nl_model: ModelAdapter | None = None
) -> ScoredCase:
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


# A failure that no judge could turn into a pass needs no judge.
def _verdict(case: Case, nl_model: ModelAdapter | None) -> RewardInfo:
    try:
        return score(case, nl_model=nl_model).reward_info
    except NoJudgeError as error:
        if error.so_far is None or is_successful(error.so_far["reward"]):
            raise
        return error.so_far
