"""A domain brought to life: its databases, its tools, and the one way to call them.

Live runs, replay and the reference solution all go through a ``World``, so that what a model was
answered during a run is what the evaluator sees when it replays the run: a recorded conversation's
calls are made again and must give the recorded answers.

After tau2-bench v0.2.0, src/tau2/environment/environment.py (MIT, Sierra Research).
"""

import copy
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel

from maseval.benchmark.tau2.domains.base import DB, ToolKitBase
from maseval.benchmark.tau2.domains.domain import Domain
from maseval.benchmark.tau2.formats.message import (
    AnsweredCall,
    AnsweredMessages,
    Tau2Message,
    Tau2ToolCall,
    ToolAnswer,
    ToolMessage,
    call_text,
    complete_call,
    message_text,
    original_calls,
    tool_calls_of,
    tool_message,
)
from maseval.benchmark.tau2.versions import RULES_0_2_0, ReplayRules
from maseval.benchmark.tau2.world.state.copying import Memo
from maseval.benchmark.tau2.world.state.hashing import DBState
from maseval.benchmark.tau2.world.state.records import Record, record_text
from maseval.core.exceptions import MASEvalError, is_machine_failure


class ReplayError(MASEvalError, ValueError):
    """A recorded conversation does not come out the same when its calls are made again.

    ``original`` is the exception that v0.2.0 raises here.
    """

    def __init__(
        self,
        text: str,
        index: int | None,
        call: Mapping[str, Any] | None = None,
        expected: str | None = None,
        found: str | None = None,
        original: Exception | None = None,
    ) -> None:
        super().__init__(text)
        self.original = original or ValueError(text)
        self.index = index
        self.call = call
        self.expected = expected
        self.found = found


def refuse_user_messages(messages: Sequence[Tau2Message]) -> None:
    """Refuse messages of a user, for solo mode, where there is none."""
    for index, message in enumerate(messages):
        if message["role"] == "user":
            text = "User messages are not allowed in solo mode"
            raise ReplayError(text, index, original=AssertionError(text))


def replay(
    answer: Callable[[Tau2ToolCall], ToolAnswer],
    messages: Sequence[Tau2Message],
    is_replayed: Callable[[Tau2ToolCall], bool] | None = None,
    *,
    strict: bool = True,
) -> None:
    """Make the recorded calls again; a different answer is a ``ReplayError`` if ``strict``.

    Of calls that are not to be replayed only the place in the conversation is checked.
    """
    if isinstance(messages, AnsweredMessages):
        calls = messages.calls
    else:
        calls = list(calls_with_answers(messages))
    for index, call, recorded in calls:
        if is_replayed is None or is_replayed(call):
            difference = repeat_call(answer, index, call, recorded)
            if difference is not None and strict:
                raise difference


def repeat_call(
    answer: Callable[[Tau2ToolCall], ToolAnswer],
    index: int,
    call: Tau2ToolCall,
    recorded: Tau2Message,
) -> ReplayError | None:
    """Make one call again; return the difference from the recorded answer, if there is one."""
    expected = recorded.get("content")
    try:
        found = answer(call)
        if same_content(found[0], expected):
            return None
    except (TypeError, ValueError, RecursionError) as error:  # one of them is no readable text
        call = complete_call(call)
        raise ReplayError(str(error), index, call, expected, original=error) from error
    call = complete_call(call)
    returned = message_text({**tool_message(call, found), "timestamp": recorded.get("timestamp")})
    return ReplayError(
        f"Tool call:\n{call_text(call)}\n\nReturned:\n{returned}\n\n"
        f"Expected:\n{message_text(recorded)}",
        index,
        call,
        expected,
        found[0],
    )


def calls_with_answers(messages: Sequence[Tau2Message]) -> Iterator[AnsweredCall]:
    """Yield each recorded call with the index of its answer and the answer itself.

    Every call must be followed, in order, by one tool message with its id.
    """
    following = enumerate(messages)
    for at, message in following:
        if message["role"] == "tool":
            raise ReplayError(
                "Tool message not expected. Tool messages should always follow a tool call.", at
            )
        if message.get("tool_calls") is None:  # as in most, which is found out at once
            continue
        for number, recorded in enumerate(tool_calls_of(message) or (), at + 1):
            call = complete_call(recorded)
            index, answer = next(following, (number, None))
            if answer is None or answer["role"] != "tool" or call["id"] != answer.get("id", ""):
                raise _wrong_answer(call, answer, index)
            yield from original_calls(index, call, answer)


