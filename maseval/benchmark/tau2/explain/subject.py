"""What is to be explained: a recorded simulation and its verdict."""

from collections.abc import Mapping
from typing import NamedTuple

from maseval.benchmark.tau2.conversation.recording import HasSimulation, read_recording
from maseval.benchmark.tau2.domains import Domain, domain_named
from maseval.benchmark.tau2.domains.releases import AnyVersion
from maseval.benchmark.tau2.formats.simulation import RewardInfo
from maseval.benchmark.tau2.scoring.case import AnyTask, Case, case_of, release_of_task
from maseval.benchmark.tau2.scoring.judge import NoJudgeError
from maseval.benchmark.tau2.scoring.score import score
from maseval.core.model import ModelAdapter
from maseval.core.outcome import is_successful
from maseval.data.store import AnyPath


class Subject(NamedTuple):
    """A conversation in its world, and what the checks said."""

    case: Case
    reward_info: RewardInfo


def subject_of(
    simulation: Mapping[str, object] | HasSimulation,
    domain: str | Domain,
    task: AnyTask | None = None,
    *,
    solo: bool = False,
    nl_model: ModelAdapter | None = None,
    data_dir: AnyPath | None = None,
    version: AnyVersion = None,
) -> Subject:
    """Read a simulation, find its task, and score it."""
    release = release_of_task(domain, task, version)
    recording = read_recording(
        simulation, messages_required=release.rules.evaluation.messages_required
    )
    chosen = domain_named(domain)
    case = case_of(
        recording,
        chosen,
        task,
        solo=solo,
        data_dir=data_dir,
        release=release,
        lenient_replay=release.rules.replay.can_be_lenient,  # as in any grading after the run
    )
    return Subject(case, _verdict(case, nl_model))


def _verdict(case: Case, nl_model: ModelAdapter | None) -> RewardInfo:
    """The verdict; where no judge could turn a failure, also without one."""
    try:
        return score(case, nl_model=nl_model).reward_info
    except NoJudgeError as error:
        if error.so_far is None or is_successful(error.so_far["reward"]):
            raise
        return error.so_far
