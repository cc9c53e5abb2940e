"""Agents that work, and that no scripted model can play."""

import json
import re
from typing import Any

from tests.agents.loop import CLIENTS, Loop

UNPLAYABLE: dict[str, Any] = {}


def unplayable(agent: type[Any]) -> type[Any]:
    UNPLAYABLE[agent.__name__] = agent
    return agent


class _InText(Loop):
    def system(self) -> dict[str, Any]:
        listed = "\n".join(f"{name}: {tool.__doc__}" for name, tool in self.brief.tools.items())
        rule = "To act, write Action: NAME {JSON}. To answer, write Answer: TEXT."
        return {"role": "system", "content": f"{self.brief.policy}\n{listed}\n{rule}"}

    def write(self) -> str:
        messages = [self.system(), *self.messages]
        completion = self.client.chat.completions.create(
            model=self.brief.model.name, messages=messages
        )
        return completion.choices[0].message.content


@unplayable
class ReActsInText(_InText):
    """Asks again until its model writes an action or an answer."""

    def __call__(self, query: str) -> str:
        self.messages.append({"role": "user", "content": query})
        for _ in range(50):
            text = self.write()
            self.messages.append({"role": "assistant", "content": text})
            if found := re.search(r"Action: (\w+) (\{.*\})", text):
                seen = self.call(found[1], json.loads(found[2]))
            elif "Answer:" in text:
                return text.partition("Answer:")[2]
            else:
                seen = "Neither an action nor an answer; try again."
            self.messages.append({"role": "user", "content": f"Observation: {seen}"})
        return "I am at a loss."


@unplayable
class PassesTextOn(_InText):
    """Takes whatever is no action for its answer."""

    def __call__(self, query: str) -> str:
        self.messages.append({"role": "user", "content": query})
        text = self.write()
        self.messages.append({"role": "assistant", "content": text})
        return text


@unplayable
class AsksForFreeJson(_InText):
    def __call__(self, query: str) -> str:
        self.messages.append({"role": "user", "content": query})
        completion = self.client.chat.completions.create(
            model=self.brief.model.name,
            messages=[self.system(), *self.messages],
            response_format={"type": "json_object"},
        )
        return json.loads(completion.choices[0].message.content)["reply"]


@unplayable
class CallsByOneTool(Loop):
    """Offers one tool for all others."""

    def tools(self) -> list[dict[str, Any]]:
        properties = {"name": {"type": "string"}, "arguments": {"type": "object"}}
        function = {
            "name": "call_tool",
            "description": f"Calls one of {', '.join(self.brief.tools)}",
            "parameters": {"type": "object", "properties": properties},
        }
        return [{"type": "function", "function": function}]

    def carry_out(self, call: dict[str, Any]) -> str:
        given = json.loads(call["function"]["arguments"])
        return self.call(given["name"], given["arguments"] or {})


@unplayable
class CompletesAText(Loop):
    """Uses the API before chat completions."""

    def __call__(self, query: str) -> str:
        completion = self.client.completions.create(model=self.brief.model.name, prompt=query)
        return completion.choices[0].text


@unplayable
class AsksAnthropic(Loop):
    def __call__(self, query: str) -> str:
        from anthropic import Anthropic

        url = self.brief.model.base_url.removesuffix("/v1")
        client = Anthropic(base_url=url, api_key=self.brief.model.api_key, max_retries=0)
        CLIENTS.append(client)
        answer = client.messages.create(
            model=self.brief.model.name,
            max_tokens=100,
            messages=[{"role": "user", "content": query}],
        )
        return answer.content[0].text
