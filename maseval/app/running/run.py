"""``maseval run``: any benchmark, into a run folder."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from maseval.app.results.results import RunResult
from maseval.app.running.folder_run import FolderRun, as_file_name, budget_of, path_of, prices_of
from maseval.app.running.options import ExtraArguments, recorded_values, takes
from maseval.app.running.own_benchmarks import OwnBenchmark, by_domain, fingerprints, tasks_to_run
from maseval.app.running.prices import AgentPrices
from maseval.app.running.run_options import BenchmarkRunOptions
from maseval.core.benchmark import Benchmark
from maseval.core.exceptions import ConfigurationError
from maseval.core.reasoning import ReasoningPolicy
from maseval.core.task import ChosenSubset, Task
from maseval.runs import subset_config, task_ids

AGENT_DATA = "AGENT_DATA"


@takes(BenchmarkRunOptions)
def run(options: BenchmarkRunOptions) -> RunResult:
    """Run the tasks of a benchmark into a folder, or resume the run that is there.

    ``benchmark`` is ``FILE.py:NAME`` or ``package.module:NAME``, or the thing itself: a subclass of
    ``Benchmark``, a function that returns one, or one that is made already. ``display`` shows the
    progress for as long as the context it returns is open. ``command`` is noted as how the run was
    started.
    """
    return PreparedBenchmarkRun.of(options).execute()


@dataclass(frozen=True)
class PreparedBenchmarkRun(FolderRun):
    """A benchmark with the tasks and agents of a run."""

    options: BenchmarkRunOptions
    own: OwnBenchmark
    tasks: list[Task]
    subset: ChosenSubset | None
    agent_data: ExtraArguments | None

    @classmethod
    def of(cls, options: BenchmarkRunOptions) -> "PreparedBenchmarkRun":
        """Prepare the run that the options ask for; raise for options that make no sense."""
        seed = {} if options.seed is None else {"seed": options.seed}
        own = OwnBenchmark.of(options.benchmark, {**(options.set or {}), **seed})
        return cls(
            options,
            budget_of(options),
            prices_of(options),
            path_of(options, as_file_name(own.name.replace(".py:", "-"))),
            own,
            *tasks_to_run(own, options),
            _agent_data(own, options),
        )

    def execute(self) -> RunResult:
        """Run what is missing, domain by domain."""
        benchmark, options = self.own.benchmark, self.options
        benchmark.num_workers = options.concurrency
        benchmark.use_prices(AgentPrices(self.prices))
        if options.reasoning is not None:
            benchmark.reasoning_policy = ReasoningPolicy.of(options.reasoning)
        parts = by_domain(self.tasks)
        return self.run(benchmark, parts, self.agent_data, time_limit=options.timeout)

    def has_listeners(self, benchmark: Benchmark) -> bool:
        return bool(benchmark.callbacks or benchmark.callback_handler.callbacks)

    @cached_property
    def config(self) -> dict[str, object]:
        """The run's configuration."""
        options = self.options
        return {
            **self.own.to_config(),
            "tasks": task_ids(self.tasks),
            **subset_config(self.subset),
            **options.question_config(task_ids(self.tasks)),
            "data": fingerprints(self.tasks),
            "set": dict(options.set or {}),
            "agent": None if self.agent_data is None else dict(self.agent_data),
            **({"reasoning_policy": options.reasoning} if options.reasoning else {}),
            **recorded_values(options),
        }


def _agent_data(own: OwnBenchmark, options: BenchmarkRunOptions) -> dict[str, Any] | None:
    """Add what is given to ``AGENT_DATA`` of the benchmark's module; None if there is neither."""
    usual = getattr(own.home, AGENT_DATA, None)
    if usual is not None and not isinstance(usual, Mapping):
        raise ConfigurationError(f"{AGENT_DATA} of {own.name} is {usual!r}; it must be a dict")
    if usual is None and not options.agent_data:
        return None
    return {**(usual or {}), **(options.agent_data or {})}
