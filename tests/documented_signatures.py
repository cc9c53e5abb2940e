"""Benchmarks written with the documented signatures, for a type checker to read.

Not a test module: `make check` runs mypy on it, as strictly as on the package.
"""

# ruff: noqa: UP006, UP035, UP045 -- as the documents write them

from collections.abc import Callable, Sequence
from typing import Any, Dict, List, Optional, Tuple

from maseval import (
    AdaptiveTaskQueue,
    AgentAdapter,
    AgentCallback,
    Benchmark,
    BenchmarkCallback,
    DefaultSeedGenerator,
    Environment,
    EnvironmentCallback,
    Evaluator,
    ModelAdapter,
    Report,
    ScriptedModelAdapter,
    Task,
    User,
)
from maseval.benchmark.tau2 import (
    DefaultAgentTau2Benchmark,
    Tau2Benchmark,
    Tau2Environment,
    Tau2Evaluator,
    Tau2User,
)

Agents = Tuple[Sequence[AgentAdapter], Dict[str, AgentAdapter]]


class MyAgent(AgentAdapter):
    def _run_agent(self, query: str) -> str:
        return query


class MyAsyncAgent(AgentAdapter):
    async def _run_agent(self, query: str) -> str:
        return query


class MyEnvironment(Environment):
    def setup_state(self, task_data: Dict[str, Any]) -> Dict[str, Any]:
        return task_data

    def create_tools(self) -> Dict[str, Callable[..., Any]]:
        return {}


class MyEvaluator(Evaluator):
    def filter_traces(self, traces: Dict[str, Any]) -> Dict[str, Any]:
        return traces

    def __call__(
        self,
        traces: Dict[str, Any],
        final_answer: Optional[str] = None,
    ) -> Dict[str, Any]:
        return {"passed": final_answer is not None}


class MyBenchmark(Benchmark):
    def setup_environment(
        self,
        agent_data: Dict[str, Any],
        task: Task,
        seed_generator: DefaultSeedGenerator,
    ) -> MyEnvironment:
        return MyEnvironment(task.environment_data)

    def setup_user(
        self,
        agent_data: Dict[str, Any],
        environment: MyEnvironment,
        task: Task,
        seed_generator: DefaultSeedGenerator,
    ) -> Optional[User]:
        return None

    def setup_agents(
        self,
        agent_data: Dict[str, Any],
        environment: MyEnvironment,
        task: Task,
        user: Optional[User],
        seed_generator: DefaultSeedGenerator,
    ) -> Agents:
        agent = MyAgent(None, "mine")
        return [agent], {"mine": agent}

    def setup_evaluators(
        self,
        environment: MyEnvironment,
        task: Task,
        agents: Sequence[AgentAdapter],
        user: Optional[User],
        seed_generator: DefaultSeedGenerator,
    ) -> Sequence[Evaluator]:
        return [MyEvaluator(task, environment, user)]

    def get_model_adapter(self, model_id: str, **kwargs: Any) -> ModelAdapter:
        adapter = ScriptedModelAdapter([], model_id=model_id)
        self.register("models", kwargs.get("register_name", model_id), adapter)
        return adapter

    def run_agents(
        self, agents: Sequence[AgentAdapter], task: Task, environment: MyEnvironment, query: str
    ) -> Any:
        return agents[0].run(query)

    def evaluate(
        self,
        evaluators: Sequence[Evaluator],
        agents: Dict[str, AgentAdapter],
        final_answer: Any,
        traces: Dict[str, Any],
    ) -> List[Dict[str, Any]]:
        return [
            evaluator(evaluator.filter_traces(traces), final_answer) for evaluator in evaluators
        ]

    def execution_loop(
        self,
        agents: Sequence[AgentAdapter],
        task: Task,
        environment: MyEnvironment,
        user: Optional[User],
    ) -> Any:
        return self.run_agents(agents, task, environment, task.query)


