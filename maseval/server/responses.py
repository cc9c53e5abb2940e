"""OpenAI's Responses API from the server's side, translated to chat completions and back.

A client may send the whole conversation, or name the response that it continues; those are kept
for as long as the server lives. Built-in tools of the provider are left out.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any
from uuid import uuid4

from maseval.server.completion import Completion, Refusal, RequestBody, encode

Item = dict[str, Any]

_TRANSLATED = frozenset(
    {"input", "instructions", "previous_response_id", "text", "tools", "tool_choice"}
    | {"store", "include", "reasoning", "truncation", "conversation", "prompt_cache_key"}
)


class KeptResponses:
    """Translates requests and answers, and keeps the conversations that may be continued."""

    def __init__(self) -> None:
        self._conversations: dict[str, list[Item]] = {}
        self._items: dict[str, Item] = {}

    def to_chat(self, body: RequestBody) -> RequestBody:
        """Return a request as one for chat completions."""
        earlier = body.get("previous_response_id")
        if earlier is not None and earlier not in self._conversations:
            raise Refusal(f"no response {earlier!r} is known here", status=HTTPStatus.NOT_FOUND)
        given = body.get("input")
        items = [{"role": "user", "content": given}] if isinstance(given, str) else given
        if not isinstance(items, list):
            raise Refusal("the request has no input: a text, or a list of items")
        messages = [*self._conversations.get(str(earlier), ()), *_messages(self._known(items))]
        instructions = [{"role": "system", "content": body.get("instructions")}]
        chat = {key: value for key, value in body.items() if key not in _TRANSLATED}
        chat["messages"] = [*(instructions if body.get("instructions") else ()), *messages]
        if tools := [_tool(tool) for tool in body.get("tools") or () if "name" in tool]:
            chat["tools"] = tools
        choice = body.get("tool_choice")
        if isinstance(choice, Mapping) and "name" in choice:
            choice = {"type": "function", "function": {"name": choice["name"]}}
        chat["tool_choice"] = choice
        format = (body.get("text") or {}).get("format") or {}
        if format.get("type") == "json_schema":
            chat["response_format"] = {"type": "json_schema", "json_schema": format}
        elif format.get("type") == "json_object":
            chat["response_format"] = format
        return chat

    def to_response(self, chat: RequestBody, answer: Completion, body: RequestBody) -> Completion:
        """Return an answer in this API's form, and keep it."""
        choice = answer["choices"][0]
        message = choice["message"]
        output = [*_output(message)]
        response_id = f"resp_{uuid4().hex}"
        kept = [message for message in chat["messages"] if message.get("role") != "system"]
        self._conversations[response_id] = [*kept, message]
        # A client may send the id of an item instead of the item.
        self._items |= {item["id"]: item for item in output}
        usage = answer.get("usage") or {}
        asked, answered = usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
        return {
            "id": response_id,
            "object": "response",
            "created_at": int(time.time()),
            "status": "completed",
            "error": None,
            "incomplete_details": None,
            "model": answer.get("model"),
            "output": output,
            "instructions": body.get("instructions"),
            "previous_response_id": body.get("previous_response_id"),
            "parallel_tool_calls": body.get("parallel_tool_calls", True),
            "tools": body.get("tools") or [],
            "tool_choice": body.get("tool_choice") or "auto",
            "text": body.get("text") or {"format": {"type": "text"}},
            "temperature": body.get("temperature", 1.0),
            "top_p": body.get("top_p", 1.0),
            "metadata": body.get("metadata") or {},
            "usage": {
                "input_tokens": asked,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": answered,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": asked + answered,
            },
        }

    def _known(self, items: Sequence[Item]) -> Iterator[Item]:
        for item in items:
            if isinstance(item, dict):
                yield self._items.get(str(item.get("id")), item) if _refers(item) else item


def _refers(item: Item) -> bool:
    return item.get("type") == "item_reference"


def _messages(items: Iterator[Item]) -> list[Item]:
    messages: list[Item] = []
    for item in items:
        match item.get("type", "message"):
            case "message":
                role = "system" if item.get("role") == "developer" else item.get("role")
                messages.append({"role": role, "content": _text(item.get("content"))})
            case "function_call":
                function = {"name": item.get("name"), "arguments": item.get("arguments") or "{}"}
                call = {"id": item.get("call_id"), "type": "function", "function": function}
                # The calls of a turn are items here, and parts of one message there.
                if messages and messages[-1].get("tool_calls"):
                    messages[-1]["tool_calls"].append(call)
                else:
                    messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            case "function_call_output":
                content, answered = _text(item.get("output")), item.get("call_id")
                messages.append({"role": "tool", "tool_call_id": answered, "content": content})
    return messages


def _text(content: object) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return "" if content is None else str(content)


def _tool(tool: Mapping[str, Any]) -> Item:
    function = {key: value for key, value in tool.items() if key != "type"}
    return {"type": "function", "function": function}


def _output(message: Mapping[str, Any]) -> Iterator[Item]:
    if message.get("content"):
        part = {"type": "output_text", "text": message["content"], "annotations": []}
        head = {"id": f"msg_{uuid4().hex}", "type": "message", "status": "completed"}
        yield {**head, "role": "assistant", "content": [part]}
    for call in message.get("tool_calls") or ():
        head = {"id": f"fc_{uuid4().hex}", "type": "function_call", "status": "completed"}
        yield {**head, "call_id": call["id"], **call["function"]}


def response_events(response: Completion) -> Iterator[bytes]:
    """Yield an answer as the events of a stream."""
    for number, event in enumerate(_events(response)):
        numbered = {**event, "sequence_number": number}
        yield f"event: {event['type']}\ndata: ".encode() + encode(numbered) + b"\n\n"


def _events(response: Completion) -> Iterator[Item]:
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for place, item in enumerate(response["output"]):
        where = {"item_id": item["id"], "output_index": place}
        empty: Item = {"content": []} if item["type"] == "message" else {"arguments": ""}
        added = {**item, **empty, "status": "in_progress"}
        yield {"type": "response.output_item.added", "output_index": place, "item": added}
        if item["type"] == "message":
            yield from _text_events({**where, "content_index": 0}, item["content"][0])
        else:
            name = "response.function_call_arguments"
            yield {"type": f"{name}.delta", **where, "delta": item["arguments"]}
            yield {
                "type": f"{name}.done",
                **where,
                "name": item["name"],
                "arguments": item["arguments"],
            }
        yield {"type": "response.output_item.done", "output_index": place, "item": item}
    yield {"type": "response.completed", "response": response}


def _text_events(where: Item, part: Item) -> Iterator[Item]:
    name, text = "response.output_text", part["text"]
    yield {"type": "response.content_part.added", **where, "part": {**part, "text": ""}}
    # In two pieces, as real servers send many.
    middle = len(text) // 2
    for piece in filter(None, (text[:middle], text[middle:])):
        yield {"type": f"{name}.delta", **where, "delta": piece, "logprobs": []}
    yield {"type": f"{name}.done", **where, "text": text, "logprobs": []}
    yield {"type": "response.content_part.done", **where, "part": part}
