"""``maseval tau2 branch``: another way on from a message of a recorded conversation.

The run that continues it has the options of the original, but for those that were given. Before
anything is paid for or written, the recorded beginning is replayed, and an agent of the user's own
is made once, to find out whether it can take over an earlier conversation.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from maseval.app.results.finding import trial_numbered, trials_named
from maseval.app.results.recording import ORIGIN, name_of
from maseval.app.results.results import RunResult
from maseval.app.running.options import takes
from maseval.app.running.own_code import title_of
from maseval.benchmark.tau2.agent_brief import AgentBrief, FunctionAgentAdapter, make_agents
from maseval.benchmark.tau2.app.results.recorded_setup import RecordedSetup
from maseval.benchmark.tau2.app.results.sources import open_source, simulation_id, simulations_in
from maseval.benchmark.tau2.app.running.options import SAME, BranchOptions, RunOptions
from maseval.benchmark.tau2.app.running.run import PreparedRun
from maseval.benchmark.tau2.app.running.run_benchmark import RecordedStart
from maseval.benchmark.tau2.app.running.setup import OwnAgent
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
from maseval.benchmark.tau2.domains.releases import release_named
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.episode import Seat
from maseval.benchmark.tau2.formats.message import Tau2Message
from maseval.benchmark.tau2.players.scripted import PLAYERS
from maseval.benchmark.tau2.results import read_results
from maseval.benchmark.tau2.results.reports import Tau2Report
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Simulation
from maseval.runs import RunFolder
from maseval.stats.intervals import Interval, mean_interval


@dataclass(frozen=True)
class OriginConversation:
    """A recorded simulation, its release, and the settings of its run as options of a run.

    ``ended`` is False if it broke off, as by a failing provider.
    """

    simulation: Simulation
    messages: Sequence[Tau2Message]
    ended: bool
    version: str
    solo: bool
    settings: Mapping[str, object]


@dataclass(frozen=True)
class Origin:
    """A recorded simulation up to message ``at``."""

    run: str
    recorded: OriginConversation
    at: int
    past: Sequence[Tau2Message]

    def to_config(self) -> dict[str, object]:
        """Return the origin for the configuration of the run that continues it."""
        one = self.recorded.simulation
        return {
            "run": self.run,
            "task": str(one.task),
            "trial": one.trial,
            "at": self.at,
            "messages": len(self.past),
            "sha256": checksum(self.past),
        }


def find_origin(
    run: str | os.PathLike[str],
    task: str,
    trial: int | None,
    at: int,
    *,
    domain: str | None = None,
    data_version: str | None = None,
) -> Origin:
    """Find a simulation of a run or of a results file, up to message ``at``."""
    source = open_source(run)
    if isinstance(source, Path):
        name, recorded = source.name, _find_in_file(source, task, trial, domain, data_version)
    else:
        name, recorded = name_of(source), _find_in_run(source, task, trial)
    if not recorded.messages:
        raise ConfigurationError(f"{recorded.simulation} has no messages to continue")
    past = beginning_until(recorded.messages, at, ended=recorded.ended)
    return Origin(name, recorded, at, past)


def _find_in_run(folder: RunFolder, task: str, trial: int | None) -> OriginConversation:
    trials = trials_named(task, folder.planned, folder.recorded, folder.path)
    chosen = trials[0] if trial is None else trial_numbered(trial, trials)
    report, setup = Tau2Report(folder.report(chosen)), RecordedSetup.of(folder.config.values)
    simulation = report.simulation.raw
    if not simulation:
        raise ConfigurationError(
            f"{chosen} has no recorded conversation; `maseval show {folder.path}` shows why"
        )
    recording = read_recording(simulation)
    return OriginConversation(
        chosen,
        recording.messages,
        recording.termination_reason is not None,
        report.release.name,
        report.solo,
        _run_settings(setup),
    )


def _find_in_file(
    source: Path,
    task: str,
    trial: int | None,
    domain: str | None,
    data_version: str | None,
) -> OriginConversation:
    every = [simulation_id(item) for item in simulations_in(source, domain, data_version).items]
    trials = trials_named(task, every, every, source)
    chosen = trials[0] if trial is None else trial_numbered(trial, trials)
    items = simulations_in(source, domain, data_version).items
    item = next(each for each in items if simulation_id(each) == chosen)
    if item.problem is not None:
        raise ConfigurationError(f"{chosen} cannot be continued: it is {item.problem}")
    messages = read_recording(item.simulation, messages_required=False).messages
    settings = _file_settings(RecordedSetup.of_file(read_results(source)))
    version = release_named(item.version).name
    return OriginConversation(chosen, messages, True, version, item.solo, settings)


def _run_settings(setup: RecordedSetup) -> dict[str, object]:
    """Return the settings of a run folder as options of the run that continues it."""
    agent, user = setup.agent, setup.user
    options = dict(setup.limits)
    if setup.mode is not None:
        options["mode"] = setup.mode
    if setup.texts in ("original", "ours"):
        options["texts"] = setup.texts
    if setup.judge:
        options["judge_model"] = setup.judge
    if agent.player is not None:
        noise = {} if agent.error_rate is None else {"error_rate": agent.error_rate}
        options |= {"agent": agent.player, "agent_args": noise}
    elif agent.function is not None:
        options["agent_function"] = agent.function
    elif agent.model:
        prompt = {} if agent.prompt is None else {"agent_prompt": agent.prompt}
        options |= agent.model_options("agent") | prompt
    if user.model:
        return options | user.model_options("user")
    return options | ({"user": user.player} if user.player else {})


def _file_settings(setup: RecordedSetup) -> dict[str, object]:
    """Return the settings of a results file as options; it names no texts and no judge."""
    options = dict(setup.limits)
    if setup.agent.player in PLAYERS:
        options["agent"] = setup.agent.player
    elif setup.agent.model:
        options |= setup.agent.model_options("agent")
    return options | (setup.user.model_options("user") if setup.user.model else {})


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
        """Return the one object that ``--json`` prints."""
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
    and the seeds. ``run`` is a run or a results file of tau2-bench.
    """
    origin = find_origin(
        options.run,
        options.task,
        options.trial,
        options.at,
        domain=options.of_domain,
        data_version=options.data_version or None,
    )
    prepared = _prepare(options, origin)
    prepared.check()
    environment = replay_beginning(prepared, origin.past, lenient=options.lenient)
    if isinstance(prepared.setup.agent, OwnAgent):
        _check_agent(prepared.setup.agent, environment, origin.past)
    result = prepared.execute()
    overall = result.summary.overall
    return BranchResult(origin, result, overall.passed, overall.verdicts)