def _wrong_answer(call: Tau2ToolCall, answer: Tau2Message | None, index: int) -> ReplayError:
    if answer is None:
        return ReplayError("Tool message expected. Got None.", index, call)
    if answer["role"] != "tool":
        kind = f"tau2.data_model.message.{answer['role'].capitalize()}Message"
        return ReplayError(f"Tool message expected. Got <class '{kind}'>", index, call)
    ids = f"{call['id']} and {answer.get('id', '')}"
    return ReplayError(f"Tool call id mismatch. Got {ids}", index, call)


_VALIDATION_FOOTER = "For further information visit https://errors.pydantic.dev/"


def same_content(found: str | None, recorded: str | None) -> bool:
    """Return True if two answers say the same: as JSON where they are JSON, as text elsewhere.

    As in the original, an answer that is NaN and nothing else does not even equal itself.
    """
    if recorded is not None and found == recorded and recorded.strip() != "NaN":
        return True
    mine, theirs = _decode(found), _decode(recorded)
    if isinstance(mine, str) and isinstance(theirs, str):
        return _without_version(mine) == _without_version(theirs)
    return bool(mine == theirs)


def _decode(content: str | None) -> object:
    try:
        return json.loads(content)  # type: ignore[arg-type]  # None raises, as in the original
    except ValueError:
        return content


def _without_version(text: str) -> str:
    # Validation errors end each entry with a link that names the installed library's version;
    # no verdict may depend on that.
    if _VALIDATION_FOOTER not in text:
        return text
    return "\n".join(line for line in text.splitlines() if _VALIDATION_FOOTER not in line)


def to_json_str(result: Any) -> str:
    """Return a tool's result as the text a model reads; live runs and replay compare it."""
    if isinstance(result, str):
        return result
    if isinstance(result, Record):
        return record_text(result)
    if isinstance(result, list) and all(isinstance(item, Record) for item in result):
        return f"[{', '.join(map(record_text, result))}]"
    return _encode(_plain(result))


_encode = json.JSONEncoder(default=str).encode
_NUMBERS = (int, float)
_SEQUENCES = (list, tuple)


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, _NUMBERS):
        return str(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, _SEQUENCES):
        return [_plain(item) for item in value]
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, BaseModel):  # last, as it takes longest to tell that something is none
        return value.model_dump(warnings=False)
    raise ValueError(f"Unsupported type: {type(value)}")


def answer_call(tools: Mapping[str, Callable[..., object]], call: Tau2ToolCall) -> ToolMessage:
    """Call a side's own function; return the answer, which is a text also where it fails."""
    try:
        if call["name"] not in tools:
            raise LookupError(f"Tool '{call['name']}' not found.")
        content = to_json_str(tools[call["name"]](**call["arguments"]))
    except Exception as error:  # a tool called by a model: its error is an answer
        if is_machine_failure(error):
            raise
        content = f"Error: {error}"
    return {"role": "tool", "id": call["id"], "content": content, "requestor": call["requestor"]}


# A model may invent any argument name. In the original these three collide with the parameters
# of the function that carries the call; the texts are what its users have recorded.
_COLLISIONS = {
    "tool_name": "Environment.make_tool_call() got multiple values for argument 'tool_name'",
    "self": "Environment.make_tool_call() got multiple values for argument 'self'",
}
_REQUESTOR_COLLISION = (
    "tau2.environment.environment.Environment.make_tool_call() "
    "got multiple values for keyword argument 'requestor'"
)

_COLLIDING = frozenset({*_COLLISIONS, "requestor"})
_CHANGEABLE = (list, dict)


def text_or_error(run: Callable[[Tau2ToolCall], Any], call: Tau2ToolCall) -> ToolAnswer:
    """Return the result of a call as text, or its error."""
    try:
        result = run(call)
        return result if type(result) is str else to_json_str(result), False
    except Exception as exception:  # a tool called by a model: its error is an answer
        if is_machine_failure(exception):
            raise
        return f"Error: {exception}", True


def collides(arguments: Mapping[str, object]) -> bool:
    """Return True if an argument has the name of a parameter that carries the call."""
    return bool(arguments) and not _COLLIDING.isdisjoint(arguments)


class WorldState(NamedTuple):
    """The states of both sides' databases, from which their hashes are made."""

    company: DBState
    customer: DBState | None


