"""ACP: agents that are programs and speak the Agent Client Protocol over standard streams.

maseval is the client, as an editor would be. ``AcpProgram`` is the program with its connection;
``ACPAgentAdapter`` is one session in it, which is one simulation. Of what the program sends, only
answers go through the SDK's connection: requests and notifications are read, checked and answered
here, since nothing in them is to be trusted. Files and terminals are not offered.
"""

import asyncio
import json
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from typing import Any

from pydantic import ValidationError

from maseval.core.agent import AgentObserver
from maseval.core.event_loop import run_async
from maseval.core.exceptions import ConfigurationError
from maseval.core.storage.redaction import redact_command
from maseval.core.tracing import JsonObject
from maseval.core.usage import TokenUsage
from maseval.core.words import excerpt
from maseval.interface import extras
from maseval.interface.agents import mcp_bridge
from maseval.interface.agents.framework import AgentGaveUpError
from maseval.interface.agents.outside import (
    LONGEST_REPLY,
    SERVER,
    OutsideAgentAdapter,
    run_without_clock,
)
from maseval.interface.agents.program import Program, provenance, split_command

__all__ = ["ACPAgentAdapter", "AcpProgram"]

EXTRA = "acp"
# Fifty programs that start at once on two cores need a while, which is not their failure.
START_SECONDS = 180.0
_MOST_OF_A_TURN = 64 * 1024 * 1024
_CANCEL_SECONDS = 2.0
_LOGIN_REQUIRED, _NO_SUCH_METHOD, _WRONG = -32000, -32601, -32602


def load_sdk(module: str = "acp") -> Any:
    return extras.load(module, extra=EXTRA, package="agent-client-protocol")


class _Messages:
    """The messages of a program, one JSON object a line; text that is none is passed over."""

    def __init__(self, owner: "AcpProgram", program: Program) -> None:
        self.fault: str | None = None
        """What made the program's output unreadable."""
        self.bytes = 0
        self._owner, self._program = owner, program

    async def send(self, message: Mapping[str, Any]) -> None:
        self._program.stdin.write(json.dumps(message).encode() + b"\n")
        await self._program.stdin.drain()

    async def receive(self) -> JsonObject | None:
        """Return the next answer to a request of ours; None when there are no more."""
        while True:
            try:
                line = await self._program.stdout.readuntil(b"\n")
            except asyncio.IncompleteReadError:
                return None
            except asyncio.LimitOverrunError:
                self.fault = "wrote a line that is too long to be a message"
                return None
            self.bytes += len(line)
            if self.bytes > _MOST_OF_A_TURN:
                self.fault = f"wrote more than {_MOST_OF_A_TURN // 2**20} MB in one turn"
                return None
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(message, dict) and await self._is_answer(message):
                return message

    async def _is_answer(self, message: JsonObject) -> bool:
        method, known = message.get("method"), message.get("id")
        if method is None:
            error = message.get("error")
            # The ids of our requests are integers, and ``True`` is none.
            return type(known) is int and (error is None or isinstance(error, dict))
        if known is None:
            if method == "session/update":
                self._owner.take_update(message.get("params"))
            return False
        answer = self._owner.answer(method, message.get("params"))
        # If the program has ended meanwhile, the next read says so.
        with suppress(ConnectionError):
            await self.send({"jsonrpc": "2.0", "id": known, **answer})
        return False

    async def close(self) -> None:
        """Leave the streams to the program, which is ended by others."""


