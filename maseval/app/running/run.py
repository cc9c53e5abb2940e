"""``maseval run``: any benchmark, into a run folder.

``maseval run shopping.py:Shopping`` makes the benchmark once. It is a subclass of ``Benchmark``, a
function that returns one, or one that is made already. Its tasks come from the option ``tasks``,
else from the benchmark: those it was made with, those that its method ``load_tasks`` returns, or
``TASKS`` or ``load_tasks`` in its module. What the module defines comes before what it imports.
"""

import hashlib
import inspect
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from maseval.app.results.names import select_tasks
from maseval.app.results.run_summary import RunResult
from maseval.app.running.briefed import BriefedAgent
from maseval.app.running.code_version import code_of
from maseval.app.running.folder_run import FolderRun, path_of
from maseval.app.running.options import ExtraArguments, takes
from maseval.app.running.own_code import (
    OwnCode,
    load_module,
    load_named,
    member_of,
    qualified_name,
    split_reference,
    title_of,
    way_out,
)
from maseval.app.running.run_options import AnyBenchmark, BenchmarkRunOptions, GeneralRunOptions
from maseval.core.benchmark import Benchmark
from maseval.core.callbacks import ProgressBarCallback
from maseval.core.exceptions import ConfigurationError, MASEvalError
from maseval.core.outcome import TaskKey
from maseval.core.task import (
    AdaptiveTaskQueue,
    BaseTaskQueue,
    ChosenSubset,
    SequentialTaskQueue,
    Task,
)
from maseval.core.task.queues import task_queue
from maseval.core.words import value_or_type
from maseval.runs import subset_config, task_ids
from maseval.runs.config import CODE, DEFAULTS

Maker = Callable[..., Benchmark]

_FORM = "my_benchmark.py:MyBenchmark or package.module:MyBenchmark"
_BENCHMARK = OwnCode("benchmark", "benchmark", _FORM)


@dataclass(frozen=True)
class OwnBenchmark:
    """A benchmark with the module it was found in, and how a run calls it."""

    benchmark: Benchmark
    home: ModuleType | None
    name: str
    code: Mapping[str, object]

    @classmethod
    def of(cls, given: AnyBenchmark, arguments: ExtraArguments, *beside: object) -> "OwnBenchmark":
        """Make the benchmark that was named or given, with ``arguments``.

        What stands ``beside`` takes part in its runs, so that its code is noted as well.
        """
        found, home = _find_benchmark(given)
        code = type(found) if isinstance(found, Benchmark) else found
        benchmark = _without_bar(_make_benchmark(found, arguments))
        home = home or sys.modules.get(getattr(code, "__module__", ""))
        return cls(benchmark, home, _name_of(code), code_of(code, *beside, benchmark=benchmark))


def _find_benchmark(given: AnyBenchmark) -> tuple[Benchmark | Maker, ModuleType | None]:
    if not isinstance(given, str):
        return _check_benchmark(given), None
    place, name = split_reference(given, _BENCHMARK)
    home = load_module(place, _BENCHMARK)
    return _check_benchmark(member_of(home, name, place, _BENCHMARK)), home


def _check_benchmark(found: object) -> Benchmark | Maker:
    if isinstance(found, Benchmark):
        return found
    if isinstance(found, type) and not issubclass(found, Benchmark):
        raise ConfigurationError(
            f"{found.__name__} is not a Benchmark; derive it from maseval.Benchmark"
        )
    if not callable(found):
        raise ConfigurationError(
            f"{value_or_type(found)} is not a benchmark; name a subclass of maseval.Benchmark, "
            "a function that returns one, or an instance"
        )
    return found


def _make_benchmark(found: Benchmark | Maker, arguments: ExtraArguments) -> Benchmark:
    if isinstance(found, Benchmark):
        if arguments:
            raise ConfigurationError(
                f"set has {next(iter(arguments))!r}, but the benchmark is an instance already; "
                "name its class, or a function that returns it"
            )
        return found
    made = call_with(found, arguments, "give them with --set (set=...)")
    if not isinstance(made, Benchmark):
        raise ConfigurationError(
            f"{qualified_name(found)} returned {value_or_type(made)}; it must return a Benchmark"
        )
    return made


def call_with(function: Callable[..., object], arguments: Mapping[str, Any], way: str) -> object:
    """Call a function of the user's; ``way`` is how it gets its arguments."""
    try:
        signature = inspect.signature(function)
        # Tried first, so that a TypeError from inside the function is not taken for a wrong call.
        signature.bind(**arguments)
    except TypeError as error:
        takes = ", ".join(signature.parameters) or "nothing"
        raise ConfigurationError(
            f"{qualified_name(function)} cannot be called: {error}; it takes {takes}: {way}"
        ) from None
    try:
        return function(**arguments)
    except MASEvalError:
        raise
    except Exception as error:  # somebody's own code, which may fail in any way
        why = f"{type(error).__name__}: {error}"
        raise ConfigurationError(
            f"{qualified_name(function)} failed: {why}{way_out(error)}"
        ) from error


