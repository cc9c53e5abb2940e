"""The names of OpenTelemetry's semantic conventions for generative AI, and of our own attributes.

Version 1.38.0 of the conventions. Later they moved to a repository of their own under the same
names.
"""

from collections.abc import Sequence

from maseval.core.recorded import Shape
from maseval.core.words import text

CONVENTIONS = "1.38.0"
SCHEMA_URL = f"https://opentelemetry.io/schemas/{CONVENTIONS}"

OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
MODEL = "gen_ai.request.model"
AGENT = "gen_ai.agent.name"
CONVERSATION = "gen_ai.conversation.id"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
TOOL = "gen_ai.tool.name"
TOOL_TYPE = "gen_ai.tool.type"
CALL_ID = "gen_ai.tool.call.id"
CALL_ARGUMENTS = "gen_ai.tool.call.arguments"
CALL_RESULT = "gen_ai.tool.call.result"
INPUT = "gen_ai.input.messages"
OUTPUT = "gen_ai.output.messages"
EVALUATION = "gen_ai.evaluation.result"
SCORE_NAME = "gen_ai.evaluation.name"
SCORE = "gen_ai.evaluation.score.value"
SCORE_LABEL = "gen_ai.evaluation.score.label"
ERROR_TYPE = "error.type"

CHAT, EXECUTE_TOOL, INVOKE_AGENT = "chat", "execute_tool", "invoke_agent"

_PROVIDERS = {
    "OpenAIModelAdapter": "openai",
    "OpenAIResponsesModelAdapter": "openai",
    "AnthropicModelAdapter": "anthropic",
    "GoogleGenAIModelAdapter": "gcp.gemini",
}


def provider_of(model: str | None, adapter: str = "") -> str:
    """Return a model's provider: by the class that asks it, else by the first part of its id."""
    prefix = model.partition("/")[0] if model and "/" in model else ""
    return _PROVIDERS.get(adapter) or prefix or "_OTHER"


def message(role: str, content: object, calls: Sequence[Shape] = ()) -> str:
    """Return one message in the form of the conventions, as the JSON text of a list."""
    parts: list[Shape] = [{"type": "text", "content": content}] if content else []
    parts += [{"type": "tool_call", **call} for call in calls]
    return text([{"role": role, "parts": parts}])