class AcpProgram:
    """A program that speaks ACP; started when it is first needed, and again if it has died.

    It may be shared by several simulations, each with a session of its own. Its methods are for
    the event loop of ``run_async``, apart from ``close``.

    Args:
        command: The command line, or its words.
        env: Environment variables for it, beside those that any program needs.
    """

    def __init__(self, command: str | Sequence[str], env: Mapping[str, str] | None = None) -> None:
        self.command = split_command(command)
        self.env = dict(env or {})
        self.about: JsonObject = {}
        """What the program says of itself, once it has been started."""
        self.connection: Any = None
        self._program: Program | None = None
        self._messages: _Messages
        self._starting = asyncio.Lock()
        self._sessions: dict[str, Any] = {}

    @property
    def name(self) -> str:
        """The command as errors show it."""
        return excerpt(redact_command(self.command), 100)

    async def connect(self) -> None:
        """Start the program and agree on the protocol, unless it is running."""
        async with self._starting:
            if self._program is not None and self._program.is_running:
                return
            await self.stop()  # it has died, and may have left something behind
            sdk = load_sdk()
            self._program = await Program.start(self.command, self.env)
            self._messages = _Messages(self, self._program)
            # An empty object as the client: what the program asks never gets as far as the
            # connection.
            self.connection = sdk.connect_to_agent(object(), self._messages)
            own = sdk.schema.Implementation(name=SERVER, version=version("maseval"))
            meeting = self.connection.initialize(sdk.PROTOCOL_VERSION, client_info=own)
            try:
                told = await self.call(meeting, "start", START_SECONDS)
                if (spoken := told.protocol_version) != sdk.PROTOCOL_VERSION:
                    raise await self.failure(f"speaks version {spoken} of ACP, which is unknown")
            # Also if the start is cancelled: a program that nobody waits for must not stay.
            except BaseException:
                await self.stop()
                raise
            self._capabilities = told.agent_capabilities
            info = told.agent_info.model_dump(exclude_none=True) if told.agent_info else {}
            self.about = {"protocol": f"ACP {spoken}", "agent_info": info}

    async def open_session(self, folder: str, url: str | None, owner: Any) -> str:
        """Return the id of a new session of an adapter, whose tools are at ``url``."""
        servers = [] if url is None else [self._mcp_server(url)]
        call = self.connection.new_session(cwd=folder, mcp_servers=servers)
        opened = await self.call(call, "open a session", START_SECONDS)
        session_id: str = opened.session_id
        # What the program tells of one would be taken for the other's.
        if session_id in self._sessions:
            raise await self.failure(f"gave two sessions the same id, {session_id!r}")
        self._sessions[session_id] = owner
        return session_id

    def _mcp_server(self, url: str) -> object:
        schema = load_sdk("acp.schema")
        offered = getattr(self._capabilities, "mcp_capabilities", None)
        if getattr(offered, "http", False):
            return schema.HttpMcpServer(type="http", name=SERVER, url=url, headers=[])
        # Isolated: neither the agent's folder nor its variables decide what the bridge imports.
        args = ["-I", str(mcp_bridge.__file__), url]
        return schema.McpServerStdio(name=SERVER, command=sys.executable, args=args, env=[])

    def forget(self, session_id: str) -> None:
        """Hear no more of a session, which ends with the program: few agents can close one."""
        self._sessions.pop(session_id, None)

    async def prompt(self, session_id: str, texts: Iterable[str]) -> Any:
        self._messages.bytes = 0
        blocks = [load_sdk().text_block(text) for text in texts]
        return await self.call(self.connection.prompt(session_id, blocks), "answer")

    async def call(self, request: Any, what: str, seconds: float | None = None) -> Any:
        """Wait for an answer; whatever comes instead is the program's failure."""
        sdk = load_sdk()
        try:
            return await asyncio.wait_for(request, seconds)
        except TimeoutError:
            raise await self.failure(f"did not {what} within {seconds:g} s") from None
        except ConnectionError:
            fault = self._messages.fault or "ended, or closed its output,"
            raise await self.failure(f"{fault} before it could {what}") from None
        except sdk.RequestError as error:
            if error.code == _LOGIN_REQUIRED:
                raise ConfigurationError(
                    f"the agent {self.name!r} wants its user to log in first; do that in a "
                    "terminal, or give it a key: --agent-env NAME"
                ) from None
            said = excerpt(f"{error}: {json.dumps(error.data)}" if error.data else error, 300)
            raise await self.failure(f"refused to {what}: {said}") from None
        except ValidationError as error:
            wrong = excerpt(error, 300)
            raise await self.failure(f"sent an answer that is not ACP's: {wrong}") from None

    async def failure(self, what: str) -> Exception:
        assert self._program is not None
        return await self._program.failure(f"the agent {self.name!r} {what}")

    async def stop(self) -> None:
        connection, program = self.connection, self._program
        self.connection = self._program = None
        self._sessions.clear()
        if connection is not None:
            await connection.close()
        if program is not None:
            await program.stop()

    def close(self) -> None:
        """End the program, from any thread."""
        run_without_clock(self.stop())

    # What the program tells and asks.

    def take_update(self, params: object) -> None:
        try:
            told = load_sdk("acp.schema").SessionNotification.model_validate(params)
        except (ValidationError, RecursionError):  # of a later version, or nonsense
            return
        if session := self._sessions.get(told.session_id):
            session.hear(told.update)

    def answer(self, method: object, params: object) -> JsonObject:
        """Answer a request: permissions are given for the tools of the session alone."""
        if method != "session/request_permission":
            return {"error": {"code": _NO_SUCH_METHOD, "message": f"{excerpt(method)} is unknown"}}
        try:
            asked = load_sdk("acp.schema").RequestPermissionRequest.model_validate(params)
        except (ValidationError, RecursionError):
            return {"error": {"code": _WRONG, "message": "this is no request for a permission"}}
        session, call = self._sessions.get(asked.session_id), asked.tool_call
        word = "allow" if session and session.may_call(call.title or "", call.kind) else "reject"
        # Once is preferred, and comes after always in the alphabet.
        fitting = [(option.kind, option.option_id) for option in asked.options]
        kind, chosen = max(
            (option for option in fitting if option[0].startswith(word)), default=("", "")
        )
        selected = {"outcome": "selected", "optionId": chosen}
        return {"result": {"outcome": selected if kind else {"outcome": "cancelled"}}}


def meet(command: str, env: Mapping[str, str]) -> JsonObject:
    """Start a program, open a session and end it again; return what is known of it then."""
    program = AcpProgram(command, env)

    async def say_hello(folder: str) -> None:
        await program.connect()
        await program.open_session(folder, None, None)

    try:
        with tempfile.TemporaryDirectory(prefix="maseval-agent-") as folder:
            run_async(say_hello(folder))
    finally:
        program.close()
    return {**provenance(program.command), **program.about}


