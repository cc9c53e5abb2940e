"""Agents that work, each built in another way; none is to be blamed by a rehearsal."""

import copy
import json
from typing import Any

from tests.agents.loop import INSTRUCTIONS, Loop

HEALTHY: dict[str, Any] = {}


def works(agent: type[Any]) -> type[Any]:
    HEALTHY[agent.__name__] = agent
    return agent


@works
class Plain(Loop):
    pass


@works
class BehindAGateway(Loop):
    """Its tools have a prefix, as those of an MCP gateway do."""

    def tool(self, definition: dict[str, Any]) -> dict[str, Any]:
        definition["function"]["name"] = f"crm__{definition['function']['name']}"
        definition["function"]["description"] += " (served by crm)"
        return definition

    def call(self, name: str, arguments: dict[str, Any]) -> str:
        return super().call(name.removeprefix("crm__"), arguments)


@works
class InStrictMode(Loop):
    """Its schemas are as strict mode wants them."""

    def tool(self, definition: dict[str, Any]) -> dict[str, Any]:
        definition = copy.deepcopy(definition)
        definition["function"]["strict"] = True
        parameters = definition["function"]["parameters"]
        for name, each in parameters["properties"].items():
            each.pop("title", None), each.pop("default", None)
            if name not in parameters.get("required", []) and "type" in each:
                each["type"] = [each["type"], "null"]
        parameters |= {"required": [*parameters["properties"]], "additionalProperties": False}
        return definition


@works
class Streams(Loop):
    def ask(self) -> dict[str, Any]:
        content, calls = "", {}
        given = {"messages": [self.system(), *self.shown()], "tools": self.tools()}
        stream = self.client.chat.completions.create(
            model=self.brief.model.name, stream=True, **given
        )
        for chunk in stream:
            delta = chunk.choices[0].delta
            content += delta.content or ""
            for each in delta.tool_calls or ():
                call = calls.setdefault(each.index, {"id": each.id, "name": "", "arguments": ""})
                call["name"] += each.function.name or ""
                call["arguments"] += each.function.arguments or ""
        made = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": call["arguments"]},
            }
            for call in calls.values()
        ]
        return {"role": "assistant", "content": content, **({"tool_calls": made} if made else {})}


class _Responses(Loop):
    def tools(self) -> list[dict[str, Any]]:
        return [{"type": "function", **each["function"]} for each in super().tools()]

    def create(self, items: Any, **more: Any) -> Any:
        return self.client.responses.create(
            model=self.brief.model.name,
            instructions=INSTRUCTIONS + self.brief.policy,
            input=items,
            tools=self.tools(),
            **more,
        )

    def outputs(self, response: Any) -> list[Any]:
        return [
            {
                "type": "function_call_output",
                "call_id": item.call_id,
                "output": self.call(item.name, json.loads(item.arguments)),
            }
            for item in response.output
            if item.type == "function_call"
        ]


@works
class AsksForResponses(_Responses):
    """Uses the Responses API, with the whole conversation in each request."""

    def __call__(self, query: str) -> str:
        self.messages.append({"role": "user", "content": query})
        while True:
            response = self.create(self.messages, store=False)
            self.messages += [item.model_dump(exclude_none=True) for item in response.output]
            outputs = self.outputs(response)
            if not outputs:
                return response.output_text
            self.messages += outputs


@works
class ContinuesResponses(_Responses):
    """Uses the Responses API, which keeps the conversation."""

    last: str | None = None

    def __call__(self, query: str) -> str:
        items: Any = query
        while True:
            response = self.create(items, previous_response_id=self.last)
            self.last = response.id
            items = self.outputs(response)
            if not items:
                return response.output_text


@works
class StreamsResponses(_Responses):
    def __call__(self, query: str) -> str:
        self.messages.append({"role": "user", "content": [{"type": "input_text", "text": query}]})
        while True:
            text, response = "", None
            for event in self.create(self.messages, stream=True):
                text += event.delta if event.type == "response.output_text.delta" else ""
                response = event.response if event.type == "response.completed" else response
            self.messages += [item.model_dump(exclude_none=True) for item in response.output]
            outputs = self.outputs(response)
            if not outputs:
                return text
            self.messages += outputs


