"""``maseval tau2 branch``: another way on from a message of a recorded conversation.

The run that continues it has the options of the original, but for those that were given. Before
anything is paid for or written, the recorded beginning is replayed, and an agent of the user's own
is made once, to find out whether it can take over an earlier conversation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from maseval.app.results.recording import ORIGIN
from maseval.app.results.results import RunResult
from maseval.app.running.options import takes
from maseval.app.running.own_code import title_of
from maseval.benchmark.tau2.agent_brief import AgentBrief, FunctionAgentAdapter, make_agents
from maseval.benchmark.tau2.app.running.options import SAME, BranchOptions, RunOptions
from maseval.benchmark.tau2.app.running.origin import Origin, OriginConversation, find_origin
from maseval.benchmark.tau2.app.running.participants import OwnAgent
from maseval.benchmark.tau2.app.running.run import PreparedRun
from maseval.benchmark.tau2.app.running.run_benchmark import RecordedStart
from maseval.benchmark.tau2.benchmark import Mode
from maseval.benchmark.tau2.conversation.continuation import Continuation, check_turn_of_framework
from maseval.benchmark.tau2.conversation.participants import CanRecall
from maseval.benchmark.tau2.data_loader import load_raw_tasks
from maseval.benchmark.tau2.domains import domain_named
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.formats.message import SpokenMessage, Tau2Message
from maseval.core.exceptions import ConfigurationError
from maseval.stats.intervals import Interval, wilson


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
        """Wilson's interval: the simulations are independent, and of one task."""
        return wilson(self.passed, self.judged)

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


class _Listener:
    """A side that follows the recorded beginning and is asked for nothing."""

    def begin(self, history: Sequence[Tau2Message]) -> None: ...

    def recall(self, incoming: Sequence[Tau2Message], message: SpokenMessage) -> None: ...

    def reply(self, incoming: Sequence[Tau2Message]) -> SpokenMessage:
        raise AssertionError("nobody is asked while a beginning is checked")

    def is_stop(self, message: SpokenMessage) -> bool:
        return False


def replay_beginning(
    prepared: PreparedRun, past: Sequence[Tau2Message], *, lenient: bool
) -> Tau2Environment:
    """Return the environment after the recorded beginning; raises if it comes out otherwise."""
    (task,) = (task for tasks in prepared.tasks.values() for task in tasks)
    solo = prepared.setup.mode is Mode.SOLO
    environment = Tau2Environment({**task.environment_data, "solo": solo})
    user = None if solo else _Listener()
    Continuation(environment, _Listener(), user, past=past, lenient=lenient).initialize()
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
