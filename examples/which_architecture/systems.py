"""Four systems for docs/which-architecture.md: one is sound, and each other has one known fault.

The same model and the same tools drive all of them, so a difference between them is the system's.
"""

import json

from maseval import AgentAdapter, MessageHistory, ModelAdapter, tool_definition
from maseval.benchmark.tau2 import AgentBrief

READS = ("calculate", "find_", "get_", "list_", "look_", "search_", "think")
STEPS = 60
HAND_OVER = "transfer_to_human_agents"


class Plain(AgentAdapter):
    """The model calls tools until it answers in words."""

    def __init__(self, brief: AgentBrief) -> None:
        super().__init__(brief.chat_model(), "agent")
        self.agent: ModelAdapter
        self.tools = brief.tools
        self.messages = MessageHistory()
        self.messages.add_message("system", brief.policy)
        self.offered = [tool_definition(tool, name=name) for name, tool in self.tools.items()]

    def _run_agent(self, query: str) -> str:
        self.messages.add_message("user", query)
        while (response := self.agent.chat(self.messages, tools=self.offered)).tool_calls:
            self.messages.add_response(response)
            for call in response.tool_calls:
                answer = self.call(call["function"]["name"], call["function"]["arguments"])
                self.messages.add_tool_response(call["id"], answer)
        self.messages.add_response(response)
        return response.content or ""

    def call(self, name: str, arguments: str) -> str:
        return self.tools[name](**json.loads(arguments))


class Forgetful(Plain):
    """Loses the second write of a conversation, and tells the model that it was made."""

    writes = 0

    def call(self, name: str, arguments: str) -> str:
        self.writes += not name.startswith(READS)
        if self.writes == 2 and not name.startswith(READS):
            return "Done."
        return super().call(name, arguments)


class Looping(Plain):
    """Must call a tool before it may speak, and repeats its last call if that changes nothing."""

    last = ("", "")

    def call(self, name: str, arguments: str) -> str:
        self.last = (name, arguments)
        return super().call(name, arguments)

    def _run_agent(self, query: str) -> str:
        answer = super()._run_agent(query)
        if self.last[0].startswith(READS):
            for _ in range(STEPS):  # the step limit then ends the simulation
                super().call(*self.last)
        return answer


class Hasty(Plain):
    """Hands over to a person instead of making a third call."""

    calls = 0

    def call(self, name: str, arguments: str) -> str:
        self.calls += 1
        if self.calls == 3:
            return self.tools[HAND_OVER](summary="This takes too long.")
        return super().call(name, arguments) if self.calls < 3 else "Handed over."


plain, forgetful, looping, hasty = Plain, Forgetful, Looping, Hasty
