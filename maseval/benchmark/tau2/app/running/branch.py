"""``maseval tau2 branch``: another way on from a message of a recorded conversation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from maseval.app.results.recording import ORIGIN
from maseval.app.results.results import RunResult
from maseval.app.running.options import takes
from maseval.benchmark.tau2.app.running.cast import CastBenchmark
from maseval.benchmark.tau2.app.running.options import SAME, BranchOptions, RunOptions
from maseval.benchmark.tau2.app.running.origin import Origin, Recalled, find_origin
from maseval.benchmark.tau2.app.running.own_agents import (
    ANYWHERE,
    NO_KEY,
    AgentBrief,
    AgentModel,
    FunctionAgentAdapter,
    cast_of,
)
from maseval.benchmark.tau2.app.running.participants import OwnAgent
from maseval.benchmark.tau2.app.running.run import PreparedRun, run_prepared
from maseval.benchmark.tau2.app.running.setup import RunSetup
from maseval.benchmark.tau2.benchmark import Mode
from maseval.benchmark.tau2.conversation.continuation import Continuation, check_turn_of_framework
from maseval.benchmark.tau2.conversation.participants import CanRecall
from maseval.benchmark.tau2.data_loader import load_raw_tasks
from maseval.benchmark.tau2.domains import domain_named
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.formats.message import SpokenMessage, Tau2Message
from maseval.core.agent import ConversationNotLoadedError
from maseval.core.exceptions import ConfigurationError
from maseval.core.seeding import SeedGenerator
from maseval.core.task import Task
from maseval.server import ModelServer
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
        """The one object that ``--json`` prints."""
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
    prepared = _prepared(options, origin)
    prepared.check()
    setup = prepared.setup
    (task,) = (task for tasks in prepared.tasks.values() for task in tasks)
    environment = check_retelling(setup, task, origin.past, lenient=options.lenient)
    if isinstance(setup.agent, OwnAgent):
        check_agent(setup.agent, environment, origin.past)
    result = run_prepared(
        prepared,
        lambda server: BranchBenchmark(prepared, origin, server, lenient=options.lenient),
    )
    overall = result.summary.overall
    judged = overall.recorded - overall.failed - result.summary.unjudged
    return BranchResult(origin, result, overall.passed, judged)


def _prepared(options: BranchOptions, origin: Origin) -> PreparedRun:
    prepared = PreparedRun.of(options_for(options, origin.recalled, _split_of(origin.recalled)))
    path = prepared.path
    if options.output is None:
        path = path.with_name(f"{path.name}-from-m{origin.at}")
    lenient = {"lenient": True} if options.lenient else {}
    return replace(prepared, path=Path(path), origin={**origin.to_config(), **lenient})


def _split_of(recalled: Recalled) -> str:
    """Which of the domain's files has the task: telecom's sampled tasks are in its full set."""
    domain, task_id, _ = recalled.simulation
    splits = dict.fromkeys(["base", *domain_named(domain).task_files])
    for split in splits:
        tasks = load_raw_tasks(domain, split, version=recalled.version)
        if any(str(task["id"]) == task_id for task in tasks):
            return split
    raise ConfigurationError(
        f"{domain} has no task {task_id!r} in tau2-bench {recalled.version}, so the conversation "
        "cannot be continued; --data-version names another release"
    )


class BranchBenchmark(CastBenchmark):
    """tau2 whose conversations begin as a recorded one did.

    Its first simulation has the seeds of the recorded trial, and each further one those of the
    next.
    """

    def __init__(
        self,
        prepared: PreparedRun,
        origin: Origin,
        rehearsals: ModelServer | None = None,
        *,
        lenient: bool = False,
    ) -> None:
        super().__init__(prepared.setup, rehearsals, prepared.prices)
        self.orchestrator = partial(Continuation, past=origin.past, lenient=lenient)
        self._first_trial = origin.recalled.simulation.trial

    def seeds(self, seed_generator: SeedGenerator) -> SeedGenerator:
        repeat = seed_generator.gather_config().get("rep_index")
        number = repeat if isinstance(repeat, int) else 0
        return seed_generator.for_repetition(self._first_trial + number)


_HELD = ("max_steps", "max_errors", "seed")


def options_for(options: BranchOptions, recalled: Recalled, split: str) -> RunOptions:
    """The options of the run; the task is one of ``split``."""
    known = recalled.settings
    given: dict[str, Any] = {each.name: getattr(options, each.name) for each in fields(RunOptions)}
    given |= {name: known[name] for name in _HELD if name in known}
    given |= {"mode": _mode(options, known, recalled.solo)}
    given |= (
        _agent(options, known) | _prompt(options) | _user(options, known) | _others(options, known)
    )
    given |= {
        "domain": recalled.simulation.domain,
        "data_version": recalled.version,
        "task_id": (recalled.simulation.task_id,),
        "split": split,
        "trials": options.repeats,
    }
    return RunOptions(**given)


def _mode(options: BranchOptions, known: Mapping[str, object], solo: bool) -> object:
    recorded = known.get("mode", "solo" if solo else "normal")
    mode = recorded if options.mode == SAME else options.mode
    if (mode == "solo") is not solo:
        held = "without a user (solo)" if solo else "with a user"
        raise ConfigurationError(
            f"mode is {mode!r}, but the conversation was held {held}; leave --mode out"
        )
    return mode


def _agent(options: BranchOptions, known: Mapping[str, object]) -> dict[str, object]:
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
    names = ("agent", "agent_model", "agent_prompt")
    chosen = {name: known[name] for name in names if name in known}
    return chosen if options.agent_args else {**chosen, "agent_args": known.get("agent_args", {})}


def _prompt(options: BranchOptions) -> dict[str, object]:
    if options.prompt is None:
        return {}
    path = Path(options.prompt)
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
    return {"agent_prompt": text}


def _user(options: BranchOptions, known: Mapping[str, object]) -> dict[str, object]:
    if options.user is not None or options.user_model is not None:
        return {}
    chosen = {name: known[name] for name in ("user", "user_model") if name in known}
    return chosen if options.user_args else {**chosen, "user_args": known.get("user_args", {})}


def _others(options: BranchOptions, known: Mapping[str, object]) -> dict[str, object]:
    names = ("texts", "judge_model")
    return {name: known[name] for name in names if name in known and not getattr(options, name)}


class _Silent:
    """A side that hears all and is asked for nothing."""

    def begin(self, history: Sequence[Tau2Message]) -> None: ...

    def recall(self, incoming: Sequence[Tau2Message], message: SpokenMessage) -> None: ...

    def reply(self, incoming: Sequence[Tau2Message]) -> SpokenMessage:
        raise AssertionError("nobody is asked while a beginning is checked")

    def is_stop(self, message: SpokenMessage) -> bool:
        return False


def check_retelling(
    setup: RunSetup, task: Task, past: Sequence[Tau2Message], *, lenient: bool
) -> Tau2Environment:
    """The environment after the recorded beginning; raises if that does not come out the same."""
    solo = setup.mode is Mode.SOLO
    environment = Tau2Environment({**task.environment_data, "solo": solo})
    user = None if solo else _Silent()
    Continuation(environment, _Silent(), user, past=past, lenient=lenient).initialize()
    return environment


def check_agent(agent: OwnAgent, environment: Tau2Environment, past: Sequence[Tau2Message]) -> None:
    """Raise if an own agent cannot take over: one is made to find out."""
    model = AgentModel(agent.rehearse, ANYWHERE, NO_KEY) if agent.rehearse else agent.client
    brief = AgentBrief(
        environment.tools, environment.policy, environment.domain, model, None, agent.args
    )
    agents, _ = cast_of(agent.make, brief)
    if len(agents) != 1:
        names = ", ".join(each.name for each in agents)
        raise ConversationNotLoadedError(
            f"{agent.name} makes several agents ({names}), which cannot be given an earlier "
            "conversation; branch with one agent"
        )
    one = agents[0]
    if isinstance(one, CanRecall):
        return
    if not one.loads_messages:
        plain = isinstance(one, FunctionAgentAdapter)
        kind = "a plain function" if plain else f"{type(one).__name__} {one.name!r}"
        raise ConversationNotLoadedError(
            f"{agent.name} makes {kind}, which cannot be given an earlier conversation; return an "
            "AgentAdapter with load_messages, or branch with another agent"
        )
    check_turn_of_framework(past)