def _prepare(options: BranchOptions, origin: Origin) -> PreparedRun:
    prepared = PreparedRun.of(_run_options(options, origin.recorded))
    path = prepared.path
    if options.output is None:
        path = path.with_name(f"{path.name}-from-m{origin.at}")
    lenient = {"lenient": True} if options.lenient else {}
    start = RecordedStart(origin.past, origin.recorded.simulation.trial, options.lenient)
    noted = {**origin.to_config(), **lenient}
    return replace(prepared, path=path, start=start, origin=noted)


def _run_options(options: BranchOptions, recorded: OriginConversation) -> RunOptions:
    """Return the options of the run: what was not given is as in the original."""
    known = recorded.settings
    given: dict[str, Any] = {each.name: getattr(options, each.name) for each in fields(RunOptions)}
    given |= _select(known, "max_steps", "max_errors", "seed")
    given |= _agent_options(options, known)
    if options.prompt is not None:
        given["agent_prompt"] = _read_prompt(Path(options.prompt))
    if options.user is None and options.user_model is None:
        given |= _select(known, "user", "user_model")
        given["user_args"] = options.user_args or known.get("user_args", {})
    for name in ("texts", "judge_model"):
        given[name] = given[name] or known.get(name)
    given |= {
        "mode": _mode(options, recorded),
        "domain": recorded.simulation.domain,
        "data_version": recorded.version,
        "task_id": (recorded.simulation.task_id,),
        "split": split_of(recorded),
        "trials": options.repeats,
    }
    return RunOptions(**given)


def _select(known: Mapping[str, object], *names: str) -> dict[str, object]:
    return {name: known[name] for name in names if name in known}


def _mode(options: BranchOptions, recorded: OriginConversation) -> object:
    original = recorded.settings.get("mode", "solo" if recorded.solo else "normal")
    mode = original if options.mode == SAME else options.mode
    if (mode == "solo") is not recorded.solo:
        held = "without a user (solo)" if recorded.solo else "with a user"
        raise ConfigurationError(
            f"mode is {mode!r}, but the conversation was held {held}; leave --mode out"
        )
    return mode


def _agent_options(options: BranchOptions, known: Mapping[str, object]) -> dict[str, object]:
    if options.agent != SAME:
        return {}
    if options.agent_model is not None and "agent_function" not in known:
        return {"agent": "llm", "agent_prompt": known.get("agent_prompt")}
    if "agent" not in known:
        # A name that stands in a file is never loaded, since loading runs code.
        reference = known.get("agent_function", "llm --agent-model MODEL")
        raise ConfigurationError(
            "the agent of the original cannot be made again from its record; name one: "
            f"--agent {reference}"
        )
    chosen = _select(known, "agent", "agent_model", "agent_prompt")
    return {**chosen, "agent_args": options.agent_args or known.get("agent_args", {})}


def _read_prompt(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text in UTF-8"
        raise ConfigurationError(
            f"the prompt in {str(path)!r} cannot be read: {reason}; give a text file"
        ) from None
    if not text.strip():
        raise ConfigurationError(
            f"the prompt in {str(path)!r} is empty; write what the agent is to read"
        )
    return text


def split_of(recorded: OriginConversation) -> str:
    """Return the split that has the task: telecom's sampled tasks are in its full set."""
    domain, task_id, _ = recorded.simulation
    for split in dict.fromkeys(["base", *domain_named(domain).task_files]):
        tasks = load_raw_tasks(domain, split, version=recorded.version)
        if any(str(task["id"]) == task_id for task in tasks):
            return split
    raise ConfigurationError(
        f"{domain} has no task {task_id!r} in tau2-bench {recorded.version}, so the conversation "
        "cannot be continued; --data-version names another release"
    )


def replay_beginning(
    prepared: PreparedRun, past: Sequence[Tau2Message], *, lenient: bool
) -> Tau2Environment:
    """Return the environment after the recorded beginning; raises if it comes out otherwise."""
    (task,) = (task for tasks in prepared.tasks.values() for task in tasks)
    solo = prepared.setup.mode is Mode.SOLO
    environment = Tau2Environment({**task.environment_data, "solo": solo})
    user = None if solo else Seat("user")
    Continuation(environment, Seat("assistant"), user, past=past, lenient=lenient).next_turn()
    return environment


def _check_agent(
    agent: OwnAgent, environment: Tau2Environment, past: Sequence[Tau2Message]
) -> None:
    """Raise if an own agent cannot take over: one is made to find out."""
    brief = AgentBrief(
        environment.tools, environment.policy, environment.domain, agent.client, None, agent.args
    )
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
