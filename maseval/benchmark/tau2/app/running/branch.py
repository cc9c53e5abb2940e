"""``maseval tau2 branch``: another way on from a message of a recorded conversation.

The run that continues it has the options of the original, but for those that were given. Before
anything is paid for or written, the recorded beginning is replayed, and an agent of the user's own
is made once, to find out whether it can take over an earlier conversation.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from maseval.app.results.names import open_run, trial_numbered, trials_named
from maseval.app.results.recording import ORIGIN, name_of
from maseval.app.results.run_summary import RunResult
from maseval.app.running.options import takes
from maseval.app.running.own_code import title_of
from maseval.benchmark.tau2.app.results.support import RecordedSetup, RecordedSide
from maseval.benchmark.tau2.app.running.options import SAME, BranchOptions, RunOptions
from maseval.benchmark.tau2.app.running.participants import OwnAgent
from maseval.benchmark.tau2.app.running.run import Tau2Run, prepare
from maseval.benchmark.tau2.benchmark import Mode
from maseval.benchmark.tau2.conversation.continuation import (
    Continuation,
    beginning_until,
    check_turn_of_framework,
    checksum,
)
from maseval.benchmark.tau2.conversation.participants import CanRecall
from maseval.benchmark.tau2.conversation.recording import read_recording
from maseval.benchmark.tau2.data_loader import load_raw_tasks
from maseval.benchmark.tau2.domains import domain_named
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.episode import Seat
from maseval.benchmark.tau2.formats.message import Tau2Message
from maseval.benchmark.tau2.players.scripted import PLAYERS
from maseval.benchmark.tau2.results.writing import Tau2Report
from maseval.core.agent_brief import AgentBrief, FunctionAgentAdapter, make_agents
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Simulation
from maseval.stats.intervals import Interval, mean_interval


@dataclass(frozen=True)
class Origin:
    """A recorded simulation up to message ``at``, its release, and the set-up of its run."""

    run: str
    simulation: Simulation
    at: int
    past: Sequence[Tau2Message]
    version: str
    solo: bool
    setup: RecordedSetup

    def to_config(self) -> dict[str, object]:
        return {
            "run": self.run,
            "task": str(self.simulation.task),
            "trial": self.simulation.trial,
            "at": self.at,
            "messages": len(self.past),
            "sha256": checksum(self.past),
        }


def _find_origin(options: BranchOptions) -> Origin:
    run = open_run(options.run, "tau2")
    trials = trials_named(options.task, run.planned, run.recorded, run.path)
    chosen = trials[0] if options.trial is None else trial_numbered(options.trial, trials)
    report = Tau2Report(run.report(chosen))
    recorded = report.simulation.raw
    recording = read_recording(recorded) if recorded else None
    if recording is None or not recording.messages:
        raise ConfigurationError(
            f"{chosen} has no recorded conversation; `maseval show {run.path}` shows why"
        )
    # One that broke off, as by a failing provider, may be continued from its last message.
    ended = recording.termination_reason is not None
    return Origin(
        name_of(run),
        chosen,
        options.at,
        beginning_until(recording.messages, options.at, ended=ended),
        report.release.name,
        report.solo,
        RecordedSetup.of(run.config.values),
    )


@dataclass(frozen=True)
class BranchResult:
    """The run that continues a conversation, and the chance to pass from that point on."""

    origin: Origin
    run: RunResult
    passed: int
    judged: int

    @property
    def chance(self) -> float | None:
        """The share of simulations with a verdict that passed; None if there is none."""
        return self.passed / self.judged if self.judged else None

    @property
    def interval(self) -> Interval:
        """The interval of the chance, as of every mean; the simulations are independent."""
        return mean_interval([1.0] * self.passed + [0.0] * (self.judged - self.passed))

    def to_dict(self) -> dict[str, object]:
        chance = {
            "passed": self.passed,
            "judged": self.judged,
            "value": self.chance,
            "low": self.interval.low,
            "high": self.interval.high,
            "level": self.interval.level,
            "method": self.interval.method,
        }
        return {ORIGIN: self.origin.to_config(), "chance": chance, **self.run.to_dict()}


@takes(BranchOptions)
def branch(options: BranchOptions) -> BranchResult:
    """Continue a recorded conversation from one of its messages, live, into a run of its own.

    Up to that message everything is as recorded: the world, what both sides have seen, the steps
    and the seeds.
    """
    origin = _find_origin(options)
    prepared = _prepare(options, origin)
    environment = replay_beginning(prepared, origin.past)
    if isinstance(prepared.agent, OwnAgent):
        _check_agent(prepared.agent, environment, origin.past)
    result = prepared.execute()
    overall = result.summary.overall
    return BranchResult(origin, result, overall.passed, overall.verdicts)


def _prepare(options: BranchOptions, origin: Origin) -> Tau2Run:
    prepared = prepare(_run_options(options, origin))
    path = prepared.path
    if options.output is None:
        # Branches from several messages of one conversation do not share a folder.
        path = path.with_name(f"{path.name}-from-m{origin.at}")
    return replace(
        prepared,
        path=path,
        past=origin.past,
        first_trial=origin.simulation.trial,
        origin=origin.to_config(),
    )


def _run_options(options: BranchOptions, origin: Origin) -> RunOptions:
    """Return the options of the run: what was not given is as in the original."""
    setup = origin.setup
    given: dict[str, Any] = {**setup.limits, "judge_model": options.judge_model or setup.judge}
    if options.texts is None and setup.texts in ("original", "ours"):
        given["texts"] = setup.texts
    if options.agent == SAME:
        given |= _same_agent(options, setup.agent)
    if options.prompt is not None:
        given["agent_prompt"] = _read_prompt(Path(options.prompt))
    if options.user is None and options.user_model is None:
        given |= {"user": "scripted"} if setup.user.player == "scripted" else {}
        given |= setup.user.model_options("user") if setup.user.model else {}
        given["user_args"] = options.user_args or given.get("user_args", {})
    given |= {
        "mode": _mode(options, origin),
        "domain": origin.simulation.domain,
        "data_version": origin.version,
        "task_id": (origin.simulation.task_id,),
        "split": _split_of(origin),
        "trials": options.repeats,
    }
    return RunOptions.of(options, **given)


def _same_agent(options: BranchOptions, agent: RecordedSide) -> dict[str, Any]:
    """Return the options of the original's agent, which may have another model."""
    other = options.agent_model
    if agent.player in PLAYERS and other is None:
        noise = {} if agent.error_rate is None else {"error_rate": agent.error_rate}
        found: dict[str, Any] = {"agent": agent.player, "agent_args": noise}
    elif agent.function is None and (agent.model or other):
        found = {**agent.model_options("agent"), "agent_prompt": agent.prompt}
        # The recorded arguments were meant for the other model.
        found |= {"agent_model": other, "agent_args": {}} if other else {}
    else:
        # A name that stands in a file is never loaded, since loading runs code.
        raise ConfigurationError(
            "the agent of the original cannot be made again from its record; name one: "
            f"--agent {agent.function or 'llm --agent-model MODEL'}"
        )
    return {**found, "agent_args": options.agent_args or found["agent_args"]}


