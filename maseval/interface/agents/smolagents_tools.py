"""Functions as smolagents tools: the model sees their full schemas, and only they check arguments.

smolagents rewrites a tool's schema before sending it, and refuses arguments that do not match it
before the tool sees them. It does both with the tool's ``inputs``, which are therefore made to be
sent unchanged and to match any arguments.
"""

import json
import textwrap
from collections.abc import Callable, ItemsView
from functools import cache
from typing import Any

from maseval.core.user import LLMUser, User
from maseval.interface import extras
from maseval.interface.agents.framework import Tool, Tools, as_text, describe_tools
from maseval.interface.inference.chat_completions import JsonSchema

EXTRA = "smolagents"

_ANYTHING = {"type": "any", "description": "", "nullable": True}
_TOLD_IN_WORDS = {"title", "description", "type", "default"}


def as_tools(tools: Tools) -> list[Any]:
    """Return functions, such as ``environment.tools``, as tools for any agent of smolagents."""
    make = _tool_class(extras.load("smolagents", extra=EXTRA).Tool)
    return [make(tool) for tool in describe_tools(tools)]


class Inputs(dict[str, JsonSchema]):
    """A tool's arguments as smolagents checks them: it accepts all of them.

    Unknown, missing or mistyped arguments are left to the tool. For the model, smolagents makes a
    deep copy, which is the real schema.
    """

    def __init__(self, parameters: JsonSchema) -> None:
        super().__init__(dict.fromkeys(parameters["properties"], _ANYTHING))
        self.properties: dict[str, JsonSchema] = parameters["properties"]
        self.required: list[str] = parameters.get("required", [])

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> JsonSchema:
        return _ANYTHING

    def __deepcopy__(self, memo: dict[int, object]) -> "Properties":
        return Properties(self)

    def __repr__(self) -> str:
        """Return the text that ``ToolCallingAgent`` writes into its prompt."""
        return repr(self.properties)


class Properties(dict[str, JsonSchema]):
    """The arguments' schemas as they are sent; the first iteration sees stand-ins.

    That iteration is smolagents', which looks for required arguments and would rewrite ``anyOf``.
    """

    def __init__(self, inputs: Inputs) -> None:
        super().__init__(json.loads(json.dumps(inputs.properties)))
        self._stand_ins: dict[str, JsonSchema] | None = {
            name: {"type": "string", "nullable": name not in inputs.required} for name in self
        }

    def items(self) -> ItemsView[str, JsonSchema]:  # type: ignore[override]
        stand_ins, self._stand_ins = self._stand_ins, None
        return super().items() if stand_ins is None else stand_ins.items()


@cache
def _tool_class(base: type) -> Callable[[Tool], object]:
    class SmolFunctionTool(base):  # type: ignore[misc]
        skip_forward_signature_validation = True
        output_type = "string"

        def __init__(self, tool: Tool) -> None:
            super().__init__()
            self.name = tool.name
            self.description = tool.description
            self.inputs = Inputs(tool.inlined_parameters)
            self.function: Callable[..., object] = tool.function

        def __call__(
            self, /, *args: object, sanitize_inputs_outputs: bool = False, **kwargs: object
        ) -> object:
            """Return the result: as text for agents that call tools, else unchanged.

            Agents that write code get it unchanged; only the others request sanitizing.
            """
            result = self.forward(*args, **kwargs)
            return as_text(result) if sanitize_inputs_outputs else result

        def forward(self, /, *args: object, **kwargs: object) -> object:
            return self.function(*args, **kwargs)

        def to_code_prompt(self) -> str:
            return _code_prompt(self.name, self.description, self.inputs)

        def to_dict(self) -> dict[str, object]:
            """Return the tool's description; its code cannot be saved by smolagents."""
            names = {"name": self.name, "description": self.description}
            return {**names, "inputs": self.inputs.properties, "requirements": []}

    return SmolFunctionTool


def _code_prompt(name: str, description: str, inputs: Inputs) -> str:
    """Return the tool as a ``CodeAgent`` sees it, in smolagents' form, with the full schemas."""
    signature = ", ".join(
        f"{argument}: {schema.get('type', 'any')}"
        + ("" if argument in inputs.required else f" = {schema.get('default')!r}")
        for argument, schema in inputs.properties.items()
    )
    arguments = [f"{argument}: {_argument_text(s)}" for argument, s in inputs.properties.items()]
    args = "\n\nArgs:\n" + textwrap.indent("\n".join(arguments), "    ") if arguments else ""
    docstring = textwrap.indent(f'"""{description}{args}\n"""', "    ")
    return f"def {name}({signature}) -> string:\n{docstring}"


def _argument_text(schema: JsonSchema) -> str:
    words = str(schema.get("description", ""))
    if schema.keys() <= _TOLD_IN_WORDS:
        return words
    rest = {key: value for key, value in schema.items() if key not in ("title", "description")}
    return f"{words} {json.dumps(rest, ensure_ascii=False)}".lstrip()


class SmolAgentLLMUser(LLMUser):
    """A simulated user that the agent can ask through a tool."""

    def get_tool(self) -> Any:
        """Return smolagents' tool ``user_input``, answered by this user."""
        return _user_tool_class(extras.load("smolagents", extra=EXTRA).UserInputTool)(self)


@cache
def _user_tool_class(base: type) -> Any:
    class SmolAgentUserSimulationInputTool(base):  # type: ignore[misc]
        """smolagents' tool ``user_input``, answered by a user."""

        def __init__(self, user: User) -> None:
            super().__init__()
            self.user: User = user

        def forward(self, question: str) -> str:
            return self.user.respond(question)

    return SmolAgentUserSimulationInputTool


def __getattr__(name: str) -> Any:
    """Load the class of the user's tool, which is derived from one of smolagents."""
    if name == "SmolAgentUserSimulationInputTool":
        return _user_tool_class(extras.load("smolagents", extra=EXTRA).UserInputTool)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
