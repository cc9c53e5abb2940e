"""``maseval tau2 run``: simulations into a run folder."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Self

from maseval.app.results.recording import ORIGIN
from maseval.app.results.results import RunResult
from maseval.app.running.folder_run import FolderRun, as_file_name, budget_of, path_of
from maseval.app.running.options import takes
from maseval.app.running.prices import Prices, PriceTable
from maseval.app.running.probe import probe
from maseval.benchmark.tau2.app.running.cast import CastBenchmark
from maseval.benchmark.tau2.app.running.options import RunOptions
from maseval.benchmark.tau2.app.running.participants import ModelSpec, OwnAgent, SeatedHuman
from maseval.benchmark.tau2.app.running.setup import RunSetup
from maseval.benchmark.tau2.app.running.tasks import (
    TasksByDomain,
    named_domain,
    own_domains,
    select_tasks,
)
from maseval.benchmark.tau2.data_loader import data_fingerprint
from maseval.core.agent import HUMAN
from maseval.core.exceptions import MASEvalError
from maseval.runs import task_ids
from maseval.server import ModelServer


@dataclass(frozen=True)
class PreparedRun(FolderRun):
    """Who takes part in which tasks, at which prices, and where it is kept."""

    options: RunOptions  # with each domain by its name
    setup: RunSetup
    tasks: TasksByDomain
    priced: PriceTable
    origin: Mapping[str, object] | None = None  # of a run that continues another's conversation

    @classmethod
    def of(cls, options: RunOptions) -> Self:
        """What the options mean; raises for what makes no sense."""
        options = replace(options, domain=[named_domain(name) for name in options.domains])
        setup = RunSetup.of(options)
        budget, prices = budget_of(options), Prices.of(options.prices)
        tasks = select_tasks(
            options.domains,
            split=options.split,
            task_ids=options.task_id,
            num_tasks=options.num_tasks,
            timeout=setup.deadline,
            data_version=options.data_version,
        )
        for each in tasks.values():
            setup.assign_models(each)
        priced = PriceTable.of(prices, [(m.model_id, m.options) for m in setup.paid_models])
        path = path_of(options, "+".join(options.domains), as_file_name(_title(setup)))
        return cls(options, budget, prices, path, setup, tasks, priced)

    @cached_property
    def config(self) -> dict[str, object]:
        """The run's configuration."""
        own = own_domains(self.tasks)
        return {
            "tasks": task_ids(task for each in self.tasks.values() for task in each),
            "data": {
                domain: data_fingerprint(domain, version=self.setup.options.data_version)
                for domain in self.tasks
            },
            **({"own_domains": own} if own else {}),
            **self.setup.to_config(),
            **self.priced.to_config(),
            **({ORIGIN: dict(self.origin)} if self.origin else {}),
        }

    def check(self) -> None:
        """Raise now what would make every simulation fail."""
        for problem in self.problems():
            raise problem

    def problems(self) -> Iterator[MASEvalError]:
        """Why the run would be refused."""
        for check in (self._check_mode, self.setup.check_models, self._check_budget):
            try:
                check()
            except MASEvalError as error:
                yield error

    def _check_mode(self) -> None:
        self.setup.check_mode(self.tasks)

    def _check_budget(self) -> None:
        if self.budget is not None:
            self.budget.check_watchable(self.priced.unknown)


def _title(setup: RunSetup) -> str:
    title = _title_of(setup.agent)
    return f"{title}-for-{HUMAN}" if isinstance(setup.user, SeatedHuman) else title


def _title_of(agent: ModelSpec | OwnAgent | SeatedHuman | str) -> str:
    match agent:
        case SeatedHuman():
            return HUMAN
        case ModelSpec():
            return agent.model_id
        case OwnAgent():
            rehearsed = f"-rehearsed-{agent.rehearse}" if agent.rehearse else ""
            return agent.name.replace(".py:", "-") + rehearsed
        case _:
            return agent


@takes(RunOptions)
def run(options: RunOptions) -> RunResult:
    """Run tau2 tasks into a folder, or resume the run that is there.

    ``agent`` may also be a function of an ``AgentBrief``. ``display`` shows the progress for as
    long as the context it returns is open. ``command`` is noted as how the run was started.
    """
    prepared = PreparedRun.of(options)
    prepared.check()
    return run_prepared(prepared)


def run_prepared(
    prepared: PreparedRun, make: Callable[[ModelServer | None], CastBenchmark] | None = None
) -> RunResult:
    """Run what is missing of a run that has been prepared and checked.

    ``make`` gets the server of a rehearsal's models; without it the benchmark is the usual one.
    """
    options, setup = prepared.options, prepared.setup
    if options.probe and prepared.missing():
        probe(setup.probes)
    with ModelServer() if options.rehearse else nullcontext() as server:
        usual = partial(CastBenchmark, setup, prices=prepared.prices)
        benchmark = (make or usual)(server)
        # Domain by domain, because each has a task "1".
        result = prepared.run(
            benchmark,
            prepared.tasks.values(),
            benchmark.agent_data,
            turn=None if options.runs_elsewhere else benchmark.turn,
            priced=bool(prepared.priced.known),
            time_limit=setup.deadline,
            on_folder=benchmark.keep_judgements_in,
        )
        notes = (benchmark.rehearsal.notes(), benchmark.time_notes(), judge_notes(result))
        return replace(result, notes=[*(note for each in notes for note in each), *result.notes])


def judge_notes(result: RunResult) -> list[str]:
    """How simulations get a verdict that wait for one."""
    waiting = result.summary.unjudged
    if not waiting:
        return []
    return [
        f"{waiting} simulations wait for a judge; `maseval tau2 score {result.folder} "
        "--judge-model MODEL` judges them"
    ]
