"""GGUF models in this process, through llama.cpp and its wheel ``xllamacpp``.

A model that was not trained for tools can call them all the same, because a schema constrains its
answers. The tools are described in the system message. Each answer is one object,
``{"content": text}`` or ``{"tool_calls": [{"name", "arguments"}]}``; earlier calls and results are
written the same way.
"""

import difflib
import json
import os
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from maseval.core import provider_errors as errors
from maseval.core.messages import ChatResponse, Message, ToolCall
from maseval.core.model import Params
from maseval.core.provider_errors import ProviderError
from maseval.core.structured import AnswerForm
from maseval.core.usage import CostCalculator
from maseval.interface import extras
from maseval.interface.inference.chat_completions import (
    NO_PARAMETERS,
    FunctionDefinition,
    ToolChoice,
    ToolDefinition,
    as_object,
    calls_so_far,
    chat_response,
    function_call,
    get,
    request_messages,
    text_of,
)
from maseval.interface.inference.provider import ModelRequest, ProviderModelAdapter, refuse_endpoint

_BEGUN = re.compile(r'\{\s*"content"\s*:\s*"')
_EXPLANATION = """\
These tools are at your disposal, each with the JSON schema of its arguments:
{tools}

Answer with one JSON object. To speak: {{"content": "what you say"}}
To call a tool: {{"tool_calls": [{{"name": "the tool", "arguments": {{...}}}}]}}"""

# The cache for earlier conversations: agent and user take turns at one model, and need not be
# processed from the beginning each time. llama.cpp's default is 8 GiB.
_CACHE_MIB = 2048

_loading = threading.Lock()


class LlamaCppModelAdapter(ProviderModelAdapter):
    """A model loaded by an ``xllamacpp.Server``.

    A schema constrains an answer to text or calls of the tools, so that even a model that was not
    trained for them makes well-formed calls. An answer has one call, unless the parameter
    ``parallel_tool_calls`` is true.
    """

    provider = "llamacpp"

    def __init__(
        self,
        server: Any,
        model_id: str,
        default_generation_params: Params | None = None,
        seed: int | None = None,
        cost_calculator: CostCalculator | None = None,
    ) -> None:
        super().__init__(model_id, default_generation_params, seed, cost_calculator)
        self._server = server

    def _answer_format(
        self, form: AnswerForm[Any], params: Params, *, has_tools: bool
    ) -> Params | None:
        # With tools, another grammar says what an answer may be.
        return None if has_tools else {"grammar": _grammar(form.schema)}

    def _ask(self, request: ModelRequest) -> ChatResponse:
        messages, params, tools, tool_choice = request
        parallel = bool(params.pop("parallel_tool_calls", False))
        schema = answer_schema(tools, tool_choice, parallel=parallel) if tools else None
        if schema is None:
            return self._answer({**params, "messages": request_messages(messages)})
        conversation = describe_tools_in_text(messages, tools or ())
        response = self._answer({**params, "messages": conversation, "grammar": _grammar(schema)})
        text = response.content or ""
        if text and not text.startswith("{"):  # llama.cpp ignores a grammar that it cannot read
            names = [tool["function"]["name"] for tool in tools or ()]
            hint = f"the parameters of one of the tools {names} cannot be turned into a grammar"
            raise self._error(errors.MalformedRequestError, hint)
        response.content, response.tool_calls = read_answer(text, calls_so_far(messages))
        return response

    def _answer(self, request: dict[str, object]) -> ChatResponse:
        try:
            answer = self._server.handle_chat_completions(request)
        except (RuntimeError, ValueError) as error:  # such as an unusable chat template
            raise self._error(errors.MalformedRequestError, error) from error
        if refusal := get(answer, "error"):
            text = f"{refusal['type']}: {refusal['message']}"
            raise self._status_error(get(refusal, "code"), text)
        response = chat_response(answer)
        response.model = self.model_id
        return response

    def _translate(self, error: Exception) -> ProviderError | None:
        return None


