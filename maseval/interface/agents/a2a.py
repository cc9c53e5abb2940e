"""A2A: agents that are services and speak the Agent2Agent protocol, of version 1.0 or 0.3.

A simulation is a context, and each message of the customer a request in it. The tools are served by
MCP, at an address in the first message; or they stand in the first message as text, and the agent
answers with one JSON object at a time, as agents in the manner of AgentBeats do.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any
from urllib.parse import SplitResult, urlsplit
from uuid import uuid4

from maseval.core.agent import AgentObserver
from maseval.core.event_loop import run_async
from maseval.core.exceptions import ConfigurationError, EnvironmentError, MASEvalError, causes
from maseval.core.storage.redaction import redact_address, redact_text
from maseval.core.words import excerpt
from maseval.interface import extras
from maseval.interface.agents.framework import AgentGaveUpError, answer_call
from maseval.interface.agents.outside import LONGEST_REPLY, OutsideAgentAdapter, run_without_clock
from maseval.interface.agents.program import AgentProgramError

__all__ = ["A2AAgentAdapter", "AgentUnreachableError"]

EXTRA = "a2a"
MCP_ADDRESS = "maseval/mcp"
"""The key of the tools' address in the metadata of the first message."""
_CONNECT_SECONDS, _CANCEL_SECONDS, _POLL_SECONDS = 10.0, 2.0, 0.3
_LARGEST = 64 * 1024 * 1024
_MOST_CALLS, _MOST_MALFORMED = 100, 10
_RESPOND = "respond"
_MALFORMED = "Error: this is not one JSON object with a name and arguments"

_BY_TEXT = """\
You have the tools below. Answer each message with one JSON object and nothing else:
{{"name": TOOL, "arguments": {{...}}}} calls a tool, whose result is the next message;
{{"name": "respond", "arguments": {{"content": TEXT}}}} says TEXT to the customer.

<tools>
{tools}
</tools>"""


class AgentUnreachableError(EnvironmentError):
    """The network or a gateway failed before the agent had a request."""


def load_sdk(module: str) -> Any:
    return extras.load(module, extra=EXTRA, package="a2a-sdk")


