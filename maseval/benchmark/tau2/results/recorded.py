"""The door by which simulations of other programs come in: a file that yields reports.

Whoever reads a new format writes a ``RecordedReports``. Its reports hold what was recorded, and
nothing is judged yet: that is the same for each format, and for the runs of our own.

After tau2-bench v0.2.0, src/tau2/data_model/simulation.py (MIT, Sierra Research).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from maseval.benchmark.tau2.formats.simulation import RawTask
from maseval.core.exceptions import ResultFileError
from maseval.core.outcome import Simulation
from maseval.core.recorded import Part, RecordedTrace, Shape, mapping, number
from maseval.core.report import Report, TaskExecutionStatus
from maseval.core.task import ChosenSubset
from maseval.core.words import text_or_none

BY_DEFAULT, BY_OPTION, BY_FORM, BY_RUN = "by default", "as asked", "by the file's form", "as run"
MALFORMED = "not in v0.2.0's form"
FILED = "filed"
"""The key of a report for what a file says of a simulation, which is in its release's form."""

OnMalformed = Callable[[ResultFileError], object]


@dataclass
class Claims:
    """The claims of a record about itself. All of them are verified against the benchmark.

    ``planned`` are the simulations of a run's plan. ``version`` is the release of all simulations,
    if there is one, and ``version_from`` says who chose it. ``seed`` is that of the run, from which
    those of its trials follow. ``setup`` has the participants and limits. ``subset`` is set if the
    tasks were chosen to estimate the score of all, ``stopped`` says why a run was not of a fixed
    size, and ``perturb`` what a run was perturbed by, in the form of its configuration.
    """

    name: str | None = None
    domain_name: str | None = None
    tasks: Mapping[str, RawTask] = field(default_factory=dict)
    policy: str | None = None
    num_trials: int | None = None
    planned: Sequence[Simulation] = ()
    version: str | None = None
    version_from: str = BY_DEFAULT
    seed: int | None = None
    setup: Mapping[str, Any] = field(default_factory=dict)
    subset: ChosenSubset | None = None
    stopped: str | None = None
    perturb: Mapping[str, object] | None = None

    @property
    def has_plan(self) -> bool:
        """True if the record says which simulations there should be.

        Simulations from anywhere, such as lines of a file, may be of several runs.
        """
        return bool(self.tasks or self.planned or self.num_trials)

    @property
    def expected(self) -> int:
        """The number of simulations that there should be; 0 if it has no plan."""
        return len(self.planned) or len(self.tasks) * (self.num_trials or 0)


class RecordedReports(Protocol):
    """Reports as they were recorded, which can be judged again."""

    @property
    def claims(self) -> Claims: ...
    def reports(self, on_malformed: OnMalformed | None = None) -> Iterator[Report]:
        """Yield a report for each simulation, one in memory at a time.

        A simulation that is not in the form of the file goes to ``on_malformed`` as an error, and
        comes as ``report_of_malformed`` if it names its task. An error in the file itself is
        raised.
        """


def report_of_recorded(
    simulation: Shape,
    *,
    domain: str | None = None,
    solo: bool = False,
    verdict: Shape | None = None,
) -> dict[str, Any]:
    """Return a report on a simulation of a file, with the ``verdict`` beside it, or its own."""
    recorded = {**simulation, "reward_info": verdict or simulation.get("reward_info")}
    return {
        **report_of_simulation(recorded, domain=domain or ""),
        "traces": {"environment": {"domain": domain, "simulation": simulation}},
        "config": {"environment": {"domain": domain, "solo": solo}},
        FILED: {},
    }


def report_of_malformed(task_id: object, trial: int | None, domain: str | None) -> dict[str, Any]:
    """Return a report on a simulation of which no more can be read than its name."""
    named: Shape = {"task_id": str(task_id), "trial": trial, "messages": []}
    return {**report_of_recorded(named, domain=domain), FILED: {"problem": MALFORMED}}


# Ends that a verdict follows; after any other the agent was never judged.
_JUDGED = frozenset({"agent_stop", "user_stop", "max_steps", "too_many_errors"})
_BROKEN = {
    "agent_error": TaskExecutionStatus.AGENT_ERROR,
    "user_error": TaskExecutionStatus.USER_ERROR,
    "timeout": TaskExecutionStatus.TASK_TIMEOUT,
    "infrastructure_error": TaskExecutionStatus.ENVIRONMENT_ERROR,
}


class _FileSimulation(RecordedTrace):
    """A simulation in the form of tau2-bench; ``info`` tells why it broke, if it did."""

    task_id = Part(str)
    trial = Part(lambda value: int(number(value) or 0))
    ended = Part(lambda value: str(value or ""), "termination_reason")
    verdict = Part(mapping, "reward_info")
    seconds = Part(lambda value: number(value) or 0.0, "duration")
    error = Part(text_or_none, "info", "error")
    error_type = Part(text_or_none, "info", "error_type")
    traceback = Part(text_or_none, "info", "error_traceback")


def report_of_simulation(simulation: Shape, *, domain: str = "") -> dict[str, object]:
    """Return a report on a simulation, with the verdict that it has."""
    given = _FileSimulation(simulation)
    broken = _BROKEN.get(given.ended, TaskExecutionStatus.UNKNOWN_EXECUTION_ERROR)
    return {
        "task_id": given.task_id,
        "repeat_idx": given.trial,
        "status": (TaskExecutionStatus.SUCCESS if given.ended in _JUDGED else broken).value,
        "error": _error(given),
        "traces": {"environment": {"domain": domain, "simulation": simulation}},
        "config": {},
        "usage": {"models": _usage(given)},
        "eval": evaluations(given.verdict, given.ended),
        "task": task_in_report(domain, None),
        "final_answer": None,
        "run_id": "",
        "started_at": given.start_time or simulation.get("timestamp"),
        "duration_seconds": given.seconds,
        "seed": simulation.get("seed"),
        "attempts": [],
    }


def evaluations(verdict: Shape | None, ended: object) -> list[dict[str, object]]:
    """Return a verdict as the results of the evaluators of a report."""
    if not verdict:
        return []
    reward = number(verdict.get("reward"))
    return [{"reward": reward, "termination_reason": ended, "reward_info": verdict}]


def _error(given: _FileSimulation) -> dict[str, object] | None:
    if given.ended in _JUDGED:
        return None
    ended = given.ended or "no termination reason"
    return {
        "error_type": given.error_type or given.ended or "unknown",
        "error_message": given.error or f"the simulation ended with {ended}",
        "traceback": given.traceback,
    }


def _usage(given: _FileSimulation) -> dict[str, dict[str, float | None]]:
    """Return the cost of each side, and its tokens as far as its messages count them.

    The original writes a cost of zero for a model whose price it does not know.
    """
    used: dict[str, dict[str, float | None]] = {}
    for side, role in (("agent", "assistant"), ("user", "user")):
        own = [each for each in given.messages if each.role == role and each.usage]
        used[f"{side}_model"] = {
            "cost": (given.agent_cost if side == "agent" else given.user_cost) or None,
            "input_tokens": int(sum(message.input_tokens or 0 for message in own)),
            "output_tokens": int(sum(message.output_tokens or 0 for message in own)),
        }
    return used


def task_in_report(domain: str, task: Shape | None) -> dict[str, object]:
    """Return what a report shows of a task."""
    given = {} if task is None else task
    metadata = {
        "domain": domain or None,
        "description": given.get("description"),
        "user_scenario": given.get("user_scenario"),
    }
    known = {key: value for key, value in metadata.items() if value is not None}
    return {"query": "", "metadata": known, "protocol": {}}
