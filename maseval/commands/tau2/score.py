"""``maseval tau2 score``: recorded conversations judged again, and compared with their record."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from maseval.benchmark.tau2.data_loader import UnknownTaskError
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.forms.reward import RewardInfo, replay_problem
from maseval.benchmark.tau2.results import RecordedSimulation
from maseval.benchmark.tau2.scoring.judge import NoJudgeError
from maseval.benchmark.tau2.scoring.score import VERDICT, score_simulation
from maseval.commands.tau2.sources import SimulationSource, add_one, open_source
from maseval.core.exceptions import MASEvalError
from maseval.core.outcome import is_successful
from maseval.stats.estimation import Estimate, pass_hat_estimates
from maseval.stats.trials import count_trials


@dataclass(frozen=True)
class Disagreement:
    """A simulation whose verdict differs from the recorded one, and where."""

    task_id: str
    trial: int | None
    differences: Sequence[str]


@dataclass
class FileScore:
    """One file or run, judged again.

    ``agreeing`` of ``compared`` verdicts are equal; ``skipped`` counts, by reason, what could not
    be compared. ``pass_hat`` is of the new verdicts.
    """

    path: Path
    simulations: int = 0
    compared: int = 0
    agreeing: int = 0
    recorded_passes: int = 0
    passes: int = 0
    not_replayable: int = 0
    disagreements: list[Disagreement] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)
    pass_hat: Mapping[int, Estimate] = field(default_factory=dict)

    def to_dict(self) -> dict[str, object]:
        """In JSON's terms."""
        return {
            "path": str(self.path),
            "simulations": self.simulations,
            "compared": self.compared,
            "agreeing": self.agreeing,
            "passed_as_recorded": self.recorded_passes,
            "passed": self.passes,
            "not_replayable": self.not_replayable,
            "skipped": self.skipped,
            "disagreements": [
                {"task_id": one.task_id, "trial": one.trial, "differences": list(one.differences)}
                for one in self.disagreements
            ],
            **{f"pass^{k}": estimate.in_brief() for k, estimate in self.pass_hat.items()},
        }


def score(
    files: Sequence[str | os.PathLike[str]],
    *,
    strict: bool = False,
    on_progress: Callable[[FileScore], object] | None = None,
) -> list[FileScore]:
    """Judge the simulations of run folders and results files again, by the rules of v0.2.0.

    With ``strict`` a conversation that cannot be replayed raises what the original raises, and is
    shown as a disagreement; without it the reward is 0. ``on_progress`` is called after every
    simulation.
    """
    return [_scored(open_source(file), strict, on_progress or (lambda _: None)) for file in files]


def _scored(
    source: SimulationSource, strict: bool, on_progress: Callable[[FileScore], object]
) -> FileScore:
    result = FileScore(source.path, skipped=source.skipped)
    verdicts: list[tuple[str, bool]] = []
    for recorded, domain in source.records():
        result.simulations += 1
        found = _verdict(recorded, domain, source.tasks, strict)
        if isinstance(found, str):
            add_one(result.skipped, found)
        else:
            _compare(result, recorded, found)
            key = f"{recorded.domain}/{recorded.simulation['task_id']}"
            verdicts.append((key, _passes(found)))
        on_progress(result)
    result.pass_hat = pass_hat_estimates([*count_trials(verdicts).values()])
    return result


def _verdict(
    recorded: RecordedSimulation,
    domain: Domain | None,
    tasks: Mapping[str, Mapping[str, object]],
    strict: bool,
) -> RewardInfo | Exception | str:
    """The new verdict, what it raised, or why there is none."""
    if domain is None:
        return "it does not name its domain"
    simulation = recorded.simulation
    try:
        return score_simulation(
            simulation,
            domain=domain,
            task=tasks.get(simulation["task_id"]),
            solo=recorded.solo,
            strict=strict,
        )
    except NoJudgeError:
        return "its verdict needs a judge model"
    except UnknownTaskError:
        return f"{domain.name} has no such task"
    except MASEvalError:
        raise
    except Exception as error:  # strict: what the original raises for a conversation is a finding
        if not strict:
            raise
        return error


def _passes(found: RewardInfo | Exception) -> bool:
    return not isinstance(found, Exception) and is_successful(found["reward"])


def _compare(
    result: FileScore, recorded: RecordedSimulation, found: RewardInfo | Exception
) -> None:
    result.passes += _passes(found)
    replay_error = None if isinstance(found, Exception) else replay_problem(found)
    result.not_replayable += replay_error is not None
    if recorded.verdict is None:
        add_one(result.skipped, "it has no recorded verdict")
        return
    result.compared += 1
    result.recorded_passes += is_successful(recorded.verdict["reward"])
    differences = list(_differences(found, recorded.verdict))
    if not differences:
        result.agreeing += 1
        return
    if replay_error:
        differences.append(f"it cannot be replayed: {replay_error['error']}")
    simulation = recorded.simulation
    result.disagreements.append(
        Disagreement(simulation["task_id"], simulation.get("trial"), differences)
    )


def _differences(found: RewardInfo | Exception, recorded: Mapping[str, object]) -> Iterable[str]:
    if isinstance(found, Exception):
        yield f"raises {type(found).__name__}: {found}"
        return
    verdict: Mapping[str, object] = found
    for key in VERDICT:
        if verdict.get(key) != recorded.get(key):
            yield f"{key}: now {verdict.get(key)!r}, recorded {recorded.get(key)!r}"
