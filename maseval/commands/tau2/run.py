"""``maseval tau2 run``: simulations into a run folder."""

from contextlib import nullcontext
from dataclasses import replace

from maseval.commands.options import takes
from maseval.commands.probe import probe
from maseval.commands.results import RunResult
from maseval.commands.session import Session
from maseval.commands.tau2.cast import CastBenchmark
from maseval.commands.tau2.options import RunOptions
from maseval.commands.tau2.prepared import PreparedRun
from maseval.core.storage.secrets import Secrets
from maseval.runs import RunFolder
from maseval.server import ModelServer


@takes(RunOptions)
def run(options: RunOptions) -> RunResult:
    """Run tau2 tasks into a folder, or resume the run that is there.

    ``agent`` may also be a function of an ``AgentBrief``. ``display`` shows the progress for as
    long as the context it returns is open.
    """
    prepared = PreparedRun.of(options)
    prepared.check()
    setup, config = prepared.setup, prepared.config
    if options.probe and prepared.missing():
        probe(setup.probes)
    with (
        RunFolder.open(prepared.path, config, fork=options.fork) as folder,
        ModelServer() if options.rehearse else nullcontext() as server,
    ):
        benchmark = CastBenchmark(setup, server, prepared.prices)
        session = Session(
            folder,
            benchmark,
            Secrets.of(config),
            turn=benchmark.turn,
            budget=prepared.budget,
            priced=bool(prepared.priced.known),
            time_limit=setup.deadline,
            retry_failed=options.retry_failed,
            display=options.display,
        )
        # Domain by domain, because each has a task "1".
        result = session.run(prepared.tasks.values(), benchmark.agent_data)
        return replace(result, notes=[*benchmark.rehearsal.notes(), *benchmark.time_notes()])