def _grammar(schema: dict[str, object]) -> str:
    """Return the grammar for a schema.

    It allows no white space between tokens, of which a small model writes more and more, and
    ignores constraints that a grammar cannot express, such as ``uniqueItems``.
    """
    library = extras.load("xllamacpp", extra="llamacpp")
    manner = {"whitespace_flexible": False, "lenient": True}
    return str(library.json_schema_to_grammar({**schema, "x-guidance": manner}))


def answer_schema(
    tools: Iterable[ToolDefinition],
    tool_choice: ToolChoice | None = None,
    *,
    parallel: bool = False,
) -> dict[str, object] | None:
    """Return the schema of an answer; None if no tool may be called: any text is allowed."""
    if tool_choice == "none":
        return None
    wanted = tool_choice["function"]["name"] if isinstance(tool_choice, Mapping) else None
    functions = [tool["function"] for tool in tools]
    offered = [f for f in functions if wanted is None or f["name"] == wanted]
    definitions: dict[str, object] = {}
    calls: dict[str, object] = {
        "type": "array",
        "minItems": 1,
        "items": {"anyOf": [_call_schema(function, definitions) for function in offered]},
    }
    if not parallel:
        calls["maxItems"] = 1
    forms = [_object(tool_calls=calls)]
    if tool_choice in (None, "auto"):
        forms.insert(0, _object(content={"type": "string", "minLength": 1}))
    schema: dict[str, object] = {"anyOf": forms}
    return {**schema, "$defs": definitions} if definitions else schema


def _call_schema(function: FunctionDefinition, definitions: dict[str, object]) -> dict[str, object]:
    """Return the schema of a call; its ``$defs`` move to the top of the whole schema."""
    name = function["name"]
    parameters = _rename_references(function.get("parameters") or NO_PARAMETERS, f"#/$defs/{name}.")
    for own_name, definition in parameters.pop("$defs", {}).items():
        definitions[f"{name}.{own_name}"] = definition
    return _object(name={"const": name}, arguments={"additionalProperties": False, **parameters})


def _rename_references(schema: Any, prefix: str) -> Any:
    if isinstance(schema, list):
        return [_rename_references(item, prefix) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: value.replace("#/$defs/", prefix)
        if key == "$ref" and isinstance(value, str)
        else _rename_references(value, prefix)
        for key, value in schema.items()
    }


def _object(**properties: object) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def describe_tools_in_text(
    messages: Sequence[Message], tools: Iterable[ToolDefinition]
) -> list[Message]:
    """Return the conversation with the tools described, calls and results as plain text."""
    explanation = _EXPLANATION.format(tools="\n".join(_line(tool["function"]) for tool in tools))
    system = [text_of(m.get("content")) for m in messages if m["role"] == "system"]
    first: Message = {"role": "system", "content": "\n\n".join([*system, explanation])}
    names: dict[str | None, str] = {
        call.get("id"): call["function"]["name"]
        for message in messages
        for call in message.get("tool_calls") or ()
    }
    return [first, *(_plain_message(m, names) for m in messages if m["role"] != "system")]


def _plain_message(message: Message, names: Mapping[str | None, str]) -> Message:
    text = text_of(message.get("content"))
    if message["role"] == "tool":
        call_id = message.get("tool_call_id")
        return {"role": "user", "content": f"Result of {names.get(call_id, call_id)}: {text}"}
    if message["role"] != "assistant":
        return {"role": message["role"], "content": text}
    if calls := message.get("tool_calls"):
        functions = [call["function"] for call in calls]
        answer: dict[str, object] = {
            "tool_calls": [
                {"name": function["name"], "arguments": as_object(function.get("arguments"))}
                for function in functions
            ]
        }
    else:
        answer = {"content": text}
    return {"role": "assistant", "content": json.dumps(answer, ensure_ascii=False)}


def _line(function: FunctionDefinition) -> str:
    schema = _without_titles(function.get("parameters") or NO_PARAMETERS)
    schema_text = json.dumps(schema, ensure_ascii=False)
    return f"- {function['name']}: {function.get('description', '')} {schema_text}"


