"""Users and tools simulated by a language model.

A simulator fills a prompt template, asks the model, and parses the JSON object in its response; a
response that cannot be parsed, or a failed call, is retried at once.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, TypeVar, cast
from uuid import uuid4

from maseval.core.exceptions import (
    ConfigurationError,
    EnvironmentError,
    MASEvalError,
    TaskTimeoutError,
    UserError,
)
from maseval.core.messages import Message
from maseval.core.model import ModelAdapter, Params
from maseval.core.provider_errors import ProviderError, model_of
from maseval.core.storage.redaction import redact, redact_text
from maseval.core.tracing import JsonObject, TraceableMixin, call_counts, now
from maseval.core.words import count_of, fill_template

Parsed = TypeVar("Parsed")


class SimulatorCallStatus(Enum):
    ModelCallError = "ModelCallError"
    ModelParsingError = "ModelParsingError"
    Successful = "Successful"


class SimulatorError(MASEvalError):
    """A simulator gave up; ``logs`` holds the attempts of the call that failed."""

    def __init__(
        self,
        message: str,
        attempts: int = 0,
        last_error: str | None = None,
        logs: list[JsonObject] | None = None,
        component: str | None = None,
    ) -> None:
        outcome = {"attempts": attempts, "last_error": last_error}
        super().__init__(message, component=component, details=outcome)
        self.attempts, self.last_error = attempts, last_error
        self.logs = [] if logs is None else logs

    def __str__(self) -> str:
        text = super().__str__()
        if self.attempts:
            text += f" (attempts: {self.attempts})"
        if self.last_error:
            text += f" Last error: {self.last_error}"
        return text


class ToolSimulatorError(SimulatorError, EnvironmentError):
    """A simulated tool gave up: a failure of the environment."""


class UserSimulatorError(SimulatorError, UserError):
    """A simulated user gave up: a failure of the user."""


class LLMSimulator(ABC, TraceableMixin, Generic[Parsed]):
    """Asks ``model`` with a filled ``template`` until the answer can be read, ``max_try`` times.

    ``generation_params`` hold for every call; those of a single call win over them.
    """

    template_name: ClassVar[str | None] = None
    """The text file in ``maseval/core/templates`` that is used if no template is given."""

    plays: ClassVar[Literal["user", "tool"]] = "tool"
    """Whose failure it is if the model's provider does not answer."""

    def __init__(
        self,
        model: ModelAdapter,
        template: str | None = None,
        max_try: int = 3,
        generation_params: Params | None = None,
    ) -> None:
        if max_try < 1:
            raise ConfigurationError(f"max_try must be at least 1, not {max_try}")
        if template is None and self.template_name is not None:
            template = _packaged_template(self.template_name)
        self.model = model
        self.template = template
        self.max_try = max_try
        self.generation_params: dict[str, object] = dict(generation_params or {})
        self.logs: list[JsonObject] = []

    @abstractmethod
    def _fill_prompt_template(self, **kwargs: object) -> str:
        """Return the prompt for one call; ``kwargs`` are the call's inputs."""

    @abstractmethod
    def _parse_output(self, output: str) -> Parsed:
        """Parse the response; ``JSONDecodeError`` or ``AttributeError`` causes another attempt."""

    error_type: ClassVar[type[SimulatorError]] = SimulatorError
    component: str | None = None

    def _create_error(
        self, message: str, attempts: int, last_error: str | None, logs: list[JsonObject]
    ) -> SimulatorError:
        return self.error_type(message, attempts, last_error, logs, component=self.component)

    def __call__(self, generation_params: Params | None = None, **kwargs: object) -> Parsed:
        return self._simulate(kwargs, generation_params)

    def _simulate(self, inputs: dict[str, object], generation_params: Params | None) -> Parsed:
        params = {**self.generation_params, **(generation_params or {})}
        call_id, prompt = str(uuid4()), self._fill_prompt_template(**inputs)
        attempts: list[JsonObject] = []
        for _ in range(self.max_try):
            attempt: JsonObject = {
                "id": call_id,
                "input": inputs,
                "prompt": prompt,
                "generation_params": redact(params),
                "raw_output": None,
                "parsed_output": None,
                "status": None,
                "error": None,
                "timestamp": now(),
            }
            attempts.append(attempt)
            self.logs.append(attempt)
            status, error = self._try_once(attempt, params)
            attempt["status"] = status.value
            attempt["error"] = None if error is None else redact_text(str(error))
            if error is None:
                return cast(Parsed, attempt["parsed_output"])
        tried = count_of(self.max_try, "attempt")
        raise self._create_error(
            f"{type(self).__name__} failed to parse model output after {tried}",
            len(attempts),
            attempts[-1]["error"],
            attempts,
        )

    def _try_once(
        self, attempt: JsonObject, params: Params
    ) -> tuple[SimulatorCallStatus, Exception | None]:
        try:
            with model_of(self.plays):
                output = self.model.generate(attempt["prompt"], generation_params=params)
        except (TaskTimeoutError, ProviderError):
            raise  # the model has already retried its provider
        except Exception as error:  # other models raise what they like, and may recover
            return SimulatorCallStatus.ModelCallError, error
        attempt["raw_output"] = output
        try:
            attempt["parsed_output"] = self._parse_output(output)
        except (json.JSONDecodeError, AttributeError) as error:
            return SimulatorCallStatus.ModelParsingError, error
        return SimulatorCallStatus.Successful, None

    def gather_traces(self) -> JsonObject:
        return {
            **super().gather_traces(),
            "simulator_type": type(self).__name__,
            **call_counts(self.logs, SimulatorCallStatus.Successful.value),
        }


