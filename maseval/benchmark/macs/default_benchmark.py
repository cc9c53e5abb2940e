"""DefaultMACSBenchmark: the team of agents that the benchmark's files describe, ready to run.

Each agent is a ``MACSAgent``: a model with an instruction, tools, and colleagues that it can call
like tools.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

from maseval.benchmark.macs.benchmark import MACSBenchmark
from maseval.benchmark.macs.data_loader import load_agent_config
from maseval.benchmark.macs.environment import MACSEnvironment, MACSGenericTool
from maseval.benchmark.macs.trajectories import TrajectoryLog
from maseval.core.agent import AgentAdapter
from maseval.core.exceptions import AgentError, ConfigurationError
from maseval.core.messages import Message, MessageHistory, ToolCall, arguments_of
from maseval.core.model import ModelAdapter
from maseval.core.reasoning import ReasoningPolicy
from maseval.core.seeding import SeedGenerator
from maseval.core.task import Task
from maseval.core.tracing import JsonObject
from maseval.core.user import User
from maseval.core.words import fill_template

MAX_STEPS = 25
MESSAGE = "message"


class MACSAgent(AgentAdapter):
    """One agent of a team; it remembers everything said to it in a repetition.

    ``tools`` are by the names that the model sees; ``tool_names`` are those that the trajectories
    have. ``colleagues`` are the agents it can call, and when it should.
    """

    agent: ModelAdapter

    def __init__(
        self,
        spec: JsonObject,
        model: ModelAdapter,
        log: TrajectoryLog,
        tools: Mapping[str, MACSGenericTool] | None = None,
        tool_names: Mapping[str, str] | None = None,
        *,
        max_steps: int = MAX_STEPS,
    ) -> None:
        super().__init__(model, spec["agent_id"], model_id=model.model_id)
        self.tools = dict(tools or {})
        self.colleagues: dict[str, tuple[MACSAgent, str]] = {}
        self.messages: MessageHistory = MessageHistory()
        self.max_steps = max_steps
        self._log = log
        self._tool_names = dict(tool_names or {})
        self._instruction = _instruction(spec)
        self._asked_by: str | None = None
        self._is_working = False

    def answer(self, query: str, asked_by: str) -> str:
        """Work on the message of another agent."""
        # A run takes a query and no more, so the one who asks is remembered beside it.
        self._asked_by = asked_by
        try:
            return str(self.run(query))
        finally:
            self._asked_by = None

    def _run_agent(self, query: str) -> str:
        asked_by = self._asked_by or self._log.human_id
        self._log.message(asked_by, self.name, query)
        self.messages.add_message("user", query)
        self._is_working = True
        try:
            text = self._find_answer()
        finally:
            # This holds after an error too: the agent may be asked again, and must not seem busy.
            self._is_working = False
        self._log.message(self.name, asked_by, text)
        return text

    def _find_answer(self) -> str:
        definitions = self.definitions
        for _ in range(self.max_steps):
            system: Message = {"role": "system", "content": self._instruction}
            response = self.agent.chat(
                [system, *self.messages.to_openai_format()], tools=definitions or None
            )
            self.messages.add_response(response)
            if not response.tool_calls:
                return response.content or ""
            for call in response.tool_calls:
                self.messages.add_tool_response(call["id"], self._result_of(call))
        raise AgentError(
            f"agent {self.name!r} gave no answer within {self.max_steps} steps",
            component=self.name,
            suggestion="Answer in words once you have what was asked for",
        )

    def _result_of(self, call: ToolCall) -> str:
        name, arguments = call["function"]["name"], arguments_of(call["function"]["arguments"])
        try:
            if name in self.colleagues:
                return self._ask(self.colleagues[name][0], arguments)
            return self._use_tool(name, arguments)
        except AgentError as error:  # the agent's own mistake, which it may correct
            return f"Error: {error}"

    def _ask(self, colleague: "MACSAgent", arguments: Mapping[str, object]) -> str:
        message = arguments.get(MESSAGE)
        if not isinstance(message, str):
            raise AgentError(f"a call of {colleague.name} needs a {MESSAGE!r}", component=self.name)
        # Two agents that ask each other would wait forever.
        if colleague._is_working:
            raise AgentError(f"{colleague.name} waits for your answer", component=self.name)
        return colleague.answer(message, self.name)

    def _use_tool(self, name: str, arguments: dict[str, object]) -> str:
        # The call is logged before the look-up, so that the judge also sees calls of unknown tools.
        self._log.call(self.name, self._tool_names.get(name, name), arguments)
        try:
            if name not in self.tools:
                raise AgentError(f"there is no tool {name!r}", component=self.name)
            result = self.tools[name](**arguments)
        except AgentError as error:
            self._log.observation(self.name, f"Error: {error}")
            raise
        self._log.observation(self.name, result)
        return result

    @property
    def definitions(self) -> list[JsonObject]:
        """The functions that the model can call: tools first, then colleagues."""
        tools = [
            {"type": "function", "function": {**tool.definition["function"], "name": name}}
            for name, tool in self.tools.items()
        ]
        return tools + [
            _colleague_definition(name, when) for name, (_, when) in self.colleagues.items()
        ]

    def gather_config(self) -> JsonObject:
        return {
            **super().gather_config(),
            "model_id": self.agent.model_id,
            "tool_names": list(self.tools),
            "colleagues": list(self.colleagues),
            "max_steps": self.max_steps,
        }


def _colleague_definition(name: str, when: str) -> JsonObject:
    message = {"type": "string", "description": "What the agent is to do, with all it must know"}
    schema = {"type": "object", "properties": {MESSAGE: message}, "required": [MESSAGE]}
    function = {"name": name, "description": when, "parameters": schema}
    return {"type": "function", "function": function}


def _instruction(spec: JsonObject) -> str:
    name = spec.get("agent_name") or spec["agent_id"]
    values = {"name": name, "instruction": spec.get("agent_instruction") or ""}
    return fill_template(_template(), values)


@cache
def _template() -> str:
    folder = files("maseval.benchmark.macs") / "prompt_templates"
    return (folder / "agent.txt").read_text(encoding="utf-8").strip()


class DefaultMACSBenchmark(MACSBenchmark):
    """MACS with the team of the original's files, every agent played by one model.

    ``agent_data`` needs ``model_id`` and may have ``max_steps``, ``reasoning_policy`` (which of its
    thoughts the model is sent again) and what ``load_agent_config`` returns; without that, the team
    of the task's domain is loaded. Conversations are recorded in the original's form.
    """

    def setup_agents(
        self,
        agent_data: JsonObject,
        environment: MACSEnvironment,
        task: Task,
        user: User | None,
        seed_generator: SeedGenerator,
    ) -> tuple[Sequence[AgentAdapter], dict[str, AgentAdapter]]:
        """Return the primary agent, which calls the others, and the whole team by name."""
        config = _config(agent_data, task)
        environment.log.human_id = config.get("human_id") or "User"
        specs = team_of(config)
        team = {
            spec["agent_id"]: self._agent(spec, agent_data, environment, seed_generator)
            for spec in specs
        }
        # Colleagues are assigned once all agents exist, because two agents may call each other.
        for spec in specs:
            for other in spec.get("reachable_agents") or ():
                # A file may name a colleague that it does not describe.
                if other["agent_id"] in team:
                    colleague, when = team[other["agent_id"]], other.get("scenario") or ""
                    team[spec["agent_id"]].colleagues[colleague.name] = colleague, when
        return [team[config["primary_agent_id"]]], dict[str, AgentAdapter](team)

    def _agent(
        self,
        spec: JsonObject,
        agent_data: JsonObject,
        environment: MACSEnvironment,
        seed_generator: SeedGenerator,
    ) -> MACSAgent:
        model_id, agent_id = agent_data.get("model_id"), spec["agent_id"]
        if not model_id:
            raise ConfigurationError('no agent model is named: pass agent_data={"model_id": ...}')
        model = self.get_model_adapter(
            str(model_id),
            register_name=f"agent_{agent_id}",
            seed=seed_generator.derive_seed(f"agents/{agent_id}"),
        )
        if agent_data.get("reasoning_policy") is not None:
            model.reasoning_policy = ReasoningPolicy.of(agent_data["reasoning_policy"])
        tools = environment.get_tools_for_agent(spec)
        # The original's conversations name a tool together with its group.
        names = {
            key: f"{environment.group_of(tool, spec)}::{tool.name}" for key, tool in tools.items()
        }
        max_steps = agent_data.get("max_steps", MAX_STEPS)
        return MACSAgent(spec, model, environment.log, tools, names, max_steps=max_steps)


def team_of(config: JsonObject) -> list[JsonObject]:
    """Return the primary agent and all that can be reached from it, each once."""
    specs = {spec["agent_id"]: spec for spec in config.get("agents", [])}
    primary = config.get("primary_agent_id", "")
    if primary not in specs:
        raise ConfigurationError(
            f"primary_agent_id is {primary!r}, which is none of the agents: {', '.join(specs)}"
        )
    found = {primary: specs[primary]}
    # Every agent is visited once, since agents may reach each other in a circle.
    ahead = [primary]
    while ahead:
        for other in specs[ahead.pop(0)].get("reachable_agents") or ():
            agent_id = other["agent_id"]
            if agent_id in specs and agent_id not in found:
                found[agent_id] = specs[agent_id]
                ahead.append(agent_id)
    return list(found.values())


def _config(agent_data: JsonObject, task: Task) -> JsonObject:
    config = agent_data
    if not agent_data.get("agents"):
        domain = task.metadata.get("domain")
        if not domain:
            raise ConfigurationError(
                f"task {task.id!r} names no domain; pass agent_data={{**load_agent_config(domain), "
                '"model_id": ...}'
            )
        config = load_agent_config(str(domain))
    named, primary = task.environment_data.get("primary_agent_id"), config.get("primary_agent_id")
    if named not in (None, primary):
        raise ConfigurationError(
            f"in task {task.id!r}, {named!r} talks to the user, but {primary!r} does in the agent "
            "data; give the team of the task's own domain"
        )
    return config
