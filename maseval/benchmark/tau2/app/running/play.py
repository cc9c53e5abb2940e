"""``maseval tau2 play``: one simulation in which a person plays the agent.

It is run like every other, into a run folder, by the same rules, and judged in the same way. Of a
run of several tasks, each call plays the next; one that was interrupted begins again.
"""

from typing import NamedTuple

from maseval.app.results.results import RunResult
from maseval.app.running.options import takes
from maseval.benchmark.tau2.app.running.options import PlayOptions, RunOptions
from maseval.benchmark.tau2.app.running.run import Tau2Run
from maseval.benchmark.tau2.players.human import Person, SeatView
from maseval.core.engine.engines import CallingThreadEngine
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Simulation


class PlayedTask(NamedTuple):
    """A simulation with a person in it, and what the person saw at last."""

    run: RunResult
    simulation: Simulation
    view: SeatView | None


@takes(PlayOptions)
def play(options: PlayOptions) -> PlayedTask:
    """Let a person play the agent of a task, in this thread.

    ``ask`` is called for each message of the person. If it raises ``KeyboardInterrupt``, the
    simulation is recorded as far as it came. The run is of the tasks in ``task_id``, else of the
    domain's first; the next one that has no verdict in the folder is played.
    """
    person = Person(options.ask)
    prepared = Tau2Run.of(
        RunOptions.of(
            options,
            num_tasks=None if options.task_id else 1,
            concurrency=1,
            engine=CallingThreadEngine(),
            human=person,
        )
    )
    prepared.check()
    left = prepared.missing()
    if not left:
        raise ConfigurationError(
            f"all that was to be played is in {prepared.path}; choose other tasks (--task-id) and "
            "another folder (--output)"
        )
    domain, task_id, _ = left[0]
    result = prepared.execute([task for task in prepared.tasks[domain] if str(task.id) == task_id])
    return PlayedTask(result, left[0], person.view)
