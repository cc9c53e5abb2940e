"""Messages in OpenAI's form with parts that are not text; nothing here uses these helpers."""

import base64
import json
import mimetypes
from collections.abc import Iterable, Mapping
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

from maseval.core.messages import Message, ToolCall, tool_call
from maseval.interface import extras

ContentPart: TypeAlias = dict[str, Any]
"""One part of a message's content: ``{"type": "text", "text": ...}`` and the like."""

_TOKENS_PER_MESSAGE, _CHARACTERS_PER_TOKEN = 4, 4


def create_text_content(text: str) -> ContentPart:
    """Return a part that is text."""
    return {"type": "text", "text": text}


def create_image_url_content(url: str, detail: str = "auto") -> ContentPart:
    """Return a part that is an image at an address."""
    return {"type": "image_url", "image_url": {"url": url, "detail": detail}}


def create_image_file_content(
    file_path: str | PathLike[str], detail: str = "auto", encode_base64: bool = False
) -> ContentPart:
    """Return a part that is an image in a file: by its address, or with its bytes."""
    file = Path(file_path)
    if not encode_base64:
        return create_image_url_content(file.absolute().as_uri(), detail)
    return create_image_url_content(_data_url(file.read_bytes(), _mime_type(file)), detail)


def create_image_from_pil(pil_image: Any, detail: str = "auto", format: str = "PNG") -> ContentPart:
    """Return a part that is an image of Pillow's, or anything else with its ``save``."""
    content = BytesIO()
    pil_image.save(content, format=format)
    return create_image_url_content(
        _data_url(content.getvalue(), f"image/{format.lower()}"), detail
    )


def create_image_from_numpy(
    numpy_array: Any, detail: str = "auto", format: str = "PNG"
) -> ContentPart:
    """Return a part that is an image of NumPy's, which Pillow writes."""
    image = extras.load_unlisted("PIL.Image", "Pillow").fromarray(numpy_array)
    return create_image_from_pil(image, detail, format)


def create_file_content(
    file_path: str | PathLike[str], mime_type: str | None = None
) -> ContentPart:
    """Return a part that is a file."""
    kind = mime_type or _mime_type(Path(file_path))
    return {"type": "file", "file_path": str(file_path), "mime_type": kind}


def create_audio_content(
    file_path: str | PathLike[str], mime_type: str | None = None
) -> ContentPart:
    """Return a part that is a recording."""
    return {**create_file_content(file_path, mime_type), "type": "audio"}


def create_multimodal_message(role: str, parts: Iterable[ContentPart | str]) -> dict[str, Any]:
    """Return a message of several parts; a string is a part that is text."""
    return {"role": role, "content": [_as_part(part) for part in parts]}


def _as_part(part: ContentPart | str) -> ContentPart:
    return create_text_content(part) if isinstance(part, str) else part


def create_tool_call(
    tool_name: str, arguments: Mapping[str, object] | str, call_id: str | None = None
) -> ToolCall:
    """Return a tool call in OpenAI's form, with an id of its own unless it is given one."""
    call = tool_call(tool_name, id=call_id or f"call_{uuid4().hex[:24]}")
    call["function"]["arguments"] = _as_text(arguments)
    return call


def extract_text_content(message: Message) -> str:
    """Return the text of a message, without its other parts."""
    content: object = message.get("content") or ""
    if not isinstance(content, list):
        return str(content)
    parts = map(_as_part, content)
    return " ".join(str(part["text"]) for part in parts if part.get("type") == "text")


def has_images(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    parts = map(_as_part, content if isinstance(content, list) else [])
    return any(part.get("type") in ("image_url", "image_file") for part in parts)


def has_tool_calls(message: Mapping[str, Any]) -> bool:
    return bool(message.get("tool_calls"))


def count_tokens_estimate(messages: Iterable[Message]) -> int:
    """Estimate the tokens of the messages: one per four characters, and four per message."""
    return sum(_TOKENS_PER_MESSAGE + _length(message) for message in messages)


def _length(message: Message) -> int:
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    texts = [extract_text_content(message), *(call["name"] for call in calls)]
    texts += [_as_text(call["arguments"]) for call in calls]
    return sum(len(text) // _CHARACTERS_PER_TOKEN for text in texts)


def _as_text(arguments: object) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def _data_url(content: bytes, mime_type: str) -> str:
    return f"data:{mime_type};base64,{base64.b64encode(content).decode()}"


def _mime_type(path: Path) -> str:
    return mimetypes.guess_type(path.name)[0] or "application/octet-stream"
