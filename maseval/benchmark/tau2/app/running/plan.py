"""``maseval tau2 run --dry-run``: what would run, with which prompts, and about what it costs."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from maseval.app.running.options import takes
from maseval.benchmark.tau2.app.running.cast import CastBenchmark
from maseval.benchmark.tau2.app.running.options import RunOptions
from maseval.benchmark.tau2.app.running.own_agents import FunctionAgentAdapter
from maseval.benchmark.tau2.app.running.participants import ModelSpec, OwnAgent
from maseval.benchmark.tau2.app.running.run import PreparedRun
from maseval.benchmark.tau2.app.running.setup import RunSetup
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.core.agent import AgentAdapter
from maseval.core.messages import text_of
from maseval.core.model import ModelAdapter
from maseval.core.scripted import ScriptedModelAdapter
from maseval.core.seeding import SeedGenerator
from maseval.core.storage.redaction import Secrets
from maseval.core.task import Task
from maseval.core.usage import TokenUsage
from maseval.core.user import User
from maseval.runs.config import RunConfig

_CHARACTERS_PER_TOKEN = 4


class Typical(NamedTuple):
    """A conversation's mean number of messages, and their mean lengths in characters."""

    agent: float
    user: float
    results: float
    agent_length: int
    user_length: int
    result_length: int


# Means over recorded conversations of language models: 366, 202 and 71 of them.
TYPICAL = {
    "airline": Typical(11.2, 5.9, 7.1, 421, 191, 644),
    "retail": Typical(12.1, 6.3, 7.8, 290, 153, 1027),
    "telecom": Typical(17.7, 17.4, 17.0, 289, 95, 163),
}
BASIS = (
    "The estimate multiplies the prompts and tools of each domain's first task (a token for four "
    "characters) by the mean number and length of messages in 639 recorded conversations of "
    "airline, retail and telecom; other domains count as retail. The agents' mean input tokens in "
    "them come out within 20 %. An agent of your own counts as the reference agent does. A run may "
    "take half or double; reasoning tokens, retries and the judge are not in it, nor is the "
    "discount for cached input."
)


@dataclass(frozen=True)
class Prompt:
    """What a model is sent with every request: its system prompt and its tools."""

    system: str
    tools: Sequence[str]
    characters: int


@dataclass(frozen=True)
class ModelPlan:
    """What one model would be asked; ``cost`` is None if its price is not known."""

    role: str
    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float | None


@dataclass(frozen=True)
class RunPlan:
    """A run that was not started.

    ``prompts`` are those of the first task, by the role of the model. ``problems`` say why the run
    would be refused, ``left`` how many simulations are still to be run.
    """

    folder: Path
    config: Mapping[str, object]
    tasks: Mapping[str, Sequence[str]]
    trials: int
    left: int
    models: Sequence[ModelPlan]
    prompts: Mapping[str, Prompt]
    problems: Sequence[str]
    basis: str = BASIS

    @property
    def cost(self) -> float | None:
        """About what the run costs; None if the price of a model is not known."""
        costs = [model.cost for model in self.models if model.cost is not None]
        return sum(costs) if len(costs) == len(self.models) else None

    def to_dict(self) -> dict[str, object]:
        """The one object that ``--json`` prints."""
        return {
            "folder": str(self.folder),
            "tasks": {domain: list(ids) for domain, ids in self.tasks.items()},
            "trials": self.trials,
            "left": self.left,
            "config": dict(self.config),
            "models": [asdict(model) for model in self.models],
            "cost": self.cost,
            "basis": self.basis,
            "prompts": {role: asdict(prompt) for role, prompt in self.prompts.items()},
            "problems": list(self.problems),
        }


@takes(RunOptions)
def plan(options: RunOptions) -> RunPlan:
    """What ``run`` would do with the same options; asks no model and writes nothing."""
    prepared = PreparedRun.of(options)
    setup = _with_reference_agent(prepared.setup)
    heard = {domain: overheard(setup, tasks[0]) for domain, tasks in prepared.tasks.items()}
    prompts = dict(next(iter(heard.values()), {}))
    if isinstance(prepared.setup.agent, OwnAgent):
        prompts.pop("agent_model", None)  # which it writes itself
    left = Counter(one.domain for one in prepared.missing())
    secrets = Secrets.of(prepared.config)
    return RunPlan(
        folder=prepared.path,
        config=RunConfig.of(prepared.config, clean=secrets.removed_from).values,
        tasks={domain: [str(task.id) for task in each] for domain, each in prepared.tasks.items()},
        trials=options.trials,
        left=left.total(),
        models=_models(prepared, heard, left),
        prompts=prompts,
        problems=[secrets.removed_from_text(str(problem)) for problem in prepared.problems()],
    )


