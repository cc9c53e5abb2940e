"""``maseval tau2 run``: simulations into a run folder.

``PreparedRun.of`` turns options into everything a run needs: its participants, its tasks, its
prices and its folder. ``check`` raises what would make every simulation fail, before anything is
written or paid for. ``execute`` runs what is missing in the folder. The commands ``play``,
``branch``, ``mcp`` and ``plan`` begin with the same object.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Self

from maseval.app.results.recording import ORIGIN
from maseval.app.results.results import RunResult
from maseval.app.running.folder_run import FolderRun, path_of
from maseval.app.running.options import takes
from maseval.app.running.prices import PriceTable
from maseval.app.running.probe import probe
from maseval.benchmark.tau2.app.results.support import SUPPORT
from maseval.benchmark.tau2.app.running.options import RunOptions
from maseval.benchmark.tau2.app.running.run_benchmark import RecordedStart, RunBenchmark
from maseval.benchmark.tau2.app.running.setup import ModelSpec, OwnAgent, RunSetup
from maseval.benchmark.tau2.app.running.tasks import (
    TasksByDomain,
    broken_golds,
    chosen_tasks,
    code_of_domains,
    domain_name,
    own_domain_origins,
    select_tasks,
)
from maseval.benchmark.tau2.data_loader import data_fingerprint
from maseval.benchmark.tau2.players.human import Person
from maseval.core.agent import HUMAN
from maseval.core.benchmark import Benchmark
from maseval.core.engine.engines import PROCESSES
from maseval.core.exceptions import MASEvalError
from maseval.core.task import ChosenSubset
from maseval.core.words import count_of
from maseval.runs import subset_config, task_ids
from maseval.runs.config import CODE
from maseval.server import ModelServer

logger = logging.getLogger(__name__)


@takes(RunOptions)
def run(options: RunOptions) -> RunResult:
    """Run tau2 tasks into a folder, or resume the run that is there.

    ``agent`` may also be a function of an ``AgentBrief``. ``display`` shows the progress for as
    long as the context it returns is open. ``command`` is noted as how the run was started.
    """
    prepared = PreparedRun.of(options)
    prepared.check()
    return prepared.execute()


@dataclass(frozen=True)
class PreparedRun(FolderRun):
    """The participants, tasks and prices of a run, and the folder it is kept in.

    ``start`` and ``origin`` are those of a run that continues a recorded conversation.
    """

    options: RunOptions  # with each domain by its name
    setup: RunSetup
    tasks: TasksByDomain
    start: RecordedStart | None = None
    origin: Mapping[str, object] | None = None
    subset: ChosenSubset | None = None

    @classmethod
    def of(cls, options: RunOptions) -> Self:
        """Prepare the run that the options ask for; raises ``ConfigurationError``."""
        options = replace(options, domain=[domain_name(name) for name in options.domains])
        setup = RunSetup.of(options)
        tasks = select_tasks(
            options.domains,
            split=options.split,
            task_ids=options.task_id,
            num_tasks=options.num_tasks,
            timeout=setup.deadline,
            data_version=options.data_version,
        )
        subset = None
        if options.anchor_points is not None:
            tasks, subset = chosen_tasks(tasks, options.anchor_points)
        for each in tasks.values():
            setup.assign_models(each)
        path = path_of(options, "+".join(options.domains), title=_title(setup))
        return cls(options, path, setup, tasks, subset=subset)

    @cached_property
    def priced(self) -> PriceTable:
        """The prices of the models that take part."""
        return PriceTable.of(self.prices, [each[:2] for each in self.setup.probes])

    @cached_property
    def config(self) -> dict[str, object]:
        """The run's configuration."""
        own = own_domain_origins(self.tasks)
        tasks = task_ids(task for each in self.tasks.values() for task in each)
        agent = self.setup.agent
        code = code_of_domains(self.tasks, agent.make if isinstance(agent, OwnAgent) else None)
        return {
            "tasks": tasks,
            **subset_config(self.subset),
            **self.options.question_config(tasks),
            "data": {
                domain: data_fingerprint(domain, version=self.options.data_version)
                for domain in self.tasks
            },
            **({"own_domains": own} if own else {}),
            **({CODE: code} if code else {}),
            **self.setup.to_config(),
            **self.priced.to_config(),
            **({ORIGIN: dict(self.origin)} if self.origin else {}),
        }

    def problems(self) -> Iterator[MASEvalError]:
        """Yield the errors with which the run would be refused."""
        checks: list[Callable[[], None]] = [
            partial(self.setup.check_mode, self.tasks),
            self.setup.check_models,
        ]
        if self.budget is not None:
            checks.append(partial(self.budget.check_watchable, self.priced.unknown))
        for check in checks:
            try:
                check()
            except MASEvalError as error:
                yield error

    def warnings(self) -> Iterator[str]:
        """Yield what must be known before the run is paid for."""
        yield from SUPPORT.warnings(self.config)
        yield from broken_golds(self.tasks)

    def execute(self) -> RunResult:
        """Run the simulations that are missing in the folder."""
        if self._needs_all_cores():
            # No provider is asked: a few at once would have processes wait for their next one.
            most = max(self.options.concurrency, _KEEPING_CORES_BUSY)
            options = replace(self.options, engine=PROCESSES, concurrency=most)
            setup = replace(self.setup, options=options)
            return replace(self, options=options, setup=setup).execute()
        for words in self.warnings():
            logger.warning(words)
        options = self.options
        probes = self.setup.probes
        if options.probe and probes and self.missing():
            probe(probes)
        with ModelServer() if options.rehearse else nullcontext() as server:
            benchmark = RunBenchmark(self.setup, self.prices, server, self.start)
            if options.runs_elsewhere:
                # Before processes are forked, as each of them would look for it by itself.
                for task in [each[0] for each in self.tasks.values() if each]:
                    benchmark.wording(benchmark.release_of_task(task)).to_config()
            # Domain by domain, because each has a task "1".
            result = self.run(benchmark, self.tasks.values(), benchmark.agent_data)
            return replace(
                result, notes=[*benchmark.notes(), *_notes_on_judges(result), *result.notes]
            )

    @property
    def knows_prices(self) -> bool:
        return bool(self.priced.known)

    @property
    def time_limit(self) -> float | None:
        return self.setup.deadline

    def begin(self, benchmark: Benchmark, folder: Path) -> None:
        super().begin(benchmark, folder)
        assert isinstance(benchmark, RunBenchmark)
        benchmark.keep_judgements_in(folder)

    def _needs_all_cores(self) -> bool:
        """Return True if nobody chose an engine for many simulations that wait for no model.

        Programs that call this are imported by their worker processes, and must choose.
        """
        options, setup = self.options, self.setup
        return (
            options.engine is None
            and options.processes is None
            and options.command is not None
            and isinstance(setup.agent, str)
            and not (setup.models or self.start or own_domain_origins(self.tasks))
            and not isinstance(setup.user, Person)
            and len(self.missing()) >= _MANY
        )


# From here on two processes are faster than one, with the time that they take to start.
_MANY = 2_000
_KEEPING_CORES_BUSY = 64


def _notes_on_judges(result: RunResult) -> list[str]:
    waiting = result.summary.unjudged
    if not waiting:
        return []
    return [
        f"still to be judged: {count_of(waiting, 'simulation')}; `maseval score "
        f"{result.folder} "
        "--judge-model MODEL` does it"
    ]


def _title(setup: RunSetup) -> str:
    """Return the part of a new folder's name that says who takes part."""
    match setup.agent:
        case Person():
            title = HUMAN
        case ModelSpec(model_id):
            title = model_id
        case OwnAgent() as own:
            rehearsed = f"-rehearsed-{own.rehearse}" if own.rehearse else ""
            title = own.name.replace(".py:", "-") + rehearsed
        case scripted:
            title = scripted
    return f"{title}-for-{HUMAN}" if isinstance(setup.user, Person) else title
