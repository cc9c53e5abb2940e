"""MACSAgent: a model with an instruction, tools, and colleagues that it can call like tools."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from maseval.benchmark.macs.data.forms import AgentSpec
from maseval.benchmark.macs.templates import filled
from maseval.benchmark.macs.tool import MACSGenericTool
from maseval.benchmark.macs.trajectories import TrajectoryLog
from maseval.core.agent import AgentAdapter
from maseval.core.exceptions import AgentError
from maseval.core.messages import Message, MessageHistory, ToolCall, arguments_of
from maseval.core.model import ModelAdapter
from maseval.core.tracing import JsonObject

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
        spec: AgentSpec,
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

    def add_colleague(self, agent: "MACSAgent", when: str) -> None:
        """Let this agent call another one."""
        self.colleagues[agent.name] = (agent, when)

    def answer(self, query: str, asked_by: str) -> str:
        """Work on the message of another agent."""
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
            text = self._worked_out()
        finally:
            self._is_working = False
        self.messages.add_message("assistant", text)
        self._log.message(self.name, asked_by, text)
        return text

    def _worked_out(self) -> str:
        definitions = self.definitions
        for _ in range(self.max_steps):
            system: Message = {"role": "system", "content": self._instruction}
            response = self.agent.chat(
                [system, *self.messages.to_openai_format()], tools=definitions or None
            )
            if not response.tool_calls:
                return response.content or ""
            self.messages.add_tool_call(response.tool_calls, response.content)
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
                return self._asked(self.colleagues[name][0], arguments)
            return self._used(name, arguments)
        except AgentError as error:  # the agent's own mistake, which it may correct
            return f"Error: {error}"

    def _asked(self, colleague: "MACSAgent", arguments: Mapping[str, object]) -> str:
        message = arguments.get(MESSAGE)
        if not isinstance(message, str):
            raise AgentError(f"a call of {colleague.name} needs a {MESSAGE!r}", component=self.name)
        if colleague._is_working:
            raise AgentError(f"{colleague.name} waits for your answer", component=self.name)
        return colleague.answer(message, self.name)

    def _used(self, name: str, arguments: dict[str, object]) -> str:
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
        """What the model can call: tools first, then colleagues."""
        tools = [
            {"type": "function", "function": {**tool.definition["function"], "name": name}}
            for name, tool in self.tools.items()
        ]
        return tools + [_definition(name, when) for name, (_, when) in self.colleagues.items()]

    def gather_config(self) -> JsonObject:
        return {
            **super().gather_config(),
            "model_id": self.agent.model_id,
            "tool_names": list(self.tools),
            "colleagues": list(self.colleagues),
            "max_steps": self.max_steps,
        }


def _definition(name: str, when: str) -> JsonObject:
    message = {"type": "string", "description": "What the agent is to do, with all it must know"}
    schema = {"type": "object", "properties": {MESSAGE: message}, "required": [MESSAGE]}
    function = {"name": name, "description": when, "parameters": schema}
    return {"type": "function", "function": function}


def _instruction(spec: AgentSpec) -> str:
    name = spec.get("agent_name") or spec["agent_id"]
    values = {"name": name, "instruction": spec.get("agent_instruction") or ""}
    return filled(_template(), values)


@cache
def _template() -> str:
    folder = files("maseval.benchmark.macs") / "prompt_templates"
    return (folder / "agent.txt").read_text(encoding="utf-8").strip()
