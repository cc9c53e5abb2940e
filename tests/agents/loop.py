"""A tool loop over the library ``openai``, whose every part a subclass can do in its own way."""

import json
from typing import Any

from maseval import tool_definition
from maseval.benchmark.tau2 import AgentBrief

CLIENTS: list[Any] = []
"""The clients of all agents, which a test closes when it is over."""
INSTRUCTIONS = "You are a customer service agent. Obey this policy:\n\n"


class Loop:
    """Called with the customer's words, returns the agent's."""

    def __init__(self, brief: AgentBrief) -> None:
        from openai import OpenAI

        self.brief = brief
        self.client = OpenAI(
            base_url=brief.model.base_url, api_key=brief.model.api_key, max_retries=0
        )
        CLIENTS.append(self.client)
        self.messages: list[dict[str, Any]] = []

    def __call__(self, query: str) -> str:
        self.messages.append({"role": "user", "content": self.heard(query)})
        while True:
            answer = self.ask()
            self.messages.append(answer)
            if not answer.get("tool_calls"):
                return self.said(answer["content"])
            for call in answer["tool_calls"]:
                result = self.result(self.carry_out(call))
                self.messages.append(
                    {"role": "tool", "tool_call_id": self.answered(call), "content": result}
                )

    def ask(self) -> dict[str, Any]:
        given = {"messages": [self.system(), *self.shown()], "tools": self.tools(), **self.limits()}
        completion = self.client.chat.completions.create(model=self.brief.model.name, **given)
        return completion.choices[0].message.model_dump(exclude_none=True)

    # The parts.

    def system(self) -> dict[str, Any]:
        return {"role": "system", "content": INSTRUCTIONS + self.policy()}

    def policy(self) -> str:
        return self.brief.policy

    def tools(self) -> list[dict[str, Any]]:
        given = self.brief.tools.items()
        return [self.tool(tool_definition(tool, name=name)) for name, tool in given]

    def tool(self, definition: dict[str, Any]) -> dict[str, Any]:
        return definition

    def limits(self) -> dict[str, Any]:
        return {}

    def shown(self) -> list[dict[str, Any]]:
        return self.messages

    def heard(self, query: str) -> str:
        return query

    def carry_out(self, call: dict[str, Any]) -> str:
        arguments = json.loads(call["function"]["arguments"])
        return self.call(call["function"]["name"], arguments)

    def call(self, name: str, arguments: dict[str, Any]) -> str:
        if name not in self.brief.tools:
            return f"Error: there is no tool {name}"
        return self.brief.tools[name](**arguments)

    def answered(self, call: dict[str, Any]) -> str:
        return call["id"]

    def result(self, text: str) -> str:
        return text

    def said(self, text: str) -> str:
        return text
