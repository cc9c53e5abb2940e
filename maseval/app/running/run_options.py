"""The options of every command that runs tasks into a run folder."""

import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from maseval.app.running.options import (
    EXECUTION,
    OUTPUT,
    RAY_ADDRESS,
    TASKS,
    WORKER_PROCESSES,
    ExtraArguments,
    option,
)
from maseval.app.running.progress import Display
from maseval.core.agent_brief import MakeAgent
from maseval.core.answer_cache import AnswerCache, answer_cache
from maseval.core.benchmark import Benchmark
from maseval.core.call_policy import CallPolicy
from maseval.core.engine.engines import (
    DEFAULT,
    PROCESSES,
    AnyEngine,
    Engine,
    ThreadEngine,
    check_engine_options,
    engine_of,
)
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Outcome
from maseval.core.task.queues import TasksToRun
from maseval.data.files import cache_dir
from maseval.runs.config import UNTIL, check_size

USUAL_TRIALS = 4
_COMPARISON = re.compile(
    r"(?P<how>better|not-worse)-than[ =](?P<run>.+?)(?: by (?P<measure>\S.*))?"
)
_WIDTH = re.compile(
    r"(?:±|\+/?-|within )\s*(?P<points>\d{1,3}(?:\.\d+)?)\s*(?:points?|pp|%)?"
    r"(?P<wide> on tasks like these)?(?: on these tasks)?(?: by (?P<measure>\S.*))?"
)
FORMS = "better-than RUN, not-worse-than RUN with --margin 5, or '±4'"


class AskedQuestion(NamedTuple):
    """An ``--until`` as it was typed: a comparison with a run, or a half-width in points.

    ``how`` is what a ``SequentialPlan`` calls the comparison, or the claim about the half-width.
    ``measure`` names a number of the benchmark other than its verdict: ``better-than RUN by NAME``.
    """

    how: Any
    run: str = ""
    points: float = 0.0
    measure: str | None = None

    @classmethod
    def of(cls, text: str) -> "AskedQuestion":
        """Read ``better-than RUN``, ``not-worse-than RUN`` or ``±4``; raise for anything else."""
        if found := _COMPARISON.fullmatch(text.strip()):
            how = found["how"].replace("-", " ")
            return cls(how, found["run"].strip(), measure=found["measure"])
        if (found := _WIDTH.fullmatch(text.strip())) and 0 < float(found["points"]) < 100:
            like = "on tasks like these" if found["wide"] else "on these tasks"
            return cls(like, points=float(found["points"]), measure=found["measure"])
        raise ConfigurationError(f"until is {text!r}; give {FORMS}")


def _read_baseline(
    run: str, tasks: Mapping[str, Collection[str]], measure: str | None
) -> tuple[str, Sequence[Outcome]]:
    from maseval.app.comparing.compared_runs import read_outcomes
    from maseval.app.results.names import open_recording
    from maseval.app.results.until import verdict_named

    if measure is not None:
        verdict_named(open_recording(run), measure)
    name, outcomes = read_outcomes(run, measure)
    wanted = {(domain, task) for domain, ids in tasks.items() for task in ids}
    shared = [each for each in outcomes if (each.domain, each.task_id) in wanted]
    lacking = wanted - {(each.domain, each.task_id) for each in shared if each.passed is not None}
    if lacking:
        domain, task = min(lacking)
        raise ConfigurationError(
            f"the baseline {run} has no verdict on {len(lacking)} of the {len(wanted)} tasks, such "
            f"as {domain}/{task}; choose tasks that it has (--task-id), or another baseline"
        )
    return name, shared


# With a limit in seconds, the number of attempts is none.
_UNLIMITED = 1_000_000


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """The folder of a run, and the ``command`` that it notes as how it was started."""

    output: str | os.PathLike[str] | None = option(
        None,
        "Run folder; an existing run resumes (default: a new folder below runs/)",
        OUTPUT,
        short="-o",
        alias="save_to",
        typed=Path,
    )
    command: str | None = None

    @property
    def recorded(self) -> dict[str, object]:
        """The values that results depend on, for the run's configuration."""
        flags = ((each.name, each.metadata.get("flag")) for each in fields(self))
        return {name: getattr(self, name) for name, flag in flags if flag and flag.recorded}


