"""MACSBenchmark: teams of agents, their tools and their user played by models, two judges."""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

from maseval.benchmark.macs.data.files import COMMIT, VALID_DOMAINS
from maseval.benchmark.macs.data_loader import data_fingerprint
from maseval.benchmark.macs.environment import MACSEnvironment
from maseval.benchmark.macs.evaluator import SIDES, MACSEvaluator, combine_sides, load_templates
from maseval.core.agent import AgentAdapter
from maseval.core.benchmark import Benchmark
from maseval.core.callbacks.base import BenchmarkCallback
from maseval.core.engine.engines import DEFAULT, AnyEngine
from maseval.core.evaluator import Evaluator
from maseval.core.exceptions import ConfigurationError, UndecidedError
from maseval.core.messages import MessageHistory
from maseval.core.model import ModelAdapter
from maseval.core.report import Report
from maseval.core.seeding import SeedGenerator
from maseval.core.task import Task
from maseval.core.task.queues import AgentData, TasksToRun
from maseval.core.tracing import JsonObject
from maseval.core.user import LLMUser, User

PROFILE = {"note": "All that is known about this person stands in the SCENARIO section."}


class MACSUser(LLMUser):
    """A user who speaks at most ``max_turns`` times, and stops early once all goals are met.

    The scenario is given to the model whole. The initial query is the first turn, so that with the
    default of five an agent gets four answers.
    """

    DEFAULT_MAX_TURNS = 5
    DEFAULT_STOP_TOKENS: ClassVar[list[str]] = ["</stop>"]
    DEFAULT_EARLY_STOPPING_CONDITION = (
        "ALL goals have been satisfactorily addressed by the assistant"
    )

    def __init__(
        self,
        model: ModelAdapter,
        scenario: str,
        initial_query: str,
        name: str = "Simulated User",
        template: str | None = None,
        max_turns: int = DEFAULT_MAX_TURNS,
        stop_tokens: list[str] | None = None,
        early_stopping_condition: str | None = DEFAULT_EARLY_STOPPING_CONDITION,
        exhausted_response: str | None = None,
    ) -> None:
        super().__init__(
            name=name,
            model=model,
            user_profile=dict(PROFILE),
            scenario=scenario,
            initial_query=initial_query,
            template=template,
            max_turns=max_turns,
            stop_tokens=list(self.DEFAULT_STOP_TOKENS) if stop_tokens is None else stop_tokens,
            early_stopping_condition=early_stopping_condition,
            exhausted_response=exhausted_response,
        )

    def reset(self) -> None:
        """Begin the conversation again after its first message."""
        self.messages = MessageHistory(self.messages[:1])
        self._turn_count = len(self.messages)
        self._stop_reason = None

    def get_tool(self) -> Any:
        raise NotImplementedError(
            "get_tool: a MACSUser is not a tool of any framework; use a subclass that overrides "
            "get_tool, such as class User(LangGraphLLMUser, MACSUser)"
        )


MAX_INVOCATIONS = 5
# An agent may ask a user who has no turns left. Without an answer that would be an error, which
# ends the repetition and takes it out of the score.
EXHAUSTED = "I have nothing to add. Please finish with what you know."