class StateMatch(NamedTuple):
    """The comparison of two worlds: which side's database is in the same state."""

    company: bool
    customer: bool


class World:
    """One simulation's databases and tools."""

    def __init__(
        self,
        domain: Domain,
        folder: Path,
        *,
        solo: bool = False,
        rules: ReplayRules = RULES_0_2_0.replay,
    ) -> None:
        domain.check_solo(solo)
        self.domain = domain
        self.solo = solo
        self.rules = rules
        self.tools: ToolKitBase[Any] = domain.toolkit(domain.db.load(folder / domain.db_file))
        self.tools.find_files(folder)
        self.user_tools: ToolKitBase[Any] | None = None
        if domain.user_toolkit:
            self.user_tools = domain.user_toolkit(self._customers_db(folder))
            self.user_tools.find_files(folder)
            both = self.tools.tools.keys() & self.user_tools.tools.keys()
            if solo and both:
                raise ValueError(
                    f"solo mode needs distinct tool names; both sides have {sorted(both)}"
                )
        self.is_settled = False
        """True if both sides are synchronised with all that was called."""
        self.settle()

    def _customers_db(self, folder: Path) -> DB:
        domain = self.domain
        if domain.user_db and domain.user_db_file:
            return domain.user_db.load(folder / domain.user_db_file)
        company: DB = self.tools.db
        return company

    def share_rows(self) -> None:
        """Let the records of lists be shared by all twins; this world is not to change any more."""
        for toolkit in filter(None, (self.tools, self.user_tools)):
            toolkit.db.share_rows()

    def twin(self) -> "World":
        """Return an independent world in the same state, which costs next to nothing to make."""
        # Both sides may hold one and the same database, which stays one in the copy.
        memo: Memo = {}
        # ``__init__`` would load the files again.
        world = object.__new__(type(self))
        user_tools = self.user_tools.twin(memo) if self.user_tools else None
        vars(world).update(vars(self), tools=self.tools.twin(memo), user_tools=user_tools)
        return world

    def sync(self) -> None:
        """Let each side's database see what the other's says."""
        if self.domain.sync:
            self.domain.sync(self.tools, self.user_tools)
        self.is_settled = True

    def settle(self) -> None:
        """Synchronise, if anything was called since it was done last."""
        if not self.is_settled:
            self.sync()

    def toolkit_for(self, tool_name: str, requestor: str) -> ToolKitBase[Any]:
        """Return the toolkit that a call means."""
        if requestor == "assistant":
            if self.solo and self.user_tools and self.user_tools.has_tool(tool_name):
                return self.user_tools
            return self.tools
        if requestor != "user":
            raise ValueError(f"Invalid requestor: {requestor}")
        if self.solo:
            raise ValueError("User tool calls are not allowed in solo mode")
        if self.user_tools is None:
            raise ValueError("User tools not available")
        return self.user_tools

    def call(self, tool_name: str, requestor: str, arguments: Mapping[str, object]) -> Any:
        """Run a tool and return its result; errors are raised and nothing is synchronised."""
        if collides(arguments):
            raise _collision(arguments)
        is_plain = requestor == "assistant" and not self.solo
        toolkit = self.tools if is_plain else self.toolkit_for(tool_name, requestor)
        tool = toolkit.find_tool(tool_name)
        self.is_settled = False
        return tool(**_own_arguments(arguments)) if arguments else tool()

    def make(self, call: Tau2ToolCall) -> None:
        """Run a tool as ``answer`` does, for those who do not need the answer."""
        with suppress(Exception):  # a tool called by a model: its error is an answer
            self._run(call)

    def _run(self, call: Tau2ToolCall) -> Any:
        settled, name = self.is_settled, call["name"]
        result = self.call(name, call["requestor"], call["arguments"])
        # What such a tool changes, the other side cannot see: there is nothing to synchronise.
        if settled and name in self.domain.unseen_tools:
            self.is_settled = True
        else:
            self.sync()
        return result

    def respond(self, call: Tau2ToolCall) -> ToolMessage:
        """Run a tool as a model's call asks for, and return the answer as a message."""
        return tool_message(call, self.answer(call))

    def answer(self, call: Tau2ToolCall) -> ToolAnswer:
        """Run a tool as a model's call asks for; whatever happens becomes the answer's text."""
        return text_or_error(self._run, call)

    def run_function(self, function_call: Mapping[str, Any]) -> Any:
        """Call what a task file asks for when it sets the stage, and synchronise."""
        env_type, name = function_call.get("env_type", "assistant"), function_call["func_name"]
        if env_type not in ("assistant", "user"):
            raise ValueError(f"env_type is {env_type!r}; it must be assistant or user")
        toolkit = self.tools if env_type == "assistant" else self._customer_for(name)
        function = toolkit.task_function(name)
        settled, self.is_settled = self.is_settled, False
        result = function(**_own_arguments(function_call["arguments"]))
        # Functions for checks only look.
        if settled and toolkit.is_for_checks(name):
            self.is_settled = True
        else:
            self.sync()
        return result

    def _customer_for(self, attribute: str) -> ToolKitBase[Any]:
        """Return the customer's tools; if there are none, raise what the original raises."""
        if self.user_tools is None:
            error = AttributeError(f"'NoneType' object has no attribute {attribute!r}")
            error.add_note(f"the customer of the {self.domain.name} domain has no tools")
            raise error
        return self.user_tools

    def check(self, assertion: Mapping[str, Any]) -> bool:
        """Return True if a task file's assertion about the outcome holds."""
        result = self.run_function(assertion)
        if not isinstance(result, bool):
            raise ValueError(
                f"Function {assertion['func_name']} returned {type(result)} instead of bool"
            )
        expected: bool = assertion.get("assert_value", True)
        return result == expected

    def set_state(
        self,
        initialization_data: Mapping[str, Any] | None,
        initialization_actions: Iterable[Mapping[str, Any]] | None,
        message_history: Sequence[Tau2Message],
    ) -> None:
        """Bring a fresh world to where a task, and a conversation in it, have left off."""
        if self.solo:
            refuse_user_messages(message_history)
        self.initialize(initialization_data, initialization_actions)
        self.resume(message_history)

    def resume(self, message_history: Sequence[Tau2Message]) -> None:
        """Make the calls of a conversation again, as far as the rules have them made."""
        chosen = self.is_replayed if self.rules.mutating_only else None
        replay(self.answer, message_history, chosen, strict=self.rules.strict)
        self.settle()

    def is_replayed(self, call: Tau2ToolCall) -> bool:
        """Return True if the rules have a recorded call made again."""
        return not self.rules.mutating_only or self.domain.mutates(call["name"])

    def initialize(
        self, data: Mapping[str, Any] | None, actions: Iterable[Mapping[str, Any]] | None
    ) -> None:
        """Lay a task's values over the databases, and take the actions that set the stage."""
        data = data or {}
        if data.get("agent_data") is not None:
            self.tools.update_db(data["agent_data"])
            if self.rules.shares_databases and self.user_tools:
                self.user_tools.db = self.tools.db
        if data.get("user_data") is not None:
            customer = self._customer_for("update_db")
            customer.update_db(data["user_data"])
            if self.rules.shares_databases:
                self.tools.db = customer.db
        for action in actions or ():
            self.run_function(action)

    def get_db_hash(self) -> str:
        """Return the hash of the company's database."""
        return self.tools.get_db_hash()

    def get_user_db_hash(self) -> str | None:
        """Return the hash of the customer's database, where there is one."""
        return self.user_tools.get_db_hash() if self.user_tools else None

    def state(self) -> WorldState:
        """Return all that the hashes depend on, to be kept and compared."""
        return WorldState(
            self.tools.db.state(), self.user_tools.db.state() if self.user_tools else None
        )

    def same_state(self, other: "World") -> bool:
        """Return True if all hashes of both worlds would be equal."""
        return all(self.compare(other))

    def compare(self, other: "World") -> StateMatch:
        """Compare the databases of both sides, as their hashes would."""
        ours, theirs = self.user_tools, other.user_tools
        customer = ours is theirs is None
        if ours is not None and theirs is not None:
            customer = ours.db.same_state(theirs.db)
        return StateMatch(self.tools.db.same_state(other.tools.db), customer)


def _collision(arguments: Mapping[str, object]) -> TypeError:
    if "requestor" in arguments:
        return TypeError(_REQUESTOR_COLLISION)
    return TypeError(next(_COLLISIONS[name] for name in arguments if name in _COLLISIONS))


def _own_arguments(arguments: Mapping[str, object]) -> Mapping[str, Any]:
    """Return arguments that a tool may keep and change: the record stays as it is."""
    for value in arguments.values():
        if isinstance(value, _CHANGEABLE):
            return copy.deepcopy(dict(arguments))
    return arguments