def _without_bar(benchmark: Benchmark) -> Benchmark:
    """Remove progress bars: whoever runs it shows the progress."""
    bars = [one for one in benchmark.callbacks if isinstance(one, ProgressBarCallback)]
    for bar in bars:
        benchmark.callbacks.remove(bar)
    return benchmark


def _name_of(code: Maker) -> str:
    """Return ``package.module:Name``, or ``file.py:Name`` of a module that is in no package."""
    module = str(getattr(code, "__module__", ""))
    name = qualified_name(code)
    in_package = "." in module or name.startswith("__init__.py:")
    return f"{module}:{title_of(code)}" if in_package else name


_TASKS = OwnCode(
    "tasks",
    "tasks",
    "tasks.json, my_benchmark.py:TASKS or package.module:load",
)
LOADER, LIST = "load_tasks", "TASKS"


def choose_tasks(
    source: Any, options: GeneralRunOptions, name: str
) -> tuple[list[Task], ChosenSubset | None]:
    """Return the tasks that the options choose, and the mark of some that stand for the whole."""
    tasks = _task_list(source)
    if not tasks:
        raise ConfigurationError(f"{name} has no tasks")
    subset = source.subset if isinstance(source, BaseTaskQueue) else None
    if options.task_id:
        wanted = select_tasks(options.task_id, map(TaskKey.of, tasks))
        tasks = [task for task in tasks if TaskKey.of(task) in wanted]
    # So many of each domain: the first tasks alone are often those of one.
    chosen = [task for part in by_domain(tasks) for task in part[: options.num_tasks]]
    if options.timeout is not None:
        chosen = [
            replace(task, protocol=replace(task.protocol, timeout_seconds=options.timeout))
            for task in chosen
        ]
    return chosen, subset


def by_domain(tasks: Iterable[Task]) -> list[list[Task]]:
    """Group tasks by domain: ids differ within a domain only."""
    found: dict[str, list[Task]] = {}
    for task in tasks:
        found.setdefault(TaskKey.of(task).domain, []).append(task)
    return list(found.values())


def fingerprints(tasks: Iterable[Task]) -> dict[str, str]:
    """Hash each task's content: a run is not mixed of two versions of a task."""
    return {str(TaskKey.of(task)): _digest(task) for task in tasks}


def _task_source(own: OwnBenchmark, options: BenchmarkRunOptions) -> Any:
    found: Any = options.tasks
    if isinstance(found, str | os.PathLike):
        if str(found).endswith(".json"):
            return _read_tasks(Path(found))
        found = load_named(str(found), _TASKS)
    if found is None and len(own.benchmark.tasks):
        return own.benchmark.tasks
    if found is None:
        found = _own_tasks(own)
    if found is not None:
        return call_with(found, {}, "give them defaults") if callable(found) else found
    raise ConfigurationError(
        f"{own.name} has no tasks; define {LIST} or {LOADER}() next to it, give the benchmark a "
        f"method {LOADER}, or name a file: --tasks tasks.json (tasks=...)"
    )


def _own_tasks(own: OwnBenchmark) -> Any:
    """Return the tasks, or what loads them: what the benchmark's file defines comes first."""
    home = own.home.__name__ if own.home else None
    method = getattr(own.benchmark, LOADER, None)
    known = [getattr(own.benchmark, LIST, None), getattr(own.home, LIST, None)]
    loaders = [method, getattr(own.home, LOADER, None)]
    defined = [each for each in loaders if getattr(each, "__module__", None) == home]
    first = [*(each for each in defined if each is method), *known, *defined, *loaders]
    return next((each for each in first if each is not None), None)


def _task_list(tasks: Any) -> list[Task]:
    if isinstance(tasks, AdaptiveTaskQueue):
        raise ConfigurationError(
            f"{type(tasks).__name__} chooses tasks by the results of one process alone, so its run "
            "could not be resumed; give a list of tasks or another queue"
        )
    if isinstance(tasks, BaseTaskQueue):
        listed = tasks.to_list()
    elif isinstance(tasks, Iterable) and not isinstance(tasks, Mapping | str):
        listed = SequentialTaskQueue.from_list(_with_ids(tasks)).to_list()
    else:
        listed = task_queue(tasks).to_list()
    for part in by_domain(listed):
        task_queue(part)  # raises if two have the same id
    return listed


def _with_ids(entries: Iterable[Any]) -> Iterator[Any]:
    """Number dicts without an id: an id made anew at each reading would let no run resume."""
    for number, entry in enumerate(entries):
        unnamed = isinstance(entry, Mapping) and entry.get("id") is None
        yield {**entry, "id": str(number)} if unnamed else entry


