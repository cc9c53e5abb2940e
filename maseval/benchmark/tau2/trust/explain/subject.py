"""What is to be explained: a recorded simulation and its verdict."""

from collections.abc import Mapping
from typing import NamedTuple

from maseval.benchmark.tau2.conversation.recording import HasSimulation, read_recording
from maseval.benchmark.tau2.data.store import AnyPath
from maseval.benchmark.tau2.domains import Domain, domain_named
from maseval.benchmark.tau2.forms.reward import RewardInfo
from maseval.benchmark.tau2.scoring.case import AnyTask, Case, case_of
from maseval.benchmark.tau2.scoring.score import score
from maseval.core.model import ModelAdapter


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
) -> Subject:
    """Read a simulation, find its task, and score it."""
    recording = read_recording(simulation)
    case = case_of(recording, domain_named(domain), task, solo=solo, data_dir=data_dir)
    return Subject(case, score(case, nl_model=nl_model).reward_info)
