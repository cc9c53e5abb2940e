"""``maseval tau2 run --dry-run``: the plan of a run, and its estimated cost.

The length of the prompts is that of real first requests: the first task of each domain is run for a
few steps with scripted models that remember their requests. No model is asked, and nothing is
written.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from maseval.app.running.options import takes
from maseval.benchmark.tau2.app.running.options import RunOptions
from maseval.benchmark.tau2.app.running.participants import ModelSpec, OwnAgent
from maseval.benchmark.tau2.app.running.prepared import PreparedRun
from maseval.benchmark.tau2.app.running.run import RunBenchmark, prepare
from maseval.core.messages import text_of
from maseval.core.model import ModelAdapter
from maseval.core.scripted import ScriptedModelAdapter
from maseval.core.storage.redaction import Secrets, redact
from maseval.core.task import Task
from maseval.core.usage import TokenUsage
from maseval.runs.config import RunConfig

_CHARACTERS_PER_TOKEN = 4
# The agent greets, the user answers, the agent is asked.
_STEPS = 3
_WORDS = "Hello."
# The judge's instructions, and what it writes about the assertions of one conversation.
_JUDGE_PROMPT, _JUDGED = 2_000, 600


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
    "The estimate multiplies the prompts and tools of each domain's first task (four characters "
    "per token) by the mean number and length of messages in 639 recorded conversations of "
    "airline, retail and telecom; other domains count as retail. The agents' mean input tokens in "
    "them come out within 20 %. An agent of your own counts as the reference agent does. The "
    "actual cost may be half or double; a judge is asked once about each conversation that has "
    "assertions; reasoning tokens, retries and discounts for cached input are not included."
)


@dataclass(frozen=True)
class ModelPlan:
    """The requests to one model; ``cost`` is None if its price is not known."""

    role: str
    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float | None


@dataclass(frozen=True)
class RunPlan:
    """A run that was not started.

    ``problems`` say why the run would be refused, ``warnings`` what its readers must know, ``left``
    how many simulations are still to be run.
    """

    folder: Path
    config: Mapping[str, Any]
    tasks: Mapping[str, Sequence[str]]
    trials: int
    left: int
    models: Sequence[ModelPlan]
    problems: Sequence[str]
    warnings: Sequence[str] = ()
    basis: str = BASIS

    @property
    def cost(self) -> float | None:
        """The estimated cost; None if the price of a model is not known."""
        costs = [model.cost for model in self.models if model.cost is not None]
        return sum(costs) if len(costs) == len(self.models) else None

    def to_dict(self) -> dict[str, object]:
        return {**asdict(self), "folder": str(self.folder), "cost": self.cost}


@takes(RunOptions)
def plan(options: RunOptions) -> RunPlan:
    """Plan what ``run`` would do with the same options; asks no model and writes nothing."""
    return plan_run(prepare(options))


def plan_run(prepared: PreparedRun) -> RunPlan:
    # The code of an own agent may do anything, so that another agent stands in for it.
    run = prepared
    if isinstance(prepared.agent, OwnAgent):
        run = replace(run, agent=run.own_model or OwnAgent(lambda brief: lambda query: _WORDS))
    requests = {domain: first_requests(run, tasks[0]) for domain, tasks in run.tasks.items()}
    missing = prepared.missing()
    left = Counter(one.domain for one in missing)
    judged = {
        (domain, str(task.id))
        for domain, tasks in prepared.tasks.items()
        for task in tasks
        if task.evaluation_data.get("nl_assertions")
    }
    asked = Counter(one.domain for one in missing if (one.domain, one.task_id) in judged)
    secrets = Secrets.of(prepared.config)
    return RunPlan(
        folder=prepared.path,
        config=RunConfig.of(
            prepared.config, clean=lambda c: secrets.removed_from(redact(c))
        ).values,
        tasks={domain: [str(task.id) for task in each] for domain, each in prepared.tasks.items()},
        trials=prepared.options.trials,
        left=left.total(),
        models=[
            _plan_model(
                prepared,
                who,
                spec,
                [(number[d], d, found.get(role, 0)) for d, found in requests.items()],
            )
            for who, role, spec, number in (
                ("agent", "agent_model", run.agent, left),
                ("user", "user_simulator", run.user, left),
                ("judge", "nl_evaluator", run.judge, asked),
            )
            if isinstance(spec, ModelSpec)
        ],
        problems=[secrets.removed_from_text(str(problem)) for problem in prepared.problems()],
        warnings=list(prepared.warnings()),
    )


def _plan_model(
    prepared: PreparedRun,
    who: str,
    spec: ModelSpec,
    parts: Sequence[tuple[int, str, int]],
) -> ModelPlan:
    sums = [
        (number * each for each in _typical_use(who, domain, prompt))
        for number, domain, prompt in parts
    ]
    calls, asked, answered = (round(sum(column)) for column in zip(*sums, strict=True))
    price, cost = prepared.model_prices.get(spec.model_id), None
    if price is not None:
        # Call by call: some prices rise with the length of a request.
        each = max(calls, 1)
        one = TokenUsage(input_tokens=asked // each, output_tokens=answered // each)
        cost = price.calculate_cost(one, spec.model_id)
    cost = None if cost is None else cost * calls
    return ModelPlan(who, spec.model_id, calls, asked, answered, cost)


def _typical_use(who: str, domain: str, prompt: int) -> tuple[float, float, float]:
    """Return the calls, input tokens and output tokens of a side in one typical conversation."""
    usual = TYPICAL.get(domain, TYPICAL["retail"])
    seen = (
        usual.agent * usual.agent_length
        + usual.user * usual.user_length
        + usual.results * usual.result_length
    )
    if who == "judge":
        return 1, (_JUDGE_PROMPT + seen) / _CHARACTERS_PER_TOKEN, _JUDGED / _CHARACTERS_PER_TOKEN
    if who == "user":
        # The user's model does not see what tools answered to the agent.
        calls, length = usual.user, usual.user_length
        seen = usual.user * (usual.user_length + usual.agent_length)
    else:
        calls, length = usual.agent, usual.agent_length
    # On average half of the conversation is sent with a request.
    characters = calls * (prompt + seen / 2)
    return calls, characters / _CHARACTERS_PER_TOKEN, calls * length / _CHARACTERS_PER_TOKEN


class _RequestRecorder(RunBenchmark):
    """The run's benchmark with scripted models, which remember their requests."""

    def __init__(self, run: PreparedRun) -> None:
        short = replace(run.options, max_steps=_STEPS, concurrency=1)
        super().__init__(replace(run, options=short))
        self.scripted: dict[str, ScriptedModelAdapter] = {}

    def get_model_adapter(self, model_id: str, **kwargs: Any) -> ModelAdapter:
        model = ScriptedModelAdapter(lambda messages, tools: _WORDS, model_id=model_id)
        self.scripted[kwargs["register_name"]] = model
        return model


def first_requests(run: PreparedRun, task: Task) -> dict[str, int]:
    """Return the characters of system prompt and tools, by the role of the model."""
    benchmark = _RequestRecorder(run)
    benchmark.run([task], benchmark.agent_data)
    prompts = {}
    for role, model in benchmark.scripted.items():
        if model.requests:
            request = model.requests[0]
            said = (text_of(each) for each in request["messages"] if each["role"] == "system")
            tools = list(request["tools"] or ())
            prompts[role] = sum(map(len, said)) + (len(json.dumps(tools)) if tools else 0)
    return prompts
