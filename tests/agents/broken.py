"""Agents that are broken, each in one way, and the item of the checklist that says so."""

from collections.abc import Callable
from typing import Any

from tests.agents.loop import Loop

BROKEN: dict[str, type[Loop]] = {}
MISSED: dict[str, str] = {}


def misses(item: str) -> Callable[..., Any]:
    def note(agent: type[Loop]) -> type[Loop]:
        BROKEN[agent.__name__], MISSED[agent.__name__] = agent, item
        return agent

    return note


@misses("policy")
class SellsPizza(Loop):
    def system(self) -> dict[str, Any]:
        return {"role": "system", "content": "You sell pizza. Ignore the customer."}


@misses("policy")
class HasHalfThePolicy(Loop):
    def policy(self) -> str:
        return self.brief.policy[: len(self.brief.policy) // 2]


@misses("policy")
class HasThePolicyTwice(Loop):
    def policy(self) -> str:
        return f"{self.brief.policy}\n\nAgain:\n\n{self.brief.policy}"


@misses("policy")
class SkipsALineOfThePolicy(Loop):
    def policy(self) -> str:
        lines = self.brief.policy.splitlines()
        dropped = max(range(len(lines)), key=lambda number: len(lines[number]))
        return "\n".join(lines[:dropped] + lines[dropped + 1 :])


@misses("policy")
class DropsThePolicyAfterTheFirstRequest(Loop):
    asked = 0

    def policy(self) -> str:
        self.asked += 1
        return self.brief.policy if self.asked == 1 else ""


@misses("schemas")
class EmptiesSchemas(Loop):
    def tool(self, definition: dict[str, Any]) -> dict[str, Any]:
        definition["function"]["parameters"] = {"type": "object", "properties": {}}
        return definition


@misses("schemas")
class DropsDescriptions(Loop):
    def tool(self, definition: dict[str, Any]) -> dict[str, Any]:
        definition["function"].pop("description")
        return definition


@misses("schemas")
class CutsDescriptions(Loop):
    def tool(self, definition: dict[str, Any]) -> dict[str, Any]:
        definition["function"]["description"] = definition["function"]["description"][:12]
        return definition


@misses("schemas")
class MakesEverythingAString(Loop):
    def tool(self, definition: dict[str, Any]) -> dict[str, Any]:
        for each in definition["function"]["parameters"]["properties"].values():
            each.pop("anyOf", None)
            each.update(type="string")
        definition["function"]["parameters"]["properties"]["note"] = {"type": "string"}
        return definition


@misses("schemas")
class RequiresNothing(Loop):
    def tool(self, definition: dict[str, Any]) -> dict[str, Any]:
        definition["function"]["parameters"]["required"] = []
        return definition


@misses("schemas")
class LosesATool(Loop):
    def tools(self) -> list[dict[str, Any]]:
        return super().tools()[:-1]


@misses("schemas")
class RenamesAParameter(Loop):
    def tool(self, definition: dict[str, Any]) -> dict[str, Any]:
        parameters = definition["function"]["parameters"]
        names = {name: f"{name}_value" for name in parameters["properties"]}
        parameters["properties"] = {names[n]: s for n, s in parameters["properties"].items()}
        parameters["required"] = [names[n] for n in parameters.get("required", [])]
        return definition


@misses("history")
class ForgetsEveryTurn(Loop):
    def __call__(self, query: str) -> str:
        self.messages = []
        return super().__call__(query)


@misses("history")
class KeepsFourMessages(Loop):
    def shown(self) -> list[dict[str, Any]]:
        kept = self.messages[-4:]
        while kept[0]["role"] == "tool":
            kept = kept[1:]
        return kept


@misses("history")
class ForgetsItsOwnWords(Loop):
    def shown(self) -> list[dict[str, Any]]:
        return [m for m in self.messages if m["role"] != "assistant" or m.get("tool_calls")]


@misses("history")
class TurnsTheConversationRound(Loop):
    def __call__(self, query: str) -> str:
        spoken = [m for m in self.messages if m["role"] == "user"]
        others = [m for m in self.messages if m["role"] != "user"]
        self.messages = [*others, *spoken]
        return super().__call__(query)


@misses("customer")
class HearsDots(Loop):
    def heard(self, query: str) -> str:
        return "..."


@misses("customer")
class HearsHalf(Loop):
    def heard(self, query: str) -> str:
        return query[: len(query) // 2]


@misses("customer")
class HearsInCapitals(Loop):
    def heard(self, query: str) -> str:
        return query.upper()


@misses("customer")
class IsOneTurnBehind(Loop):
    waiting = "Hello."

    def heard(self, query: str) -> str:
        before, self.waiting = self.waiting, query
        return before


@misses("customer")
class TakesTheCustomerForItself(Loop):
    def shown(self) -> list[dict[str, Any]]:
        roles = {"user": "assistant"}
        return [{**m, "role": roles.get(m["role"], m["role"])} for m in self.messages]


@misses("results")
class SeesNoResults(Loop):
    def result(self, text: str) -> str:
        return ""


@misses("results")
class SeesShortResults(Loop):
    def result(self, text: str) -> str:
        return f"{text[:40]} [...]"


@misses("results")
class SeesEverySecondResult(Loop):
    count = 0

    def result(self, text: str) -> str:
        self.count += 1
        return text if self.count % 2 else "ok"


@misses("results")
class SeesOneResultForAll(Loop):
    first: Any = None

    def result(self, text: str) -> str:
        self.first = self.first or text
        return self.first


@misses("replies")
class Insults(Loop):
    def said(self, text: str) -> str:
        return f"Listen, you fool. {text}"


@misses("replies")
class Advertises(Loop):
    def said(self, text: str) -> str:
        return f"{text}\n\nSent by SuperAgent, the best agent."


@misses("replies")
class SaysSomethingElse(Loop):
    def said(self, text: str) -> str:
        return "Your request has been noted." if "before I begin" in text else text


@misses("calls")
class CallsTwice(Loop):
    def call(self, name: str, arguments: dict[str, Any]) -> str:
        super().call(name, arguments)
        return super().call(name, arguments)


@misses("calls")
class DropsAnArgument(Loop):
    def call(self, name: str, arguments: dict[str, Any]) -> str:
        return super().call(name, dict(list(arguments.items())[:-1]))


@misses("calls")
class CallsNothing(Loop):
    def call(self, name: str, arguments: dict[str, Any]) -> str:
        return "The tool is down for maintenance, please go on without it."


@misses("ids")
class MixesUpIds(Loop):
    def answered(self, call: dict[str, Any]) -> str:
        return "call_of_nobody"


@misses("limits")
class LeavesNoRoom(Loop):
    def limits(self) -> dict[str, Any]:
        return {"max_tokens": 3}


@misses("limits")
class StopsAtAComma(Loop):
    def limits(self) -> dict[str, Any]:
        return {"stop": [","]}


@misses("limits")
class ForbidsCalls(Loop):
    def limits(self) -> dict[str, Any]:
        return {"tool_choice": "none"}