class A2AAgentAdapter(OutsideAgentAdapter):
    """An agent at a URL, where its card is found; for the arguments see ``OutsideAgentAdapter``.

    ``tools_as`` is ``mcp``, or ``text`` for an agent that is told of its tools in words.
    """

    agent: str

    def __init__(
        self,
        agent_instance: str,
        name: str = "agent",
        callbacks: Iterable[AgentObserver] | None = None,
        *,
        tools_as: str = "mcp",
        **options: Any,
    ) -> None:
        if tools_as not in ("mcp", "text"):
            raise ConfigurationError(f"tools is {tools_as!r}; give mcp or text")
        super().__init__(agent_instance, name, callbacks, **options)
        self._as_text = tools_as == "text"
        self._title = f"the agent at {redact_address(agent_instance)}"
        self._context, self._task = uuid4().hex, ""
        self._client: Any = None
        self._is_waiting = False

    def describe_tools(self) -> str:
        if self._as_text:
            offered = [tool.definition["function"] for tool in self.tools.values()]
            return _BY_TEXT.format(tools=json.dumps(offered, indent=1, ensure_ascii=False))
        if self._served is None:
            return ""
        return f"Your tools are those of the MCP server (streamable HTTP) at {self._served.url}"

    def _reach(self) -> None:
        if not self._as_text:
            self._serve()
        run_async(self.connect())

    async def connect(self) -> None:
        httpx, client = load_sdk("httpx"), load_sdk("a2a.client")
        http = httpx.AsyncClient(
            # No limit on reading: how long a turn may take is decided for the turn as a whole.
            timeout=httpx.Timeout(None, connect=_CONNECT_SECONDS),
            # A server may close an idle connection just when it is used again: nobody's failure.
            limits=httpx.Limits(max_keepalive_connections=0),
            # The limit counts bytes as they arrive, which compressed ones would get around.
            headers={"Accept-Encoding": "identity"},
            event_hooks={"response": [_bound]},
        )
        self._resources.callback(lambda: run_without_clock(http.aclose()))
        with _attributed(self._title):
            found = client.A2ACardResolver(http, self.agent)
            card = await found.get_agent_card(http_kwargs={"timeout": 3 * _CONNECT_SECONDS})
        for interface in card.supported_interfaces:
            interface.url = _at_same_place(interface.url, self.agent)
        settings = client.ClientConfig(streaming=card.capabilities.streaming, httpx_client=http)
        try:
            self._client = client.ClientFactory(settings).create(card)
        except ValueError as error:
            raise ConfigurationError(
                f"{self._title} does not offer A2A by JSON-RPC: {error}"
            ) from None
        versions = sorted({interface.protocol_version for interface in card.supported_interfaces})
        info = {"name": card.name, "version": card.version}
        self.about = {"protocol": f"A2A {', '.join(versions)}", "agent_info": info}

    def _ask(self, texts: list[str]) -> str:
        text = "\n\n".join(texts)
        if not self._as_text:
            return self._say(text)
        malformed = 0
        for _ in range(_MOST_CALLS):
            name, arguments = _read_call(self._say(text))
            if name == _RESPOND and isinstance(arguments.get("content"), str):
                return str(arguments["content"])
            if name:
                text = answer_call(self.tools, name, arguments)
                continue
            text, malformed = _MALFORMED, malformed + 1
            if malformed >= _MOST_MALFORMED:
                break
        text = f"{_MOST_CALLS} calls, or {_MOST_MALFORMED} malformed replies, and no answer"
        raise AgentGaveUpError(text, component=self.name)

    def _say(self, text: str) -> str:
        return run_async(self._answer(text))

    async def _answer(self, text: str) -> str:
        try:
            with _attributed(self._title):
                return await asyncio.wait_for(self._exchange(text), self.turn_timeout)
        except TimeoutError:
            raise AgentProgramError(
                f"{self._title} did not answer within {self.turn_timeout:g} s"
            ) from None

    async def _exchange(self, text: str) -> str:
        pb = load_sdk("a2a.types.a2a_pb2")
        message = pb.Message(
            message_id=uuid4().hex,
            context_id=self._context,
            task_id=self._task,
            role=pb.ROLE_USER,
            parts=[pb.Part(text=text)],
        )
        # Said once, as all messages of a simulation belong to one context.
        if self._served is not None and len(self.messages) == 1:
            message.metadata[MCP_ADDRESS] = self._served.url
        self._is_waiting, task = True, None
        async for event in self._client.send_message(pb.SendMessageRequest(message=message)):
            kind = event.WhichOneof("payload")
            told = getattr(event, kind)
            if kind == "message":
                self._is_waiting, self._task = False, ""
                return self._text(told.parts)
            if kind == "status_update":
                self.note(kind, text=_texts(told.status.message.parts)[:2000])
            # After other events the task is asked for as a whole.
            task = told if kind == "task" else None
            self._task = told.id if kind == "task" else told.task_id
        while task is None or task.status.state in (pb.TASK_STATE_SUBMITTED, pb.TASK_STATE_WORKING):
            # The first look follows at once, as the task may be over when the stream ends.
            await asyncio.sleep(0 if task is None else _POLL_SECONDS)
            task = await self._client.get_task(pb.GetTaskRequest(id=self._task))
        self._is_waiting = False
        return self._outcome(task)

    def _outcome(self, task: Any) -> str:
        pb = load_sdk("a2a.types.a2a_pb2")
        state, said = task.status.state, task.status.message.parts
        # Only a task that waits for input takes another message; after any other a new one begins.
        self._task = task.id if state == pb.TASK_STATE_INPUT_REQUIRED else ""
        made = [part for artifact in task.artifacts for part in artifact.parts]
        match state:
            case pb.TASK_STATE_COMPLETED:
                return self._text(made or said)
            case pb.TASK_STATE_INPUT_REQUIRED:
                return self._text(said or made)
            case pb.TASK_STATE_AUTH_REQUIRED:
                raise ConfigurationError(f"{self._title} wants its user to log in")
        ended = pb.TaskState.Name(state).removeprefix("TASK_STATE_").lower()
        raise AgentProgramError(
            f"{self._title} left its task {ended}: {excerpt(_texts(said), 300)}"
        )

    def _text(self, parts: Any) -> str:
        """Return the text of a reply; files and data are not for a customer."""
        others = [part.WhichOneof("content") for part in parts if not part.HasField("text")]
        text = _texts(parts)
        if others:
            self.note("left_out", parts=others)
        if others and not text.strip():
            raise AgentProgramError(
                f"{self._title} answered with {others[0]} alone, which the customer "
                "cannot read; the reply must have a part of text"
            )
        return text

    def _leave(self) -> None:
        if self._is_waiting and self._task:
            run_without_clock(self._cancel())

    async def _cancel(self) -> None:
        request = load_sdk("a2a.types.a2a_pb2").CancelTaskRequest(id=self._task)
        with suppress(Exception):  # it may have ended, or not know how to
            await asyncio.wait_for(self._client.cancel_task(request), _CANCEL_SECONDS)