class WithoutSeeds(Benchmark):
    def setup_environment(
        self,
        agent_data: Dict[str, Any],
        task: Task,
    ) -> MyEnvironment:
        return MyEnvironment(task.environment_data)

    def setup_user(
        self,
        agent_data: Dict[str, Any],
        environment: MyEnvironment,
        task: Task,
    ) -> None:
        return None

    def setup_agents(
        self,
        agent_data: Dict[str, Any],
        environment: MyEnvironment,
        task: Task,
        user: Optional[User],
    ) -> Agents:
        return [], {}

    def setup_evaluators(
        self,
        environment: MyEnvironment,
        task: Task,
        agents: Sequence[AgentAdapter],
        user: Optional[User],
    ) -> Sequence[Evaluator]:
        return []

    async def run_agents(
        self, agents: Sequence[AgentAdapter], task: Task, environment: MyEnvironment, query: str
    ) -> str:
        return query


class MyTau2Benchmark(Tau2Benchmark):
    def setup_environment(
        self,
        agent_data: Dict[str, Any],
        task: Task,
        seed_generator: DefaultSeedGenerator,
    ) -> Tau2Environment:
        return super().setup_environment(agent_data, task, seed_generator)

    def setup_user(
        self,
        agent_data: Dict[str, Any],
        environment: Tau2Environment,
        task: Task,
        seed_generator: DefaultSeedGenerator,
    ) -> Optional[User]:
        return super().setup_user(agent_data, environment, task, seed_generator)

    def setup_agents(
        self,
        agent_data: Dict[str, Any],
        environment: Tau2Environment,
        task: Task,
        user: Optional[User],
        seed_generator: DefaultSeedGenerator,
    ) -> Agents:
        agent = MyAgent(environment.tools, "mine")
        return [agent], {"mine": agent}

    def setup_evaluators(
        self,
        environment: Tau2Environment,
        task: Task,
        agents: Sequence[AgentAdapter],
        user: Optional[User],
        seed_generator: DefaultSeedGenerator,
    ) -> Sequence[Evaluator]:
        return [Tau2Evaluator(task, environment, nl_model=None)]

    def get_model_adapter(self, model_id: str, **kwargs: Any) -> ModelAdapter:
        return ScriptedModelAdapter([], model_id=model_id, seed=kwargs.get("seed"))

    def run_agents(
        self,
        agents: Sequence[AgentAdapter],
        task: Task,
        environment: Tau2Environment,
        query: str = "",
    ) -> Any:
        return super().run_agents(agents, task, environment, query)

    def execution_loop(
        self,
        agents: Sequence[AgentAdapter],
        task: Task,
        environment: Tau2Environment,
        user: Optional[Tau2User],
    ) -> Any:
        return super().execution_loop(agents, task, environment, user)


class MyDefaultBenchmark(DefaultAgentTau2Benchmark):
    def setup_agents(
        self,
        agent_data: Dict[str, Any],
        environment: Tau2Environment,
        task: Task,
        user: Optional[User],
        seed_generator: DefaultSeedGenerator,
    ) -> Agents:
        return super().setup_agents(agent_data, environment, task, user, seed_generator)


class MyCallback(BenchmarkCallback):
    def on_run_start(self, benchmark: Benchmark) -> None:
        benchmark.register("callbacks", "mine", self)

    def on_task_repeat_end(self, benchmark: Benchmark, report: Report) -> None:
        print(report["status"])

    def gather_traces(self) -> Dict[str, Any]:
        return {**super().gather_traces(), "seen": 1}


class MyAgentCallback(AgentCallback):
    def on_run_start(self, agent: AgentAdapter) -> None: ...
    def on_run_end(self, agent: AgentAdapter, result: Any) -> None: ...


class MyEnvironmentCallback(EnvironmentCallback):
    def on_setup_start(self, env: Environment) -> None: ...
    def on_setup_end(self, env: Environment) -> None: ...


class MyQueue(AdaptiveTaskQueue):
    def on_run_start(self, benchmark: Benchmark) -> None:
        super().on_run_start(benchmark)

    def on_event(self, event_name: str, **data: object) -> None:
        super().on_event(event_name, **data)

    def initial_state(self) -> Dict[str, Any]:
        return {}

    def select_next_task(
        self,
        remaining: Sequence[Task],
        state: Dict[str, Any],
    ) -> Optional[Task]:
        return remaining[0]

    def update_state(
        self,
        task: Task,
        report: Dict[str, Any],
        state: Dict[str, Any],
    ) -> Dict[str, Any]:
        return state
