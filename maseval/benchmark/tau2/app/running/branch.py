"""``maseval tau2 branch``: another way on from a message of a recorded conversation."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from maseval.app.results.origins import ORIGIN
from maseval.app.results.results import RunResult
from maseval.app.running.options import takes
from maseval.benchmark.tau2.app.running.branch_options import BranchOptions
from maseval.benchmark.tau2.app.running.branch_setup import options_for
from maseval.benchmark.tau2.app.running.cast import CastBenchmark
from maseval.benchmark.tau2.app.running.origin import Origin, Recalled, find_origin
from maseval.benchmark.tau2.app.running.participants import OwnAgent
from maseval.benchmark.tau2.app.running.prepared import PreparedRun
from maseval.benchmark.tau2.app.running.retelling import check_agent, check_retelling
from maseval.benchmark.tau2.app.running.run import run_prepared
from maseval.benchmark.tau2.conversation.continuation import Continuation
from maseval.benchmark.tau2.data_loader import load_raw_tasks
from maseval.benchmark.tau2.domains import domain_named
from maseval.core.exceptions import ConfigurationError
from maseval.core.seeding import SeedGenerator
from maseval.server import ModelServer
from maseval.stats.intervals import Interval, wilson


@dataclass(frozen=True)
class BranchResult:
    """The run that continues a conversation, and the chance to pass from that point on."""

    origin: Origin
    run: RunResult
    passed: int
    judged: int

    @property
    def chance(self) -> float | None:
        """The share of simulations with a verdict that passed; None if there is none."""
        return self.passed / self.judged if self.judged else None

    @property
    def interval(self) -> Interval:
        """Wilson's interval: the simulations are independent, and of one task."""
        return wilson(self.passed, self.judged)

    def to_dict(self) -> dict[str, object]:
        """The one object that ``--json`` prints."""
        chance = {
            "passed": self.passed,
            "judged": self.judged,
            "value": self.chance,
            "low": self.interval.low,
            "high": self.interval.high,
            "level": self.interval.level,
            "method": self.interval.method,
        }
        return {ORIGIN: self.origin.to_config(), "chance": chance, **self.run.to_dict()}


@takes(BranchOptions)
def branch(options: BranchOptions) -> BranchResult:
    """Continue a recorded conversation from one of its messages, live, into a run of its own.

    Up to that message everything is as recorded: the world, what both sides have seen, the steps
    and the seeds. ``run`` is a run or a results file of tau2-bench.
    """
    origin = find_origin(
        options.run,
        options.task,
        options.trial,
        options.at,
        domain=options.of_domain,
        data_version=options.data_version or None,
    )
    prepared = _prepared(options, origin)
    prepared.check()
    setup = prepared.setup
    (task,) = (task for tasks in prepared.tasks.values() for task in tasks)
    environment = check_retelling(setup, task, origin.past, lenient=options.lenient)
    if isinstance(setup.agent, OwnAgent):
        check_agent(setup.agent, environment, origin.past)
    result = run_prepared(
        prepared,
        lambda server: BranchBenchmark(prepared, origin, server, lenient=options.lenient),
    )
    overall = result.summary.overall
    judged = overall.recorded - overall.failed - result.summary.unjudged
    return BranchResult(origin, result, overall.passed, judged)


def _prepared(options: BranchOptions, origin: Origin) -> PreparedRun:
    prepared = PreparedRun.of(options_for(options, origin.recalled, _split_of(origin.recalled)))
    path = prepared.path
    if options.output is None:
        path = path.with_name(f"{path.name}-from-m{origin.at}")
    lenient = {"lenient": True} if options.lenient else {}
    return replace(prepared, path=Path(path), origin={**origin.to_config(), **lenient})


def _split_of(recalled: Recalled) -> str:
    """Which of the domain's files has the task: telecom's sampled tasks are in its full set."""
    domain, task_id, _ = recalled.simulation
    splits = dict.fromkeys(["base", *domain_named(domain).task_files])
    for split in splits:
        tasks = load_raw_tasks(domain, split, version=recalled.version)
        if any(str(task["id"]) == task_id for task in tasks):
            return split
    raise ConfigurationError(
        f"{domain} has no task {task_id!r} in tau2-bench {recalled.version}, so the conversation "
        "cannot be continued; --data-version names another release"
    )


class BranchBenchmark(CastBenchmark):
    """tau2 whose conversations begin as a recorded one did.

    Its first simulation has the seeds of the recorded trial, and each further one those of the
    next.
    """

    def __init__(
        self,
        prepared: PreparedRun,
        origin: Origin,
        rehearsals: ModelServer | None = None,
        *,
        lenient: bool = False,
    ) -> None:
        super().__init__(prepared.setup, rehearsals, prepared.prices)
        self.orchestrator = partial(Continuation, past=origin.past, lenient=lenient)
        self._first_trial = origin.recalled.simulation.trial

    def seeds(self, seed_generator: SeedGenerator) -> SeedGenerator:
        repeat = seed_generator.gather_config().get("rep_index")
        number = repeat if isinstance(repeat, int) else 0
        return seed_generator.for_repetition(self._first_trial + number)