@dataclass(frozen=True, kw_only=True)
class FolderRunOptions(OutputOptions):
    """The options of every run: tasks, trials, concurrency, budget, and output.

    ``cell`` has the level of each factor, by name, if the run is a cell of a grid. Its budget is
    that of all cells, which have ``used_elsewhere`` so much money and so many tokens.
    """

    trials: int = option(1, "Trials per task", TASKS, short="-k", alias="num_trials", recorded=True)
    until: str | None = option(
        None,
        "Stop when this is decided: better-than RUN, not-worse-than RUN, '+-4' (points) or "
        "'+-4 on tasks like these'; --trials is the maximum per task (default: 4)",
        TASKS,
    )
    margin: float | None = option(None, "Points that not-worse-than tolerates, such as 5", TASKS)
    task_id: Sequence[str] = option(
        (), "Only this task, or 1-5,9 (repeatable)", TASKS, alias="task_ids", typed=list[str]
    )
    num_tasks: int | None = option(
        None, "Maximum tasks per domain", TASKS, short="-n", alias="limit"
    )
    concurrency: int = option(
        4, "Simulations at once", EXECUTION, short="-j", alias="max_concurrency"
    )
    engine: str | Engine | None = option(
        None,
        "Where simulations run: threads of this process (the default), processes (all cores), or "
        "ray (clusters)",
        EXECUTION,
        typed=str,
    )
    ray_address: str | None = option(None, RAY_ADDRESS, EXECUTION)
    processes: int | None = option(None, WORKER_PROCESSES, EXECUTION)
    force: bool = option(False, "Start more worker processes than there are cores", EXECUTION)
    budget: str | None = option(
        None, "Start no more simulations once 5usd or '2M tokens' are spent", EXECUTION
    )
    retry_failed: bool = option(
        True, "Retry simulations that failed through no fault of the agent", EXECUTION
    )
    max_wait: float | None = option(
        None,
        "Maximum seconds that a call waits for retries (default: 6 attempts, at most 300 s)",
        EXECUTION,
    )
    cache: bool = option(
        False,
        "Reuse cached answers to identical requests, and cache new ones; recorded in the run",
        EXECUTION,
    )
    prices: str | os.PathLike[str] | None = option(
        None,
        "JSON or TOML file of prices in USD per million tokens; they override the price list",
        EXECUTION,
        typed=Path,
    )
    fork: bool = option(
        False, "If the configuration differs, start a new run folder next to --output", OUTPUT
    )
    resume_changed: bool = option(
        False,
        "Resume although your code has changed; the run records which simulations used "
        "which version",
        OUTPUT,
    )
    display: Display | None = None
    cell: Mapping[str, str] | None = None
    used_elsewhere: tuple[float, int] = (0.0, 0)

    def __post_init__(self) -> None:
        if self.concurrency < 1:
            raise ConfigurationError(f"concurrency is {self.concurrency}; give at least 1")
        if self.num_tasks is not None and self.num_tasks < 1:
            raise ConfigurationError(f"num_tasks is {self.num_tasks}; give at least 1")
        # Frozen from now on; this is still part of its making.
        object.__setattr__(self, "trials", self.meant_trials())
        if self.max_wait is not None and not self.max_wait >= 0:
            raise ConfigurationError(f"max_wait is {self.max_wait:g}; give seconds, 0 or more")
        check_engine_options(self._engine, self.ray_address, self.processes, force=self.force)
        check_size(self.trials)

    def question_config(self, tasks: Mapping[str, Collection[str]]) -> dict[str, object]:
        """Return the ``until`` of a run's configuration; nothing for a run of a fixed size.

        ``tasks`` are the ids of the run's tasks by domain; a baseline is compared in these alone.
        """
        if self.until is None:
            return {}
        from maseval.app.results.until import Until  # loads statistics that few runs need
        from maseval.stats.sequential import SequentialPlan

        # A look after each round: those that decide nothing cost hardly any power.
        asked, looks = AskedQuestion.of(self.until), tuple(range(1, self.trials + 1))
        if asked.points:
            plan = SequentialPlan(
                "precision", looks, half_width=asked.points / 100, claim=asked.how
            )
            return {UNTIL: Until(plan, measure=asked.measure).to_config()}
        name, baseline = _read_baseline(asked.run, tasks, asked.measure)
        plan = SequentialPlan(
            asked.how,
            looks,
            # Trials are numbered from 0.
            baseline_trials=max(each.trial for each in baseline) + 1,
            margin=(self.margin or 0) / 100,
        )
        return {UNTIL: Until(plan, baseline, name, asked.measure).to_config()}

    def meant_trials(self) -> int:
        """Return how many trials the options mean; raise for a question that makes no sense."""
        how = "" if self.until is None else AskedQuestion.of(self.until).how
        if (how == "not worse") != (self.margin is not None):
            raise ConfigurationError(
                "margin is the loss in points that not-worse-than tolerates; give both, such as "
                "--until 'not-worse-than RUN' --margin 5"
            )
        if self.margin is not None and not 0 < self.margin < 100:
            raise ConfigurationError(f"margin is {self.margin:g}; give points, such as 5")
        # A question with a single look never stops early, so nobody means one by leaving it out.
        return USUAL_TRIALS if self.until is not None and self.trials == 1 else self.trials

    @property
    def _engine(self) -> AnyEngine:
        # Whoever asks for processes need not name their engine; one is as good as threads.
        return self.engine or (DEFAULT if self.processes is None else PROCESSES)

    @cached_property
    def chosen_engine(self) -> Engine:
        """Return the engine that the options ask for; raise if it is not installed."""
        if self.engine is None and self.processes == 1:
            return ThreadEngine()
        given = dict(address=self.ray_address, processes=self.processes, force=self.force or None)
        return engine_of(self._engine, **{k: each for k, each in given.items() if each is not None})

    @property
    def call_policy(self) -> CallPolicy | None:
        """The policy by which models are asked again, if it is not the usual one."""
        if self.max_wait is None:
            return None
        return CallPolicy(max_attempts=_UNLIMITED, max_total_wait=self.max_wait)

    @property
    def answer_cache(self) -> AnswerCache | None:
        return answer_cache(cache_dir() / "answers") if self.cache else None

    @property
    def runs_elsewhere(self) -> bool:
        """True if simulations take place in other processes."""
        return not isinstance(self.chosen_engine, ThreadEngine)