def meet(url: str, env: Mapping[str, str]) -> Mapping[str, object]:
    """Read the card of an agent, and return what it says."""
    with A2AAgentAdapter(url) as agent:
        run_async(agent.connect())
    return {"address": redact_address(url), **agent.about}


@contextmanager
def _attributed(title: str) -> Iterator[None]:
    """Turn an error of the SDK into one that says whose failure it is."""
    try:
        yield
    except (MASEvalError, TimeoutError):
        raise
    except Exception as error:  # whatever a foreign library makes of a foreign answer
        httpx, links = load_sdk("httpx"), [*causes(error)]
        words = excerpt(redact_text(f"{error} ({type(links[-1]).__name__})"), 300)
        known = {getattr(getattr(link, "response", None), "status_code", None) for link in links}
        unmet = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
        if known & {401, 403}:
            raise ConfigurationError(f"{title} refuses access: {words}") from None
        if known & {429, 502, 503, 504} or any(isinstance(link, unmet) for link in links):
            raise AgentUnreachableError(f"{title} cannot be reached: {words}") from None
        raise AgentProgramError(f"{title} failed, or does not speak A2A: {words}") from None


@cache
def _bounded() -> Any:
    class Bounded(load_sdk("httpx").AsyncByteStream):  # type: ignore[misc]
        """The body of a response, which ends with an error if it is too large."""

        def __init__(self, stream: Any) -> None:
            self.stream = stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for chunk in self.stream:
                size += len(chunk)
                if size > _LARGEST:
                    raise AgentProgramError(f"the agent's answer is above {_LARGEST // 2**20} MB")
                yield chunk

        async def aclose(self) -> None:
            await self.stream.aclose()

    return Bounded


async def _bound(response: Any) -> None:
    response.stream = _bounded()(response.stream)


def _texts(parts: Any) -> str:
    # One character more than is allowed, so that a reply that is too long is noticed.
    return "\n".join(part.text for part in parts if part.HasField("text"))[: LONGEST_REPLY + 1]


def _read_call(text: str) -> tuple[str, Mapping[str, Any]]:
    """Read the first JSON object in a reply, which may stand in a fence or a tag."""
    start = text.find("{")
    try:
        call, _ = json.JSONDecoder().raw_decode(text[start:]) if start >= 0 else (None, 0)
    except (ValueError, RecursionError):
        return "", {}
    match call:
        case {"name": str(name), "arguments": dict(arguments)}:
            return name, arguments
    return "", {}


# A server may know itself by another of these names than the one it was asked by.
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})


def _at_same_place(named: str, given: str) -> str:
    """Return the address that a card names, if it is where the card was found.

    A card could send us anywhere, to addresses inside our network too.
    """
    there, here = urlsplit(named), urlsplit(given)
    if _place(there) != _place(here):
        raise ConfigurationError(
            f"the card at {redact_address(given)} names another address, {redact_address(named)}, "
            "which is not followed; if it is right, give that address: a2a:URL"
        )
    # By the name that led to the card: its own may be one that nobody can connect to.
    return there._replace(scheme=here.scheme, netloc=here.netloc).geturl()


def _place(address: SplitResult) -> tuple[str | None, int]:
    host = None if address.hostname in _LOOPBACK else address.hostname
    return host, address.port or (443 if address.scheme == "https" else 80)