ROUTE = {
    "type": "object",
    "properties": {
        "department": {"type": "string", "enum": ["service", "nobody"]},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "is_off_topic": {"type": "boolean"},
        "reason": {"type": "string"},
    },
    "required": ["department", "confidence", "is_off_topic", "reason"],
    "additionalProperties": False,
}


@works
class Classifies(Loop):
    """A classifier with structured output stands in front, and asks a smaller model."""

    def route(self, query: str) -> Any:
        format = {"type": "json_schema", "json_schema": {"name": "route", "schema": ROUTE}}
        asked = [{"role": "user", "content": f"Which department?\n{query}"}]
        completion = self.client.chat.completions.create(
            model="gpt-4o-mini", messages=asked, response_format=format
        )
        return json.loads(completion.choices[0].message.content)

    def __call__(self, query: str) -> str:
        route = self.route(query)
        if route["department"] == "nobody" or route["is_off_topic"] or route["confidence"] < 0.5:
            return "I cannot help with that."
        return super().__call__(query)


@works
class ClassifiesByATool(Classifies):
    def route(self, query: str) -> Any:
        tool = {"type": "function", "function": {"name": "route", "parameters": ROUTE}}
        completion = self.client.chat.completions.create(
            model=self.brief.model.name,
            messages=[{"role": "user", "content": query}],
            tools=[tool],
            tool_choice={"type": "function", "function": {"name": "route"}},
        )
        return json.loads(completion.choices[0].message.tool_calls[0].function.arguments)


@works
class AnswersInAStructure(Loop):
    def limits(self) -> dict[str, Any]:
        properties = {"thought": {"type": "string"}, "reply": {"type": "string"}}
        schema = {"type": "object", "properties": properties, "required": [*properties]}
        return {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "reply", "schema": schema},
            }
        }

    def said(self, text: str) -> str:
        return json.loads(text)["reply"]


@works
class SummarisesByTheModel(Loop):
    """What lies before the latest message is summed up by the model."""

    def __call__(self, query: str) -> str:
        if self.messages:
            told = json.dumps(self.messages)
            asked = [{"role": "user", "content": f"Sum this conversation up:\n{told}"}]
            summary = self.client.chat.completions.create(
                model=self.brief.model.name, messages=asked
            )
            content = f"The conversation so far: {summary.choices[0].message.content}"
            self.messages = [{"role": "system", "content": content}]
        return super().__call__(query)


@works
class SummarisesItself(Loop):
    """Earlier messages are shortened, and only what was spoken is kept."""

    def __call__(self, query: str) -> str:
        spoken = [m for m in self.messages if m["role"] != "tool" and m.get("content")]
        self.messages = [{"role": m["role"], "content": m["content"][:60]} for m in spoken]
        return super().__call__(query)


@works
class PutsAllIntoOnePrompt(Loop):
    def shown(self) -> list[dict[str, Any]]:
        return [{"role": "user", "content": f"Conversation: {json.dumps(self.messages)}"}]


@works
class AsksThreeTimes(Loop):
    """Takes what most of three answers to the same request say."""

    def ask(self) -> dict[str, Any]:
        answers = [super(AsksThreeTimes, self).ask() for _ in range(3)]
        return max(answers, key=lambda each: answers.count(each))


@works
class LooksAhead(Loop):
    """Reads something before its model asks for it."""

    def __call__(self, query: str) -> str:
        self.brief.tools["search_catalogue"](text="bees")
        return super().__call__(query)


@works
class HasAWriter(Loop):
    """Another model writes the reply, from a draft."""

    def said(self, text: str) -> str:
        asked = [{"role": "user", "content": f"Write this in the tone of our house:\n{text}"}]
        completion = self.client.chat.completions.create(
            model=self.brief.model.name, messages=asked
        )
        return completion.choices[0].message.content


@works
class UnpacksResults(Loop):
    """Its results are records, as a client of MCP gives them."""

    def result(self, text: str) -> str:
        return json.dumps([{"type": "text", "text": text}])