def check_timeout(seconds: float | None) -> None:
    if seconds is not None and seconds <= 0:
        raise ConfigurationError(f"timeout is {seconds:g}; give seconds, or None for no limit")


MADE = "Benchmark"

AnyBenchmark = str | Benchmark | Callable[..., Benchmark]
"""A benchmark, a class or function that makes one, or where to find one of these."""


@dataclass(frozen=True, kw_only=True)
class GeneralRunOptions(FolderRunOptions):
    """The options of a run of any benchmark but tau2."""

    seed: int | None = option(
        None, "Seed of the benchmark (default: its own)", EXECUTION, recorded=True
    )
    timeout: float | None = option(
        None, "Seconds per simulation (default: as its task says)", EXECUTION, recorded=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_timeout(self.timeout)


@dataclass(frozen=True, kw_only=True)
class BenchmarkRunOptions(GeneralRunOptions):
    """The options of ``maseval run``."""

    benchmark: AnyBenchmark
    set: ExtraArguments | None = option(
        None, "Arguments of the benchmark: JSON or key=value", MADE, typed=list[str]
    )
    agent_data: ExtraArguments | None = option(
        None,
        "Agent data: JSON or key=value, e.g. model_id=openai/gpt-4.1",
        MADE,
        typed=list[str],
    )
    agent: str | MakeAgent | None = option(
        None,
        "Your own agent, a function of a brief: FILE.py:NAME (default: the benchmark's agents)",
        MADE,
        typed=str,
    )
    rehearse: str | None = None
    tasks: str | os.PathLike[str] | TasksToRun | None = option(
        None,
        "FILE.json, or FILE.py:NAME of a list or function (default: the benchmark's own)",
        TASKS,
        typed=str,
    )