def _without_titles(schema: Any) -> Any:
    """Remove titles, which repeat the names and make up a fifth of the prompt."""
    if isinstance(schema, list):
        return [_without_titles(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: value if key in ("const", "default", "enum", "examples") else _without_titles(value)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str))
    }


def read_answer(text: str, first_number: int = 0) -> tuple[str | None, list[ToolCall] | None]:
    """Return the text and the calls of an answer; of a truncated one, the text so far."""
    try:
        answer = json.loads(text)
    except ValueError:
        return _text_so_far(text), None
    match answer:
        case {"content": str(content)}:
            return content, None
        case {"tool_calls": [*calls]}:
            return None, [
                function_call(f"call_{number}", call["name"], call.get("arguments"))
                for number, call in enumerate(calls, first_number)
            ]
    return text, None


def _text_so_far(text: str) -> str:
    begun = _BEGUN.match(text)
    if begun is None:
        return text
    said = text[begun.end() :]
    # It may have been cut within an escape such as \u00e9, or between two surrogates.
    for end in range(len(said), max(len(said) - 6, -1), -1):
        with suppress(ValueError):
            return str(json.loads(f'"{said[:end]}"')).encode(errors="ignore").decode()
    return text


def from_id(
    name: str,
    *,
    threads: int | None = None,
    context_size: int = 8192,
    max_tokens: int = 1024,
    seed: int | None = None,
    cost_calculator: CostCalculator | None = None,
    generation_params: Params | None = None,
    **params: object,
) -> LlamaCppModelAdapter:
    """Return the adapter for ``llamacpp/<path>.gguf``, or part of a file's name in the cache.

    The cache folder is ``LLAMA_CACHE``, else llama.cpp's own. A file is loaded once and shared by
    all its adapters, which take turns. ``threads`` is the number of CPU threads, ``context_size``
    limits the tokens of a conversation, and ``max_tokens`` those of an answer.
    """
    extras.load("xllamacpp", extra="llamacpp")
    refuse_endpoint(f"llamacpp/{name}", params)
    path = _file(name)
    with _loading:
        server = _load(path, threads, context_size)
    defaults = {"max_tokens": max_tokens, **(generation_params or {}), **params}
    return LlamaCppModelAdapter(server, name, defaults, seed, cost_calculator)


def _file(name: str) -> Path:
    path = Path(name).expanduser()
    if path.is_file():
        return path.resolve()
    cache = Path(os.environ.get("LLAMA_CACHE") or "~/.cache/llama.cpp").expanduser()
    files = sorted(cache.glob("*.gguf"))
    alike = [file for file in files if name.lower() in file.name.lower()]
    if len(alike) == 1:
        return alike[0].resolve()
    seen = ", ".join(file.name for file in alike or files) or "no such file"
    raise errors.ModelNotFoundError(
        f"{name!r} is not a file, and matches no single GGUF file in {cache} (found: {seen})"
        f"{_nearest(path, files)}",
        provider="llamacpp",
        model_id=name,
    )


def _nearest(path: Path, files: list[Path]) -> str:
    beside = [str(file) for file in path.parent.glob("*.gguf")]
    known = [*beside, *(file.name for file in files)]
    alike = difflib.get_close_matches(str(path), known, n=1)
    return f"; did you mean 'llamacpp/{alike[0]}'?" if alike else ""


@cache
def _load(path: Path, threads: int | None, context_size: int) -> Any:
    library = extras.load("xllamacpp", extra="llamacpp")
    settings = library.CommonParams()
    settings.model.path = str(path)
    settings.n_ctx = context_size
    settings.n_parallel = 1
    settings.cache_ram_mib = _CACHE_MIB
    settings.warmup = False
    settings.verbosity = -1
    if threads is not None:
        settings.cpuparams.n_threads = threads
        settings.cpuparams_batch.n_threads = threads
    try:
        return library.Server(settings)
    except RuntimeError as error:
        raise errors.ModelNotFoundError(
            f"cannot load {path}: {error} Is it a complete GGUF file, and does it fit in memory?",
            provider="llamacpp",
            model_id=path.name,
        ) from error