class ToolLLMSimulator(LLMSimulator[tuple[str, dict[str, object]]]):
    """A tool simulated by a model: call it with the tool's arguments, get ``(text, details)``."""

    template_name = "tool_llm_simulator_template.txt"
    error_type = ToolSimulatorError

    def __init__(
        self,
        model: ModelAdapter,
        tool_name: str,
        tool_description: str,
        tool_inputs: dict[str, object],
        template: str | None = None,
        max_try: int = 3,
        generation_params: Params | None = None,
    ) -> None:
        super().__init__(model, template, max_try, generation_params)
        self.tool_name = self.component = tool_name
        self.tool_description = tool_description
        self.tool_inputs = tool_inputs

    def _fill_prompt_template(self, **kwargs: object) -> str:
        return _fill(self.template, **self._values(kwargs))

    def _values(self, arguments: Mapping[str, object]) -> dict[str, object]:
        return {
            "name": self.tool_name,
            "description": self.tool_description,
            "inputs": self.tool_inputs,
            "input_value_dict": arguments,
        }

    def _parse_output(self, output: str) -> tuple[str, dict[str, object]]:
        answer = _json_object(output)
        return _text(answer), answer.get("details") or {}


class _PersonSimulator(LLMSimulator[Parsed]):
    """The common part of both simulated users: a profile and a stop condition."""

    plays = "user"
    error_type = UserSimulatorError
    component = "user_simulator"

    def __init__(
        self,
        model: ModelAdapter,
        user_profile: Mapping[str, object] | str,
        scenario: str,
        template: str | None = None,
        max_try: int = 3,
        generation_params: Params | None = None,
        stop_token: str | None = None,
        early_stopping_condition: str | None = None,
    ) -> None:
        super().__init__(model, template, max_try, generation_params)
        if (stop_token is None) != (early_stopping_condition is None):
            raise ConfigurationError(
                "stop_token and early_stopping_condition must both be set or both be None, not "
                f"{stop_token!r} and {early_stopping_condition!r}"
            )
        self.user_profile = user_profile
        self.scenario = scenario
        self.stop_token = stop_token
        self.early_stopping_condition = early_stopping_condition

    # The one input of a simulated user is known, so it may be given by position.
    def __call__(  # type: ignore[override]
        self, conversation_history: Sequence[Message], generation_params: Params | None = None
    ) -> Parsed:
        inputs: dict[str, object] = {"conversation_history": list(conversation_history)}
        return self._simulate(inputs, generation_params)

    def _fill_prompt_template(self, **kwargs: object) -> str:
        said = cast(Sequence[Message], kwargs["conversation_history"])
        return _fill(self.template, **self._values(said))

    def _values(self, conversation_history: Sequence[Message]) -> dict[str, object]:
        return {
            "user_profile": self.user_profile,
            "scenario": self.scenario,
            "conversation_history": "".join(
                f"{message.get('role')}: {message.get('content') or ''}\n"
                for message in conversation_history
            ),
            "early_stopping_instructions": ""
            if self.stop_token is None
            else "\n### EARLY STOPPING\n"
            f"The conversation is over as soon as this holds: {self.early_stopping_condition}\n"
            f"When it does, and only then, end your text with `{self.stop_token}`.\n",
        }

    def _text_with_stop_token(self, answer: Mapping[str, object], output: str) -> str:
        """Return the text with the stop token, even if the model put that elsewhere."""
        text = _text(answer)
        if self.stop_token and self.stop_token in output and self.stop_token not in text:
            return f"{text} {self.stop_token}"
        return text


