"""``maseval tau2 run --failed-only RUN``: again what failed in a run or has no verdict there.

The new run has a folder of its own and names the old one. What is not given is as in the old run,
except an agent of somebody's own: its code is never loaded by a name that stands in a file.
"""

from collections.abc import Collection, Mapping
from dataclasses import fields, replace
from typing import Any, NamedTuple

from maseval.app.results.examined import recompute_verdicts
from maseval.app.results.names import open_run
from maseval.app.results.recording import name_of
from maseval.benchmark.tau2.app.results.support import RecordedSetup
from maseval.benchmark.tau2.app.running.options import RunOptions
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import TaskKey
from maseval.runs.recording import outcomes_in

FAILED_OF = "failed_of"
"""The key of a run's configuration that names the run whose failures it repeats."""


class FailedTasks(NamedTuple):
    """The tasks of a run that did not pass each time, and the run."""

    run: str
    tasks: Collection[TaskKey]

    def to_config(self) -> dict[str, object]:
        return {FAILED_OF: self.run}


def find_failed(options: RunOptions) -> tuple[RunOptions, FailedTasks]:
    """Return the options with what the old run says, and the tasks to run again."""
    run = open_run(str(options.failed_only), "tau2")
    recorded, _ = recompute_verdicts(run)
    passed = {line.simulation for line in outcomes_in(recorded) if line.passed}
    # Also what was planned and never recorded: it has no verdict either.
    failed = {one.task for one in run.planned if one not in passed}
    if not failed:
        raise ConfigurationError(
            f"everything passed in {name_of(run)}, so there is nothing to run again; leave out "
            "--failed-only to run all tasks"
        )
    setup = RecordedSetup.of(run.config.values)
    old = {**_participants(options, setup), **setup.limits}
    old |= {"domain": [*dict.fromkeys(one.domain for one in run.planned)], "mode": setup.mode}
    old |= {"data_version": setup.release, "judge_model": setup.judge, "trials": setup.trials}
    untouched = {each.name for each in fields(options) if _is_default(options, each)}
    known = {name: value for name, value in old.items() if name in untouched and value is not None}
    return replace(options, **known), FailedTasks(name_of(run), failed)


def _is_default(options: RunOptions, each: Any) -> bool:
    # The command line gives an empty list where the default is an empty tuple.
    value = getattr(options, each.name)
    return bool(value == each.default or not (value or each.default))


def _participants(options: RunOptions, setup: RecordedSetup) -> Mapping[str, Any]:
    agent, user = setup.agent, setup.user
    given = options.agent != "llm" or options.agent_model is not None
    if agent.function is not None and not given:
        raise ConfigurationError(
            f"the agent of that run was {agent.function}, and its code is not loaded by a name in "
            f"a record; give it: --agent {agent.function}"
        )
    found: dict[str, Any] = {"rehearse": agent.rehearse}
    if agent.player and not given:
        rate = {} if agent.error_rate is None else {"error_rate": agent.error_rate}
        found |= {"agent": agent.player, "agent_args": rate or None}
    elif agent.model and not given:
        found |= agent.model_options("agent")
    elif agent.model:
        found["agent_model"] = agent.model
    if user.model and options.user is None:
        found |= user.model_options("user")
    elif user.player == "scripted":
        found["user"] = "scripted"
    return found
