"""``maseval macs run``: simulations into a run folder."""

import hashlib
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from maseval.app.results.results import RunResult
from maseval.app.running.folder_run import path_of
from maseval.app.running.options import takes
from maseval.app.running.run import OwnBenchmark, PreparedBenchmarkRun, tasks_to_run
from maseval.app.running.run_options import BenchmarkRunOptions, FolderRunOptions
from maseval.benchmark.macs.app.options import MACSRunOptions
from maseval.benchmark.macs.benchmark import MACSBenchmark
from maseval.benchmark.macs.data.files import COMMIT
from maseval.benchmark.macs.data_loader import configure_model_ids, load_tasks
from maseval.benchmark.macs.default_benchmark import DefaultMACSBenchmark
from maseval.benchmark.macs.evaluator import JUDGE_PARAMS, MAX_TRY, SIDES, load_templates
from maseval.core.exceptions import ConfigurationError
from maseval.core.task import Task


@takes(MACSRunOptions)
def run(options: MACSRunOptions) -> RunResult:
    """Run MACS tasks into a folder, or resume the run that is there.

    ``team`` may also be a subclass of ``MACSBenchmark`` itself. ``display`` shows the progress for
    as long as the context it returns is open. ``command`` is noted as how the run was started.
    """
    return PreparedMACSRun.of_macs(options).execute()


@dataclass(frozen=True)
class PreparedMACSRun(PreparedBenchmarkRun):
    """A run of any benchmark, of which the models of all roles are known."""

    macs: MACSRunOptions

    @classmethod
    def of_macs(cls, options: MACSRunOptions) -> "PreparedMACSRun":
        """Prepare the run that the options ask for; raise for options that make no sense."""
        general = _general(options)
        own = OwnBenchmark.of(general.benchmark, general.set or {})
        if not isinstance(own.benchmark, MACSBenchmark):
            raise ConfigurationError(
                f"{own.name} is not a MACSBenchmark; derive it from "
                "maseval.benchmark.macs.MACSBenchmark"
            )
        title = options.agent_model or own.name.replace(".py:", "-")
        path = path_of(general, "macs", "+".join(options.domains), title=title)
        return cls(
            general,
            path,
            own,
            *tasks_to_run(own, general),
            dict(general.agent_data or {}),
            options,
        )

    @cached_property
    def config(self) -> dict[str, object]:
        """The run's configuration: the judge is part of the number."""
        templates = load_templates()
        return {
            **super().config,
            "benchmark": "macs",
            "team": self.own.name,
            "user_model": self.macs.user_model,
            "tool_model": _tool_model(self.macs),
            "judge": {
                "model": self.macs.judge_model,
                "params": dict(JUDGE_PARAMS),
                "max_try": MAX_TRY,
                "templates": {
                    side: hashlib.sha256(templates[side].encode()).hexdigest() for side in SIDES
                },
            },
            "data_commit": COMMIT,
        }


def _general(options: MACSRunOptions) -> BenchmarkRunOptions:
    """Return the options of the same run as a run of any benchmark."""
    seed = {} if options.seed is None else {"seed": options.seed}
    server = {} if options.base_url is None else {"model_options": {"base_url": options.base_url}}
    model = {} if options.agent_model is None else {"model_id": options.agent_model}
    made = not isinstance(options.team, MACSBenchmark)
    shared: dict[str, Any] = {
        each.name: getattr(options, each.name) for each in fields(FolderRunOptions)
    }
    return BenchmarkRunOptions(
        benchmark=options.team or DefaultMACSBenchmark,
        set={**seed, **server} if made else None,
        agent_data={**model, **(options.agent_data or {})},
        tasks=_tasks(options),
        seed=options.seed,
        timeout=options.timeout,
        **shared,
    )


def _tasks(options: MACSRunOptions) -> list[Task]:
    tasks = [task for domain in options.domains for task in load_tasks(domain).to_list()]
    return configure_model_ids(
        tasks,
        tool_model_id=_tool_model(options),
        user_model_id=options.user_model,
        evaluator_model_id=options.judge_model,
    )


def _tool_model(options: MACSRunOptions) -> str | None:
    return options.tool_model or options.user_model