def _read_tasks(path: Path) -> list[Task]:
    if not path.is_file():
        raise ConfigurationError(f"there is no file {str(path)!r}")
    queue = SequentialTaskQueue.from_json_file(path)
    text = path.read_text(encoding="utf-8")
    return [  # named as in _with_ids where the file has no id
        task if str(task.id) in text else replace(task, id=str(number))
        for number, task in enumerate(queue.to_list())
    ]


def _digest(task: Task) -> str:
    content = (task.query, task.environment_data, task.user_data, task.evaluation_data)
    # What JSON cannot hold counts by its kind: its text may hold an address in memory.
    text = json.dumps(content, sort_keys=True, default=lambda value: type(value).__name__)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


AGENT_DATA = "AGENT_DATA"


@takes(BenchmarkRunOptions)
def run(options: BenchmarkRunOptions) -> RunResult:
    """Run the tasks of a benchmark into a folder, or resume the run that is there.

    ``benchmark`` is ``FILE.py:NAME`` or ``package.module:NAME``, or the thing itself: a subclass of
    ``Benchmark``, a function that returns one, or one that is made already. ``display`` shows the
    progress for as long as the context it returns is open. ``command`` is noted as how the run was
    started.
    """
    return prepare(options).execute()


@dataclass(frozen=True)
class PreparedBenchmarkRun(FolderRun):
    """A benchmark with the tasks and agents of a run, and the arguments it was made with."""

    options: GeneralRunOptions
    own: OwnBenchmark
    arguments: ExtraArguments
    agent_data: ExtraArguments | None
    tasks: list[Task]
    subset: ChosenSubset | None

    @classmethod
    def of(cls, options: BenchmarkRunOptions) -> "PreparedBenchmarkRun":
        """Prepare the run that the options ask for; raise for options that make no sense."""
        seed = {} if options.seed is None else {"seed": options.seed}
        agent = BriefedAgent.of(options.agent, options.rehearse)
        beside = [] if agent is None else [agent.make]
        own = OwnBenchmark.of(options.benchmark, {**(options.set or {}), **seed}, *beside)
        agent_data = _agent_data(own, options)
        if agent is not None:
            own.benchmark.own_agent = replace(agent, args=agent_data or {})
        return cls(
            options,
            path_of(options, title=own.name.replace(".py:", "-")),
            own,
            options.set or {},
            agent_data,
            *choose_tasks(_task_source(own, options), options, own.name),
        )

    def execute(self) -> RunResult:
        benchmark, options = self.own.benchmark, self.options
        benchmark.num_workers = options.concurrency
        benchmark.use_prices(self.prices)
        wanted = bool(benchmark.callbacks)
        return self.run(benchmark, by_domain(self.tasks), self.agent_data, keep_reports=wanted)

    @cached_property
    def config(self) -> dict[str, object]:
        options, agent = self.options, self.own.benchmark.own_agent
        return {
            "benchmark": self.own.name,
            CODE: self.own.code,
            "tasks": task_ids(self.tasks),
            **subset_config(self.subset),
            **options.question_config(task_ids(self.tasks)),
            "data": fingerprints(self.tasks),
            "set": dict(self.arguments),
            **({DEFAULTS: usual} if (usual := _defaults(self.own)) else {}),
            "agent": None if self.agent_data is None else dict(self.agent_data),
            **({"own_agent": agent.to_config()} if isinstance(agent, BriefedAgent) else {}),
            **options.recorded,
        }


prepare = PreparedBenchmarkRun.of


def _agent_data(own: OwnBenchmark, options: BenchmarkRunOptions) -> dict[str, Any] | None:
    """Add what is given to ``AGENT_DATA`` of the benchmark or its module; None without both."""
    usual = getattr(own.benchmark, AGENT_DATA, getattr(own.home, AGENT_DATA, None))
    if usual is not None and not isinstance(usual, Mapping):
        raise ConfigurationError(
            f"{AGENT_DATA} of {own.name} is {value_or_type(usual)}; it must be a dict"
        )
    if usual is None and not options.agent_data:
        return None
    return {**(usual or {}), **(options.agent_data or {})}


def own_parameters(benchmark: type) -> Mapping[str, inspect.Parameter]:
    """Return the named parameters of a class of benchmarks that ``Benchmark`` has not."""
    shared = inspect.signature(Benchmark).parameters
    given = inspect.signature(benchmark, eval_str=True).parameters
    named = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return {n: p for n, p in given.items() if n not in shared and p.kind in named}


_PLAIN = str | int | float | bool | None


def _defaults(own: OwnBenchmark) -> dict[str, object]:
    """Return the defaults of a class, on which results depend as on what is given."""
    made = {name: each.default for name, each in own_parameters(type(own.benchmark)).items()}
    # Nothing else has a form in the configuration that the next session could compare with.
    return {name: each for name, each in made.items() if isinstance(each, _PLAIN)}
