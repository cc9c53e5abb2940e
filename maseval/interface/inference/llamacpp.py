"""GGUF models in this process, through llama.cpp and its wheel ``xllamacpp``."""

import difflib
import os
import threading
from pathlib import Path
from typing import Protocol

from maseval.core.exceptions import ConfigurationError
from maseval.core.messages import ChatResponse, Message
from maseval.core.model import Params
from maseval.core.provider_errors import (
    MalformedRequestError,
    ModelNotFoundError,
    ProviderError,
)
from maseval.core.usage import CostCalculator
from maseval.interface import extras
from maseval.interface.inference.chat_completions import (
    ToolChoice,
    ToolDefinitions,
    calls_so_far,
    chat_response,
    get,
    request_messages,
)
from maseval.interface.inference.json_tools import answer_schema, read_answer, told
from maseval.interface.inference.provider import ProviderModelAdapter


class LlamaServer(Protocol):
    """What is used of ``xllamacpp.Server``."""

    def handle_chat_completions(self, request: dict[str, object], /) -> object: ...


# The cache for earlier conversations: agent and user take turns at one model, and need not be
# processed from the beginning each time. llama.cpp's default is 8 GiB.
_CACHE_MIB = 2048

_loading = threading.Lock()
_loaded: dict[tuple[Path, int | None, int], LlamaServer] = {}


class LlamaCppModelAdapter(ProviderModelAdapter):
    """A model loaded by an ``xllamacpp.Server``.

    Tools are offered through :mod:`maseval.interface.inference.json_tools`: a schema constrains the
    answer, so that even a model that was not trained for tools makes well-formed calls. An answer
    has one call, unless the parameter ``parallel_tool_calls`` is true.
    """

    provider = "llamacpp"

    def __init__(
        self,
        server: LlamaServer,
        model_id: str,
        default_generation_params: Params | None = None,
        seed: int | None = None,
        cost_calculator: CostCalculator | None = None,
    ) -> None:
        super().__init__(model_id, default_generation_params, seed, cost_calculator)
        self._server = server

    def _ask(
        self,
        messages: list[Message],
        params: dict[str, object],
        tools: ToolDefinitions | None,
        tool_choice: ToolChoice | None,
    ) -> ChatResponse:
        parallel = bool(params.pop("parallel_tool_calls", False))
        schema = answer_schema(tools, tool_choice, parallel=parallel) if tools else None
        if schema is None:
            return self._answer({**params, "messages": request_messages(messages)})
        conversation = told(messages, tools or ())
        response = self._answer({**params, "messages": conversation, "grammar": _grammar(schema)})
        text = response.content or ""
        if text and not text.startswith("{"):  # llama.cpp ignores a grammar that it cannot read
            names = [tool["function"]["name"] for tool in tools or ()]
            hint = f"the parameters of one of the tools {names} cannot be turned into a grammar"
            raise self._failed(MalformedRequestError, hint)
        response.content, response.tool_calls = read_answer(text, calls_so_far(messages))
        return response

    def _answer(self, request: dict[str, object]) -> ChatResponse:
        try:
            answer = self._server.handle_chat_completions(request)
        except (RuntimeError, ValueError) as error:  # such as an unusable chat template
            raise self._failed(MalformedRequestError, error) from error
        if refusal := get(answer, "error"):
            text = f"{refusal['type']}: {refusal['message']}"
            raise self._failed_with(get(refusal, "code"), text)
        response = chat_response(answer)
        response.model = self.model_id
        return response

    def _meaning(self, error: Exception) -> ProviderError | None:
        return None


def _grammar(schema: dict[str, object]) -> str:
    """The grammar for a schema.

    It allows no white space between tokens, of which a small model writes more and more, and
    ignores constraints that a grammar cannot express, such as ``uniqueItems``.
    """
    library = extras.load("xllamacpp", extra="llamacpp")
    manner = {"whitespace_flexible": False, "lenient": True}
    return str(library.json_schema_to_grammar({**schema, "x-guidance": manner}))


def from_id(
    name: str,
    *,
    threads: int | None = None,
    context_size: int = 8192,
    max_tokens: int = 1024,
    seed: int | None = None,
    cost_calculator: CostCalculator | None = None,
    generation_params: Params | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    timeout: float | None = None,
    **params: object,
) -> LlamaCppModelAdapter:
    """The model for the id ``llamacpp/<path>.gguf``, or part of a file's name in the cache folder.

    The cache folder is ``LLAMA_CACHE``, else llama.cpp's own. A file is loaded once and shared by
    all its adapters, which take turns. ``threads`` is the number of CPU threads, ``context_size``
    limits the tokens of a conversation, and ``max_tokens`` those of an answer.
    """
    extras.load("xllamacpp", extra="llamacpp")
    if base_url or api_key or timeout:
        raise ConfigurationError(
            f"llamacpp/{name} runs in this process and takes no base_url, api_key or timeout. For "
            "a llama.cpp server use openai/<name> with base_url; to limit the time, set the task's "
            "timeout"
        )
    server = _server(_file(name), threads, context_size)
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
    raise ModelNotFoundError(
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


def _server(path: Path, threads: int | None, context_size: int) -> LlamaServer:
    key = (path, threads, context_size)
    with _loading:
        if key not in _loaded:
            _loaded[key] = _load(*key)
        return _loaded[key]


def _load(path: Path, threads: int | None, context_size: int) -> LlamaServer:
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
        server: LlamaServer = library.Server(settings)
        return server
    except RuntimeError as error:
        raise ModelNotFoundError(
            f"cannot load {path}: {error} Is it a complete GGUF file, and does it fit in memory?",
            provider="llamacpp",
            model_id=path.name,
        ) from error