# Kinds of calls that concern files and commands; tools of an MCP server are of another kind.
_OF_THE_MACHINE = frozenset({"edit", "delete", "move", "execute"})
_GAVE_UP = frozenset({"max_tokens", "max_turn_requests", "refusal", "cancelled"})


class ACPAgentAdapter(OutsideAgentAdapter):
    """A session of a program that speaks ACP.

    ``agent_instance`` is the command that starts the program, with environment variables ``env``
    beside those that any program needs; or an ``AcpProgram`` that is shared. For the other
    arguments see ``OutsideAgentAdapter``.
    """

    def __init__(
        self,
        agent_instance: str | Sequence[str] | AcpProgram,
        name: str = "agent",
        callbacks: Iterable[AgentObserver] | None = None,
        *,
        env: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        shared = agent_instance if isinstance(agent_instance, AcpProgram) else None
        self.program = shared or AcpProgram(agent_instance, env)  # type: ignore[arg-type]
        super().__init__(self.program, name, callbacks, **options)
        self._is_shared = shared is not None
        self._session: str | None = None
        self._prompt: asyncio.Task[Any] | None = None
        self._said = self._said_before = ""
        # As mcp__maseval__name, maseval/name or the like; without tools it matches nothing.
        names = "|".join(map(re.escape, self.tools)) or r"(?!)"
        self._tool_name = re.compile(rf"(?:(?<!\w)|(?<=__))({names})(?!\w)")

    def _reach(self) -> None:
        folder, url = self._scratch_folder(), self._serve()
        if not self._is_shared:
            self._resources.callback(self.program.close)
        run_async(self._open(folder, url))

    async def _open(self, folder: str, url: str | None) -> None:
        await self.program.connect()
        self.about = self.program.about
        self._session = await self.program.open_session(folder, url, self)

    def _ask(self, texts: list[str]) -> str:
        return run_async(self._answer(texts))

    async def _answer(self, texts: list[str]) -> str:
        assert self._session is not None
        self._said = self._said_before = ""
        self._prompt = asyncio.ensure_future(self.program.prompt(self._session, texts))
        # Unlike wait_for this leaves the turn open, so that the agent is told of its end.
        done, _ = await asyncio.wait({self._prompt}, timeout=self.turn_timeout)
        if not done:
            raise await self.program.failure(f"did not end its turn in {self.turn_timeout:g} s")
        answer = self._prompt.result()
        if answer.usage is not None:
            self._count(answer.usage)
        reply = self._reply
        # A refusal in words is an answer, which the customer can read.
        if answer.stop_reason in _GAVE_UP and not (answer.stop_reason == "refusal" and reply):
            raise AgentGaveUpError(
                f"the agent stopped before it had an answer: {answer.stop_reason}",
                component=self.name,
            )
        return reply

    @property
    def _reply(self) -> str:
        return self._said if self._said.strip() else self._said_before

    def may_call(self, title: str, kind: str | None) -> bool:
        """Return True if a title names one of the tools, and its kind is not the machine's."""
        allowed = kind not in _OF_THE_MACHINE and bool(self._tool_name.search(title))
        self.note("permission", allowed=allowed, title=title)
        return allowed

    def hear(self, update: Any) -> None:
        """Take in what the agent tells while it works."""
        kind = update.session_update
        if kind == "agent_message_chunk" and update.content.type == "text":
            # Beyond that nothing is kept: the reply is too long already, and is refused.
            if len(self._said) <= LONGEST_REPLY:
                self._said += update.content.text
            return
        if kind == "tool_call":  # what was said before it is the answer only if nothing follows
            self._said_before, self._said = self._reply, ""
        if kind == "usage_update" and update.cost is not None and update.cost.currency == "USD":
            self.used.cost = update.cost.amount
        self.note(kind, **update.model_dump(mode="json", exclude_none=True))

    def _count(self, usage: Any) -> None:
        """Take over the tokens, which the protocol defines as those of all turns so far."""
        self.used = TokenUsage(
            cost=self.used.cost,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            total_tokens=usage.total_tokens,
            cached_input_tokens=usage.cached_read_tokens or 0,
            cache_creation_input_tokens=usage.cached_write_tokens or 0,
            reasoning_tokens=usage.thought_tokens or 0,
        )

    def _leave(self) -> None:
        if self._session is not None:
            run_without_clock(self._cancel(self._session))

    async def _cancel(self, session_id: str) -> None:
        prompt, connection = self._prompt, self.program.connection
        if prompt is not None and not prompt.done():
            with suppress(Exception):  # it may have died
                await asyncio.wait_for(connection.cancel(session_id), _CANCEL_SECONDS)
                await asyncio.wait({prompt}, timeout=_CANCEL_SECONDS)
            prompt.cancel()
        if prompt is not None:
            # Awaited although nobody wants it: asyncio complains about errors that were never
            # looked at.
            with suppress(asyncio.CancelledError, Exception):
                await prompt
        self.program.forget(session_id)