class MACSBenchmark(Benchmark):
    """MACS for a team of agents of your own: implement ``setup_agents``.

    ``environment.get_tools_for_agent(agent_spec)`` has the tools of one agent. The models that play
    tools and user and that judge are named by ``configure_model_ids`` and made by
    ``get_model_adapter``.

    The user's initial query is its first turn of five, and nobody answers the fifth: the agents are
    invoked at most four times.

    Args:
        use_output_schema: Show the model that plays a tool what the tool's results look like.
        model_options: For the provider of every model, such as a ``base_url``.
    """

    # The judges read traces alone, so a recorded run can be judged again without its environment.
    evaluators_need_environment = False

    def __init__(
        self,
        callbacks: Iterable[BenchmarkCallback] | None = None,
        n_task_repeats: int = 1,
        max_invocations: int = MAX_INVOCATIONS,
        *,
        use_output_schema: bool = True,
        model_options: Mapping[str, object] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(callbacks, n_task_repeats, max_invocations, **kwargs)
        self.use_output_schema = use_output_schema
        self.model_options = dict(model_options or {})

    def run(
        self,
        tasks: TasksToRun | None = None,
        agent_data: AgentData | None = None,
        *,
        engine: AnyEngine = DEFAULT,
    ) -> list[Report]:
        self.__dict__.pop("benchmark_level_config", None)  # the tasks' domains are part of it
        return super().run(tasks, agent_data, engine=engine)

    def data_checksums(self, domains: Collection[str]) -> dict[str, str]:
        """Return the hashes of the judges' prompts; tasks bring all other data with them."""
        return {
            f"prompt of the judge: {name}": hashlib.sha256(text.encode()).hexdigest()
            for name, text in load_templates(verbose=0).items()
        }

    @cached_property
    def benchmark_level_config(self) -> JsonObject:
        """The machine, and the data behind every verdict of the run."""
        named = {task.metadata.get("domain") for task in self.tasks.to_list()}
        domains = [domain for domain in VALID_DOMAINS if domain in named]
        return {
            **super().benchmark_level_config,
            "macs": {
                "data_commit": COMMIT,
                "data": {domain: data_fingerprint(domain) for domain in domains},
                "max_invocations": self.max_invocations,
                "use_output_schema": self.use_output_schema,
            },
        }

    def get_model_adapter(
        self,
        model_id: str,
        *,
        register_category: str = "models",
        register_name: str | None = None,
        **kwargs: Any,
    ) -> ModelAdapter:
        """Return a model with the options that all models of this benchmark have."""
        return super().get_model_adapter(
            model_id,
            register_category=register_category,
            register_name=register_name,
            **{**self.model_options, **kwargs},
        )

    def setup_environment(
        self, agent_data: JsonObject, task: Task, seed_generator: SeedGenerator
    ) -> MACSEnvironment:
        """Return the tools of the task's domain, each with a model of its own."""
        model_id = self._get_tool_model_id(task)
        environment = MACSEnvironment(
            task.environment_data,
            lambda name: self.get_model_adapter(
                model_id,
                register_name=name,
                # A seed follows from the tool's name and not from its position, so that adding a
                # tool changes no other seed.
                seed=seed_generator.derive_seed(f"environment/tools/{name}"),
            ),
            use_output_schema=self.use_output_schema,
        )
        # Only registered components leave traces, and the system's judge reads the tool calls
        # there.
        for key, tool in environment.tools.items():
            self.register("tools", key, tool)
        return environment

    def setup_user(
        self,
        agent_data: JsonObject,
        environment: MACSEnvironment,
        task: Task,
        seed_generator: SeedGenerator,
    ) -> User | None:
        """Return the person of the scenario, who has one answer left when the turns are used up."""
        model = self.get_model_adapter(
            self._get_user_model_id(task),
            register_name="user_simulator",
            seed=seed_generator.derive_seed("simulators/user"),
        )
        scenario = task.metadata.get("scenario", "")
        return MACSUser(model, scenario, task.query, exhausted_response=EXHAUSTED)

    def setup_evaluators(
        self,
        environment: MACSEnvironment,
        task: Task,
        agents: Sequence[AgentAdapter],
        user: User | None,
        seed_generator: SeedGenerator,
    ) -> Sequence[Evaluator]:
        """Return one judge for what the user could see, one for what the agents did."""
        model_id = self._get_evaluator_model_id(task)
        made = []
        # The order matters, because ``evaluate`` unpacks the two results in it.
        for side in SIDES:
            model = self.get_model_adapter(
                model_id,
                register_name=f"evaluator_{side}_gsr",
                seed=seed_generator.derive_seed(f"evaluators/{side}_gsr"),
            )
            evaluator = MACSEvaluator(model, task, side)
            made.append(self.register("evaluators", f"{side}_gsr", evaluator))
        return made

    # A subclass may choose other models.

    def _get_tool_model_id(self, task: Task) -> str:
        return model_id_of(task.environment_data, "tool")

    def _get_user_model_id(self, task: Task) -> str:
        return model_id_of(task.user_data, "user")

    def _get_evaluator_model_id(self, task: Task) -> str:
        return model_id_of(task.evaluation_data, "evaluator")

    def run_agents(
        self,
        agents: Sequence[AgentAdapter],
        task: Task,
        environment: MACSEnvironment,
        query: str = "",
    ) -> Any:
        """Run one turn of the agents; several answers are returned as a list."""
        return super().run_agents(agents, task, environment, query)

    def evaluate(
        self,
        evaluators: Sequence[Evaluator],
        agents: dict[str, AgentAdapter],
        final_answer: Any,
        traces: JsonObject,
    ) -> list[JsonObject]:
        """Return both judges' results as one evaluation."""
        user, system = super().evaluate(evaluators, agents, final_answer, traces)
        found = combine_sides(user, system)
        if found["passed"] is None and self.judge_record is not None:
            # Resuming the run asks the judge again. Elsewhere the result is MASEval's.
            errors = found["judge_errors"].items()
            sides = "; ".join(f"{side} side: {error}" for side, error in errors)
            raise UndecidedError(f"the judge gave no answer that can be used: {sides}")
        return [found]


def model_id_of(data: Mapping[str, object], role: str) -> str:
    model_id = data.get("model_id")
    if not model_id:
        raise ConfigurationError(
            f"no {role} model is named: call configure_model_ids(tasks, {role}_model_id=...)"
        )
    return str(model_id)