def _with_reference_agent(setup: RunSetup) -> RunSetup:
    """With the reference agent in place of an own agent that asks a model."""
    agent = setup.agent
    if not isinstance(agent, OwnAgent) or agent.model is None or agent.rehearse:
        return setup
    return replace(setup, agent=agent.model)


def _models(
    prepared: PreparedRun, heard: Mapping[str, Mapping[str, Prompt]], left: Mapping[str, int]
) -> list[ModelPlan]:
    agent, user = prepared.setup.agent, prepared.setup.user
    if isinstance(agent, OwnAgent):
        agent = agent.model if agent.model and not agent.rehearse else ""
    asked = [("agent", "agent_model", agent), ("user", "user_simulator", user)]
    return [
        _model(prepared, who, spec, [(left[d], d, heard[d].get(role)) for d in heard])
        for who, role, spec in asked
        if isinstance(spec, ModelSpec)
    ]


def _model(
    prepared: PreparedRun,
    who: str,
    spec: ModelSpec,
    parts: Sequence[tuple[int, str, Prompt | None]],
) -> ModelPlan:
    sums = [
        (number * each for each in _conversation(who, domain, prompt))
        for number, domain, prompt in parts
    ]
    calls, asked, answered = (round(sum(column)) for column in zip(*sums, strict=True))
    cost = _cost(prepared, spec.model_id, calls, asked, answered)
    return ModelPlan(who, spec.model_id, calls, asked, answered, cost)


def _cost(
    prepared: PreparedRun, model_id: str, calls: int, asked: int, answered: int
) -> float | None:
    price = prepared.priced.known.get(model_id)
    if price is None or not calls:
        return 0.0 if price else None
    # Call by call: some prices rise with the length of a request.
    one = TokenUsage(input_tokens=asked // calls, output_tokens=answered // calls)
    cost = price.calculate_cost(one, model_id)
    return None if cost is None else cost * calls


def _conversation(who: str, domain: str, prompt: Prompt | None) -> tuple[float, float, float]:
    """The calls, input tokens and output tokens of a side in one typical conversation."""
    usual = TYPICAL.get(domain, TYPICAL["retail"])
    calls, length = (
        (usual.agent, usual.agent_length) if who == "agent" else (usual.user, usual.user_length)
    )
    talk = usual.user * (usual.user_length + usual.agent_length)
    seen = (
        talk
        if who == "user"
        else (
            usual.agent * usual.agent_length
            + usual.user * usual.user_length
            + usual.results * usual.result_length
        )
    )
    # On average half of the conversation is sent with a request.
    characters = calls * ((prompt.characters if prompt else 0) + seen / 2)
    return calls, characters / _CHARACTERS_PER_TOKEN, calls * length / _CHARACTERS_PER_TOKEN


# The agent greets, the user answers, the agent is asked.
_STEPS = 3
_WORDS = "Hello."


def overheard(setup: RunSetup, task: Task) -> dict[str, Prompt]:
    """The prompts of a task by the role of the model: ``agent_model``, ``user_simulator``."""
    benchmark = _Overhearing(setup)
    benchmark.run([task], benchmark.agent_data)
    return {role: _prompt(model) for role, model in benchmark.heard.items() if model.requests}


class _Overhearing(CastBenchmark):
    """The run's benchmark, in which every model is scripted and remembers what it was asked."""

    def __init__(self, setup: RunSetup) -> None:
        brief = replace(setup.options, max_steps=_STEPS, concurrency=1)
        super().__init__(replace(setup, options=brief))
        self.heard: dict[str, ScriptedModelAdapter] = {}

    def get_model_adapter(self, model_id: str, **kwargs: Any) -> ModelAdapter:
        model = ScriptedModelAdapter(lambda messages, tools: _WORDS, model_id=model_id)
        self.heard[kwargs["register_name"]] = model
        return model

    def setup_agents(
        self,
        agent_data: dict[str, Any],
        environment: Tau2Environment,
        task: Task,
        user: User | None,
        seed_generator: SeedGenerator,
    ) -> tuple[Sequence[AgentAdapter], dict[str, AgentAdapter]]:
        if not isinstance(self.setup.agent, OwnAgent):
            return super().setup_agents(agent_data, environment, task, user, seed_generator)
        # The code of an own agent may do anything; its prompts are its own.
        stand_in = FunctionAgentAdapter(lambda query: _WORDS, "own")
        return [stand_in], {stand_in.name: stand_in}


def _prompt(model: ScriptedModelAdapter) -> Prompt:
    request = model.requests[0]
    spoken = (text_of(each) for each in request["messages"] if each["role"] == "system")
    system, tools = "\n".join(spoken), list(request["tools"] or ())
    names = [str(tool["function"]["name"]) for tool in tools]
    return Prompt(system, names, len(system) + (len(json.dumps(tools)) if tools else 0))