def _mode(options: BranchOptions, origin: Origin) -> str:
    original = "solo" if origin.solo else origin.setup.mode or "normal"
    mode = original if options.mode == SAME else options.mode
    if (mode == "solo") is not origin.solo:
        held = "without a user (solo)" if origin.solo else "with a user"
        raise ConfigurationError(
            f"mode is {mode!r}, but the conversation was held {held}; leave --mode out"
        )
    return mode


def _read_prompt(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text in UTF-8"
        raise ConfigurationError(f"the prompt in {str(path)!r} cannot be read: {reason}") from None


def _split_of(origin: Origin) -> str:
    """Return the split that has the task: telecom's sampled tasks are in its full set."""
    domain, task_id, _ = origin.simulation
    for split in dict.fromkeys(["base", *domain_named(domain).task_files]):
        tasks = load_raw_tasks(domain, split, version=origin.version)
        if any(str(task["id"]) == task_id for task in tasks):
            return split
    raise ConfigurationError(
        f"{domain} has no task {task_id!r} in tau2-bench {origin.version}, so the conversation "
        "cannot be continued"
    )


def replay_beginning(prepared: Tau2Run, past: Sequence[Tau2Message]) -> Tau2Environment:
    """Return the environment after the recorded beginning; raises if it comes out otherwise."""
    (task,) = (task for tasks in prepared.tasks.values() for task in tasks)
    solo = prepared.mode is Mode.SOLO
    environment = Tau2Environment({**task.environment_data, "solo": solo})
    user = None if solo else Seat("user")
    # Its first step retells the whole beginning, and raises where that comes out otherwise.
    Continuation(environment, Seat("assistant"), user, past=past).next_turn()
    return environment


def _check_agent(
    agent: OwnAgent, environment: Tau2Environment, past: Sequence[Tau2Message]
) -> None:
    """Raise if an own agent cannot take over: one is made to find out."""
    brief = AgentBrief(
        environment.tools, environment.policy, environment.domain, agent.client, None, agent.args
    )
    # This one is asked nothing and dropped: the run makes its own.
    agents, _ = make_agents(agent.make, brief, title_of(agent.make))
    if len(agents) != 1:
        names = ", ".join(each.name for each in agents)
        raise ConfigurationError(
            f"{agent.name} makes several agents ({names}), which cannot be given an earlier "
            "conversation; branch with one agent"
        )
    one = agents[0]
    if isinstance(one, CanRecall):
        return
    if not one.loads_messages:
        plain = isinstance(one, FunctionAgentAdapter)
        kind = "a plain function" if plain else f"{type(one).__name__} {one.name!r}"
        raise ConfigurationError(
            f"{agent.name} makes {kind}, which cannot be given an earlier conversation; return an "
            "AgentAdapter with load_messages, or branch with another agent"
        )
    check_turn_of_framework(past)