class UserLLMSimulator(_PersonSimulator[str]):
    """A person simulated by a model: call it with the conversation, get the next message."""

    template_name = "user_llm_simulator_template.txt"

    def _parse_output(self, output: str) -> str:
        return self._text_with_stop_token(_json_object(output), output)


class AgenticUserLLMSimulator(_PersonSimulator[tuple[str, list[dict[str, object]]]]):
    """A person with tools: the result is ``(text, tool_calls)``, each call ``{name, arguments}``.

    Takes the arguments of ``UserLLMSimulator`` and ``tools``: descriptions ``{name, description,
    inputs?}``. The caller runs the tools.
    """

    template_name = "agentic_user_llm_simulator_template.txt"

    def __init__(
        self, *args: Any, tools: list[dict[str, object]] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.tools = tools or []

    def _values(self, conversation_history: Sequence[Message]) -> dict[str, object]:
        values = super()._values(conversation_history)
        return {**values, "tool_instructions": self._tool_instructions()}

    def _tool_instructions(self) -> str:
        if not self.tools:
            return ""
        return (
            "\n### TOOLS\nThis person can use these tools:\n"
            + "".join(_tool_lines(tool) for tool in self.tools)
            + "To use some of them, put the calls into your JSON object:\n"
            '"tool_calls": [{"name": "<tool>", "arguments": {"<input>": <value>}}]\n'
        )

    def _parse_output(self, output: str) -> tuple[str, list[dict[str, object]]]:
        answer = _json_object(output)
        tool_calls = answer.get("tool_calls") or []
        if not isinstance(tool_calls, list) or not all(isinstance(c, dict) for c in tool_calls):
            # Like any other answer that cannot be read, so that the model is asked again.
            raise json.JSONDecodeError("tool_calls must be a list of objects", output, 0)
        return self._text_with_stop_token(answer, output), tool_calls


@cache
def _packaged_template(name: str) -> str:
    return (Path(__file__).with_name("templates") / name).read_text(encoding="utf-8")


def _fill(template: str | None, **values: object) -> str:
    """Return the template with its ``{{names}}`` replaced; what is no text is written as JSON."""
    texts = {
        name: value if isinstance(value, str) else json.dumps(value, indent=2, default=str)
        for name, value in values.items()
    }
    return fill_template(template or "", texts)


def _json_object(output: str) -> JsonObject:
    """Return the JSON object in a model's response, ignoring any text around it."""
    # Many models explain their answer, or put it into a fence.
    first, last = output.find("{"), output.rfind("}")
    try:
        found = json.loads(output[first : last + 1] if -1 < first < last else output.strip())
    except json.JSONDecodeError:
        raise
    except (ValueError, RecursionError) as error:  # a number or a nesting beyond Python's limits
        raise json.JSONDecodeError(str(error), output, 0) from error
    if not isinstance(found, dict):
        raise json.JSONDecodeError("expected a JSON object", output, 0)
    return found


def _text(answer: Mapping[str, object]) -> str:
    text = answer.get("text")
    return "" if text is None else str(text)


def _tool_lines(tool: Mapping[str, object]) -> str:
    lines = f"- {tool.get('name')}: {tool.get('description', '')}\n"
    if tool.get("inputs"):
        lines += f"  Inputs: {json.dumps(tool['inputs'], default=str)}\n"
    return lines
