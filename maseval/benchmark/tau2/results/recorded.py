"""The door by which simulations of other programs come in: a file that yields reports.

Whoever reads a new format writes a ``RecordedFile``. Its reports hold what was recorded, and
nothing is judged yet: that is the same for each format, and for the runs of our own.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from maseval.benchmark.tau2.formats.simulation import RawTask
from maseval.benchmark.tau2.results.simulations import report_of_simulation
from maseval.core.exceptions import ResultFileError
from maseval.core.outcome import Simulation
from maseval.core.recorded import Shape
from maseval.core.report import Report
from maseval.core.task import ChosenSubset

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


class RecordedFile(RecordedReports, Protocol):
    """A file of simulations; reports come from ``report_of_recorded``.

    ``raw_info`` has its settings in the form of a results file, so far as they are known.
    """

    @property
    def path(self) -> Path: ...
    @property
    def raw_info(self) -> Mapping[str, object]: ...


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
