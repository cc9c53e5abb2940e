"""OpenAI's Responses API, through the library ``openai``.

Nothing is stored on the server: each request holds the whole conversation, with what the model
thought in encrypted form, which only the API can read.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from maseval.core.answers import call_id, tokens
from maseval.core.exceptions import UnreadableAnswerError
from maseval.core.messages import ChatResponse, ChatUsage, Message, Reasoning, ToolCall, chat_usage
from maseval.core.reasoning import ReasoningPolicy
from maseval.core.words import excerpt
from maseval.interface.inference.chat_completions import (
    NO_PARAMETERS,
    ToolChoice,
    as_json,
    as_object,
    check_error,
    get,
    list_in,
    reading,
    received_call,
    text_of,
    thought_details,
    typed_parts,
)
from maseval.interface.inference.endings import check_ending
from maseval.interface.inference.openai import OpenAIModelAdapter, UnusableClientError
from maseval.interface.inference.provider import ModelRequest, warn_seed_unused, with_extra_body

ResponseItem = dict[str, Any]
"""One item of a conversation: a message, a call, its output, or what the model thought."""

_ITEMS = "output_items"
_ENCRYPTED = "reasoning.encrypted_content"
_OWN_NAMES = {"max_tokens": "max_output_tokens", "max_completion_tokens": "max_output_tokens"}


class OpenAIResponsesModelAdapter(OpenAIModelAdapter):
    """A model behind an ``openai.OpenAI`` client, asked through ``responses`` instead of ``chat``.

    The API takes no seed: one is left out, with a warning.
    """

    # The API asks for what the model thought since the last user message.
    default_reasoning_policy = ReasoningPolicy.AUTO

    def __init__(self, client: object, model_id: str, *args: Any, **settings: Any) -> None:
        super().__init__(client, model_id, *args, **settings)
        if not hasattr(get(client, "responses"), "create"):
            raise UnusableClientError(
                f"{client!r} has no responses.create; pass an openai.OpenAI client"
            )
        self._encrypts = True

    def _ask(self, request: ModelRequest) -> ChatResponse:
        if request.params.pop("seed", None) is not None:
            warn_seed_unused("openai-responses", self.model_id)
        body = self._body(request)
        try:
            answer = self._create(body)
        except Exception as error:
            # Models that do not think refuse to encrypt what they thought.
            if not (self._encrypts and "ncrypted content is not supported" in str(error)):
                raise
            # Remembered, so that further requests to this model are not refused first.
            self._encrypts = False
            answer = self._create(body)
        with reading(answer):
            return self._read(answer)

    def _create(self, body: dict[str, object]) -> object:
        include = body.get("include")
        asked = [*(include if isinstance(include, list) else ())]
        if self._encrypts and not body.get("store") and _ENCRYPTED not in asked:
            asked.append(_ENCRYPTED)
        create = self._client.responses.create
        return create(**with_extra_body(create, {**body, **({"include": asked} if asked else {})}))

    def _body(self, request: ModelRequest) -> dict[str, object]:
        messages, params, tools, tool_choice = request
        body: dict[str, object] = {
            "model": self.model_id,
            "store": False,
            "input": [item for message in messages for item in _items(message)],
        }
        body |= {_OWN_NAMES.get(name, name): value for name, value in params.items()}
        if effort := body.pop("reasoning_effort", None):
            body["reasoning"] = {"effort": effort, **as_object(body.get("reasoning"))}
        if wanted := body.pop("response_format", None):
            body["text"] = {**as_object(body.get("text")), "format": _format(wanted)}
        if tools:
            body["tools"] = [_tool(tool["function"]) for tool in tools]
        if tool_choice is not None:
            body["tool_choice"] = _choice(tool_choice)
        return body

    def _read(self, answer: object) -> ChatResponse:
        check_error(get(answer, "error"))
        status = get(answer, "status")
        ended_by = get(get(answer, "incomplete_details"), "reason")
        check_ending(ended_by or status)
        output = typed_parts(answer, "output")
        if not output and ended_by is None:
            raise UnreadableAnswerError(f"no output in the answer {excerpt(answer)}")
        calls = [
            received_call(get(item, "call_id"), get(item, "name"), get(item, "arguments"))
            for item in output
            if get(item, "type") == "function_call"
        ]
        texts = [text for item in output if get(item, "type") == "message" for text in _texts(item)]
        return ChatResponse(
            content="".join(texts) if texts else None,
            tool_calls=calls or None,
            usage=_usage(get(answer, "usage")),
            model=get(answer, "model"),
            stop_reason=ended_by or status,
            reasoning=_reasoning(output),
        )


def _items(message: Message) -> Iterator[ResponseItem]:
    text = text_of(message.get("content"))
    match message["role"]:
        case "assistant":
            yield from _spoken_items(message, text)
        case "tool":
            yield {
                "type": "function_call_output",
                "call_id": message.get("tool_call_id"),
                "output": text,
            }
        case role:
            yield {"role": role, "content": text}


def _spoken_items(message: Message, text: str) -> Iterator[ResponseItem]:
    """Yield what the model said, thoughts included, in the order in which it did."""
    waiting: dict[object, ResponseItem] = {}
    if text:
        waiting["message"] = {"role": "assistant", "content": text}
    for call in message.get("tool_calls") or ():
        waiting["call", call.get("id")] = _call_item(call)
    for item in thought_details(message).get(_ITEMS) or ():
        match item:
            case {"type": "message"}:
                key: object = "message"
            case {"type": "function_call", "call_id": known}:
                key = "call", known
            case _:
                yield item
                continue
        if key in waiting:
            yield waiting.pop(key)
    yield from waiting.values()


def _call_item(call: ToolCall) -> ResponseItem:
    function = call["function"]
    return {
        "type": "function_call",
        "call_id": call.get("id"),
        "name": function["name"],
        "arguments": as_json(function.get("arguments")),
    }


def _tool(function: Mapping[str, Any]) -> ResponseItem:
    return {
        "type": "function",
        "name": function["name"],
        "description": function.get("description", ""),
        "parameters": function.get("parameters") or NO_PARAMETERS,
        # Otherwise the API changes the schema; chat completions leave it as it is.
        "strict": False,
    }


def _choice(choice: ToolChoice) -> object:
    if isinstance(choice, Mapping) and "function" in choice:
        return {"type": "function", "name": choice["function"]["name"]}
    return choice


def _format(wanted: object) -> object:
    schema = get(wanted, "json_schema")
    return {"type": "json_schema", **schema} if isinstance(schema, Mapping) else wanted


def _texts(item: object) -> Iterator[str]:
    parts = get(item, "content")
    if not isinstance(parts, Sequence) or isinstance(parts, str):
        raise UnreadableAnswerError(f"the content of a message is no list: {excerpt(parts)}")
    for part in parts:
        text = get(part, "refusal" if get(part, "type") == "refusal" else "text")
        if not isinstance(text, str):
            raise UnreadableAnswerError(f"a part of a message without text: {excerpt(part)}")
        yield text


def _reasoning(output: Sequence[object]) -> Reasoning | None:
    """Return the thoughts; the items of an answer are listed, as their order must be kept."""
    thoughts = [item for item in output if get(item, "type") == "reasoning"]
    if not thoughts:
        return None
    parts = [
        part for item in thoughts for name in ("summary", "content") for part in list_in(item, name)
    ]
    order = [_note_item(item) for item in output]
    return {
        "text": "\n".join(str(get(part, "text") or "") for part in parts),
        "details": {_ITEMS: [item for item in order if item]},
    }


def _note_item(item: object) -> ResponseItem | None:
    match get(item, "type"):
        case "message":
            return {"type": "message"}
        case "function_call":
            return {"type": "function_call", "call_id": call_id(get(item, "call_id"))}
        # Without either of these, the API would look for an item that it did not store.
        case "reasoning" if get(item, "encrypted_content") or list_in(item, "content"):
            dump: Any = getattr(item, "model_dump", None)
            whole: Any = item if dump is None else dump(exclude_none=True, warnings=False)
            return {key: value for key, value in whole.items() if key != "status"}
    return None


def _usage(usage: object) -> ChatUsage | None:
    if usage is None:
        return None
    return chat_usage(
        tokens(get(usage, "input_tokens")),
        tokens(get(usage, "output_tokens")),
        tokens(get(usage, "total_tokens")),
        cached_input_tokens=tokens(get(get(usage, "input_tokens_details"), "cached_tokens")),
        reasoning_tokens=tokens(get(get(usage, "output_tokens_details"), "reasoning_tokens")),
    )


from_id = OpenAIResponsesModelAdapter.from_id
