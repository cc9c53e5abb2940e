"""``maseval tau2 run``: simulations into a run folder."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

from maseval.app.results.results import RunResult
from maseval.app.running.options import takes
from maseval.app.running.probe import probe
from maseval.benchmark.tau2.app.running.cast import CastBenchmark
from maseval.benchmark.tau2.app.running.options import RunOptions
from maseval.benchmark.tau2.app.running.prepared import PreparedRun
from maseval.server import ModelServer


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
