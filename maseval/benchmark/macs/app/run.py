"""``maseval macs run``: simulations into a run folder."""

import hashlib
from dataclasses import dataclass
from functools import cached_property

from maseval.app.results.run_summary import RunResult
from maseval.app.running.folder_run import path_of
from maseval.app.running.options import takes
from maseval.app.running.run import OwnBenchmark, PreparedBenchmarkRun, choose_tasks
from maseval.benchmark.macs.app.options import JUDGE_MODEL, MACSRunOptions
from maseval.benchmark.macs.benchmark import MACSBenchmark
from maseval.benchmark.macs.data.files import COMMIT
from maseval.benchmark.macs.data_loader import configure_model_ids, load_tasks
from maseval.benchmark.macs.default_benchmark import DefaultMACSBenchmark
from maseval.benchmark.macs.evaluator import JUDGE_PARAMS, MAX_TRY, SIDES, load_templates
from maseval.core.exceptions import ConfigurationError


@takes(MACSRunOptions)
def run(options: MACSRunOptions) -> RunResult:
    """Run MACS tasks into a folder, or resume the run that is there.

    ``team`` may also be a subclass of ``MACSBenchmark`` itself. ``display`` shows the progress for
    as long as the context it returns is open. ``command`` is noted as how the run was started.
    """
    return prepare(options).execute()


@dataclass(frozen=True)
class PreparedMACSRun(PreparedBenchmarkRun):
    """A run of any benchmark, of which the models of all roles are known."""

    options: MACSRunOptions

    @classmethod
    def of_macs(cls, options: MACSRunOptions) -> "PreparedMACSRun":
        """Prepare the run that the options ask for; raise for options that make no sense."""
        url, model = options.base_url, options.agent_model
        arguments = {
            **({} if options.seed is None else {"seed": options.seed}),
            **({} if url is None else {"model_options": {"base_url": url}}),
        }
        if isinstance(options.team, MACSBenchmark):  # it is made already
            arguments = {}
        own = OwnBenchmark.of(options.team or DefaultMACSBenchmark, arguments)
        if not isinstance(own.benchmark, MACSBenchmark):
            raise ConfigurationError(
                f"{own.name} is not a MACSBenchmark; derive it from "
                "maseval.benchmark.macs.MACSBenchmark"
            )
        tasks = configure_model_ids(
            [task for domain in options.domains for task in load_tasks(domain).to_list()],
            tool_model_id=options.tool_model or options.user_model,
            user_model_id=options.user_model,
            evaluator_model_id=options.judge_model,
        )
        title = model or own.name.replace(".py:", "-")
        return cls(
            options,
            path_of(options, "macs", "+".join(options.domains), title=title),
            own,
            arguments,
            {**({} if model is None else {"model_id": model}), **(options.agent_data or {})},
            *choose_tasks(tasks, options, own.name),
        )

    @property
    def judged_by(self) -> str | None:
        judge = self.options.judge_model
        return None if judge == JUDGE_MODEL else f"judge: {judge}, in the original {JUDGE_MODEL}"

    @cached_property
    def config(self) -> dict[str, object]:
        """The run's configuration: the judge is part of the number."""
        templates = load_templates()
        return {
            **super().config,
            "benchmark": "macs",
            "team": self.own.name,
            "user_model": self.options.user_model,
            "tool_model": self.options.tool_model or self.options.user_model,
            "judge": {
                "model": self.options.judge_model,
                "params": dict(JUDGE_PARAMS),
                "max_try": MAX_TRY,
                "templates": {
                    side: hashlib.sha256(templates[side].encode()).hexdigest() for side in SIDES
                },
            },
            "data_commit": COMMIT,
        }


prepare = PreparedMACSRun.of_macs
