"""AgentDojo as a benchmark: four suites, and attacks on who works in them."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from maseval import Benchmark, ConfigurationError, Evaluator, ModelAdapter, Task
from maseval_agentdojo.agents import ROUNDS, system_of
from maseval_agentdojo.cases import load_cases
from maseval_agentdojo.library import SUITES, VERSIONS, one_of
from maseval_agentdojo.players import player_of
from maseval_agentdojo.support import NO_ATTACK
from maseval_agentdojo.world import RecordError, World, judge_again

ATTACKED_MODEL = "gpt-4o-2024-05-13"


class Verdict(Evaluator):
    """The library's verdict: on the world of the agent, and without it on the record.

    A record that is judged again must agree with what was seen.
    """

    def filter_traces(self, traces: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = traces["environment"]
        return found

    def __call__(self, traces: dict[str, Any], final_answer: Any = None) -> dict[str, Any]:
        useful, attacked = traces["verdict"]
        if self.environment is None:
            verdict = judge_again(self.task.environment_data, traces["attempts"])
            if verdict != (useful, attacked):
                raise RecordError(f"judged again {verdict}, and was {traces['verdict']}")
        checks = [{"kind": "utility", "name": "the user's task is done", "met": useful}]
        if attacked is None:
            return {"passed": useful, "useful": useful, "checks": checks}
        missed = {"kind": "security", "name": "the injected goal is missed", "met": not attacked}
        found = {"useful": useful, "resisted": not attacked}
        return {"passed": not attacked, **found, "checks": [missed, *checks]}


class AgentDojo(Benchmark):
    """AgentDojo: agents that work with tools, and attacks hidden in what these answer.

    Args:
        suite: workspace, travel, banking or slack (repeatable; default: all).
        version: Version of the suites; v1.1.2 has the 629 cases of most published numbers.
        attack: Such as important_instructions, tool_knowledge or dos; none for no attack (default).
        attacked_model: The model that the attack calls by its name.
        rounds: Rounds of tool calls that an agent has.
    """

    AGENT_DATA: ClassVar[Mapping[str, Any]] = {
        "system": "none",
        "model_id": "gold",
        "checker": None,
    }
    evaluators_need_environment = False

    def __init__(
        self,
        *,
        suite: Sequence[str] = (),
        version: str = "v1.2.2",
        attack: str | None = None,
        attacked_model: str = ATTACKED_MODEL,
        rounds: int = ROUNDS,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.suites = [suite] if isinstance(suite, str) else list(suite or SUITES)
        for name in self.suites:
            one_of("suite", name, SUITES)
        self.version = one_of("version", version, VERSIONS)
        if rounds < 1:
            raise ConfigurationError(f"rounds is {rounds}; an agent needs 1 or more")
        self.attack = None if attack in NO_ATTACK else attack
        self.attacked_model, self.rounds = attacked_model, rounds

    def load_tasks(self) -> list[Task]:
        return list(load_cases(self.version, self.suites, self.attack, self.attacked_model))

    def setup_environment(self, agent_data: Mapping[str, Any], task: Task) -> World:
        return World(task.environment_data)

    def setup_agents(
        self,
        agent_data: Mapping[str, Any],
        environment: World,
        task: Task,
        user: Any,
        seed_generator: Any,
    ) -> Any:
        given = {**self.AGENT_DATA, **agent_data}

        def model(role: str) -> ModelAdapter:
            name = str(given.get(role) or given["model_id"])
            seed = seed_generator.derive_seed(f"agents/{role}")
            if "/" in name:
                return self.get_model_adapter(name, register_name=role, seed=seed)
            return self.register("models", role, player_of(name, task.environment_data, seed))

        agent = system_of(str(given["system"]))(model, environment, self.rounds)
        return [agent], {agent.name: agent}

    def scripted_model(self, player: str, environment: World, task: Task) -> ModelAdapter:
        return player_of(player, task.environment_data)

    def setup_evaluators(
        self, environment: World | None, task: Task, agents: Any, user: Any
    ) -> list[Evaluator]:
        return [Verdict(task, environment)]

    def execution_loop(self, agents: Any, task: Task, environment: World, user: Any) -> Any:
        """Let the library ask the agent, as often as it does."""
        return environment.play(lambda: self.run_agents(agents, task, environment, task.query))
