"""``maseval tau2 run``: simulations into a run folder.

``play``, ``branch``, ``mcp`` and ``plan`` begin with the same prepared run.
"""

import logging
from contextlib import nullcontext
from dataclasses import dataclass, replace

from maseval.app.results.results import RunResult
from maseval.app.running.options import takes
from maseval.app.running.probe import probe
from maseval.benchmark.tau2.app.running.options import RunOptions
from maseval.benchmark.tau2.app.running.participants import (
    Player,
)
from maseval.benchmark.tau2.app.running.prepared import PreparedRun
from maseval.benchmark.tau2.app.running.run_benchmark import RunBenchmark
from maseval.benchmark.tau2.app.running.tasks import (
    own_domain_origins,
)
from maseval.benchmark.tau2.players.human import Person
from maseval.core.engine.engines import PROCESSES
from maseval.core.words import count_of
from maseval.server import ModelServer

logger = logging.getLogger(__name__)


# From here on two processes are faster than one, with the time that they take to start.
_MANY = 2_000
_KEEPING_CORES_BUSY = 64


@takes(RunOptions)
def run(options: RunOptions) -> RunResult:
    """Run tau2 tasks into a folder, or resume the run that is there.

    ``agent`` may also be a function of an ``AgentBrief``. ``display`` shows the progress for as
    long as the context it returns is open. ``command`` is noted as how the run was started.
    """
    prepared = Tau2Run.of(options)
    prepared.check()
    return prepared.execute()


@dataclass(frozen=True)
class Tau2Run(PreparedRun):
    """A prepared run that can be executed: it makes the benchmark."""

    def execute(self) -> RunResult:
        """Run the simulations that are missing in the folder."""
        if self._needs_all_cores():
            # No provider is asked: a few at once would have processes wait for their next one.
            most = max(self.options.concurrency, _KEEPING_CORES_BUSY)
            options = replace(self.options, engine=PROCESSES, concurrency=most)
            return replace(self, options=options).execute()
        for words in self.warnings():
            logger.warning(words)
        options = self.options
        if options.probe and (probes := self.probes) and self.missing():
            probe(probes)
        with ModelServer() if options.rehearse else nullcontext() as server:
            benchmark = RunBenchmark(self, server)
            if options.runs_elsewhere:
                # Before processes are forked, as each of them would look for it by itself.
                for task in [each[0] for each in self.tasks.values() if each]:
                    benchmark.wording(benchmark.release_of_task(task)).to_config()
            # Domain by domain, because each has a task "1".
            result = self.run(
                benchmark,
                self.tasks.values(),
                benchmark.agent_data,
                on_open=benchmark.keep_judgements_in,
            )
        notes = benchmark.notes()
        if waiting := result.summary.unjudged:
            notes.append(
                f"still to be judged: {count_of(waiting, 'simulation')}; `maseval score "
                f"{result.folder} --judge-model MODEL` does it"
            )
        return replace(result, notes=[*notes, *result.notes])

    def _needs_all_cores(self) -> bool:
        """Return True if nobody chose an engine for many simulations that wait for no model.

        Programs that call this are imported by their worker processes, and must choose.
        """
        options = self.options
        return (
            options.engine is None
            and options.processes is None
            and options.command is not None
            and isinstance(self.agent, Player)
            and not (self.models or self.start or own_domain_origins(self.tasks))
            and not isinstance(self.user, Person)
            and len(self.missing()) >= _MANY
        )
