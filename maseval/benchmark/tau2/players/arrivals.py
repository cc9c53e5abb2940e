"""Checks what arrives: the conversation at a rehearsed agent's model, its replies at the customer.

``Arrivals`` is shown each request and the trajectory, which has what really happened, and counts
by item what arrived. Texts are compared without white space and escapes: agents put them into
prompts, JSON or code of their own. A shortened or changed text counts as missed; a summary that the
model itself wrote may stand in place of what it was shown.
"""

import html
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from maseval.benchmark.tau2.formats.message import Tau2Message, tool_calls_of
from maseval.core import messages as chat
from maseval.core.recorded import mapping
from maseval.core.words import excerpt, percent

# A text of which less is left is not recognised as shortened.
_RECOGNISED = 20


def squash(text: str) -> str:
    """Return a text without white space and escapes."""
    text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda code: chr(int(code[1], 16)), html.unescape(text))
    return re.sub(r"\\[nrt]|[\\\s]", "", text)


def share_kept(text: str, within: str) -> float:
    """Return which share of a squashed text ``within`` begins with, wherever that stands."""
    # If a beginning stands there, so do all shorter ones: halving finds the longest.
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if text[:middle] in within else (low, middle - 1)
    return low / len(text) if low >= min(_RECOGNISED, len(text)) else 0.0


@dataclass(frozen=True)
class ModelRequest:
    """A request to a rehearsed model."""

    messages: Sequence[chat.Message]
    tools: Mapping[str, Mapping[str, Any]]
    tool_choice: object = None
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def response_format(self) -> Mapping[str, Any]:
        return mapping(self.params, "response_format")

    @cached_property
    def texts(self) -> list[str]:
        return [squash(_all_of(message)) for message in self.messages]

    @cached_property
    def text(self) -> str:
        return "\n".join(self.texts)

    @cached_property
    def head(self) -> str:
        """The beginning, which the requests of one agent share."""
        return self.text[:200]

    def spoken_by(self, role: str) -> list[str]:
        return [
            text
            for message, text in zip(self.messages, self.texts, strict=True)
            if message.get("role") == role and not message.get("tool_calls")
        ]

    def result_of(self, call_id: str) -> str | None:
        """Return the latest result that is given for a call; None if none is."""
        found = (m for m in reversed(self.messages) if m.get("tool_call_id") == call_id)
        result = next(found, None)
        return None if result is None else squash(_content(result))

    def unmatched_ids(self) -> str | None:
        """Say which call has no result, or which result no call; a provider refuses either."""
        waiting: list[str] = []
        for message in self.messages:
            role, answered = message.get("role"), str(message.get("tool_call_id"))
            if role == "tool":
                if answered not in waiting:
                    return f"a result for the call {answered!r}, which was not made before it"
                waiting.remove(answered)
            elif waiting:
                break
            else:
                waiting = [str(call.get("id")) for call in message.get("tool_calls") or ()]
                if len(set(waiting)) < len(waiting):
                    return f"two calls at a time with the id {waiting[0]!r}"
        return f"no result for the call {waiting[0]!r}" if waiting else None


def _content(message: chat.Message) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text") or part) for part in content)


def _all_of(message: chat.Message) -> str:
    calls = [call.get("function") for call in message.get("tool_calls") or ()]
    return "\n".join([_content(message), *(json.dumps(call) for call in calls)])


class Tally:
    """Counts by item what was in order, out of how many, and what was not, in words."""

    def __init__(self) -> None:
        self.counts: dict[str, list[int]] = {}
        self.findings: Counter[tuple[str, str]] = Counter()

    def add(self, item: str, finding: str | None = None) -> None:
        """Count one case of an item, with what is wrong with it."""
        right, cases = self.counts.setdefault(item, [0, 0])
        self.counts[item] = [right + (not finding), cases + 1]
        if finding:
            self.findings[item, finding] += 1


@dataclass
class _Result:
    """The result of a call that the model made, on its way back to the model."""

    call_id: str
    name: str
    text: str
    best: float = 0.0
    seen_by: str | None = None


class Arrivals:
    """Follows one simulation: its trajectory, the requests of its agent, the replies to them."""

    def __init__(self, trajectory: Sequence[Tau2Message], policy: str, begun: int = 0) -> None:
        self.tally = Tally()
        self.notes: Counter[str] = Counter()
        self._trajectory, self._policy = trajectory, policy
        self._position = begun  # what stands before it was said in another conversation
        self._heard: list[tuple[str, str]] = []  # customer's words and replies, squashed, in order
        self._replies: list[str] = []  # texts of the model in this turn
        self._calls: list[tuple[str, str, Mapping[str, Any]]] = []  # its calls, not yet carried out
        self._made: list[tuple[str, Mapping[str, Any]]] = []
        self._results: dict[str, _Result] = {}  # of this turn, by id in the trajectory
        self._earlier: list[_Result] = []
        self._beside: list[tuple[str, str]] = []  # requests without tools, and their replies

    @property
    def turns(self) -> int:
        return sum(role == "user" for role, _ in self._heard)

    @property
    def replies(self) -> int:
        return len(self._heard) - self.turns

    # What the model does.

    def note_reply(self, text: str) -> None:
        self._replies.append(text)

    def note_call(self, call_id: str, name: str, arguments: Mapping[str, Any]) -> None:
        self._calls.append((call_id, name, arguments))
        self._made.append((name, arguments))

    def note_beside(self, request: ModelRequest, reply: str) -> None:
        self._beside.append((request.text, squash(reply)))

    # What the environment records.

    def follow(self) -> None:
        """Take in what was recorded since the last time."""
        new = self._trajectory[self._position :]
        self._position += len(new)
        for message in new:
            if message["role"] == "tool":
                if result := self._results.get(message["id"]):
                    result.text = squash(str(message["content"] or ""))
            elif message["role"] == "assistant":
                for call in tool_calls_of(message) or ():
                    self._note_execution(call["id"], call["name"], call["arguments"])
                if message["content"] and not tool_calls_of(message):
                    self._compare_reply(str(message["content"]))
            elif message["content"] and not tool_calls_of(message):
                self._heard.append(("user", squash(str(message["content"]))))

    def _note_execution(self, own_id: str, name: str, arguments: Mapping[str, Any]) -> None:
        for place, (call_id, wanted, given) in enumerate(self._calls):
            if name == wanted and _plain(arguments) == _plain(given):
                del self._calls[place]
                self.tally.add("calls")
                self._results[own_id] = _Result(call_id, name, "")
                return
        for place, (_, wanted, given) in enumerate(self._calls):
            if name == wanted:
                del self._calls[place]
                self.tally.add(
                    "calls", f"{name} was called with {_describe_change(given, arguments)}"
                )
                return
        if (name, arguments) in self._made:
            self.tally.add("calls", f"{name} was carried out once more than the model asked for")
        else:
            self.notes[f"The agent called {name} without being asked to by the model."] += 1

    def _compare_reply(self, text: str) -> None:
        """Compare what the customer is told with what the model said; the turn is over."""
        if self._position and not self._heard and not self._replies:
            return  # the greeting, which nobody's model says
        said = [*dict.fromkeys(self._replies)]
        self.tally.add("replies", _difference(text, said))
        self.end_turn()
        told = squash(text)
        original = next((each for each in map(squash, said) if each in told), told)
        self._heard.append(("assistant", original))

    def end_turn(self) -> None:
        """Count what did not arrive before the agent answered the customer, or at the end."""
        for _, name, _ in self._calls:
            self.tally.add("calls", f"{name} was not carried out")
        for result in self._results.values():
            if result.seen_by is None and result.text:
                kept = f"{percent(result.best, 0)} of it arrives" if result.best else "is missing"
                self.tally.add("results", f"the result of {result.name}: {kept}")
        self._earlier += [each for each in self._results.values() if each.seen_by]
        self._replies, self._calls, self._results = [], [], {}

    # What the model is shown.

    def check_room(self, request: ModelRequest, reply: str, calls: bool) -> None:
        """Count if a real model could have given this reply under the request's limits."""
        self.tally.add("limits", _limit(request, reply, calls))

    def check(self, request: ModelRequest, *, is_helping: bool) -> None:
        """Check a request; an agent that works for another one needs to know less."""
        if not is_helping:
            self.tally.add("policy", self._policy_in(request))
            self._check_conversation(request)
        self._check_results(request, whole=not is_helping)
        self.tally.add("ids", request.unmatched_ids())

    def _policy_in(self, request: ModelRequest) -> str | None:
        policy = squash(self._policy)
        # An empty text would be found everywhere.
        times = request.text.count(policy) if policy else 1
        if times == 1:
            return None
        if times:
            return f"the policy arrives {times} times"
        lines = [line for line in self._policy.splitlines() if line.strip()]
        lost = [line for line in lines if squash(line) not in request.text]
        # One line may stand there by chance.
        if len(lost) >= len(lines) - 1:
            return "no policy"
        there = len(lines) - len(lost)
        first = f"; the first that lacks: {excerpt(lost[0])}" if lost else ", in another order"
        return f"{there} of {len(lines)} lines of the policy{first}"

    def _check_conversation(self, request: ModelRequest) -> None:
        if not self.turns:
            return
        place, latest = 0, max(n for n, (role, _) in enumerate(self._heard) if role == "user")
        found = {}
        for number, (_, text) in enumerate(self._heard[: latest + 1]):
            found[number] = request.text.find(text, place)
            place = found[number] + len(text) if found[number] >= 0 else place
        wanted = self._heard[latest][1]
        self.tally.add("customer", self._fault_of_latest(request, wanted, found[latest] >= 0))
        if latest:
            self.tally.add("history", self._fault_of_history(request, found, latest))

    def _fault_of_latest(self, request: ModelRequest, wanted: str, found: bool) -> str | None:
        if wanted in request.spoken_by("assistant") and wanted not in request.spoken_by("user"):
            return "the customer's words arrive as the agent's own"
        if found:
            return None
        if self._is_rewritten(wanted, request):
            self.notes["The customer's words arrive as the model rewrote them."] += 1
            return None
        if wanted in request.text:
            return "the customer's latest words arrive before older ones"
        kept = share_kept(wanted, request.text)
        return f"{percent(kept, 0)} of the customer's words" if kept else "no customer's words"

    def _fault_of_history(
        self, request: ModelRequest, found: Mapping[int, int], latest: int
    ) -> str | None:
        own = [text for role, text in self._heard if role == "assistant"]
        said = [text for role, text in self._heard if role == "user"]
        if any(text in own and text not in said for text in request.spoken_by("user")):
            return "the agent's own words arrive as the customer's"
        lost = [number for number in range(latest) if found[number] < 0]
        if any(self._heard[number][1] in request.text for number in lost):
            return "earlier messages arrive in another order"
        rest = request.text
        # A message that did arrive must not pass for the beginning of one that did not.
        for number in found.keys() - {*lost}:
            rest = rest.replace(self._heard[number][1], "")
        texts = ((number, self._heard[number][1]) for number in lost)
        gone = [
            number
            for number, text in texts
            if not (share_kept(text, rest) or self._is_rewritten(text, request))
        ]
        if gone:
            who = "customer" if self._heard[gone[0]][0] == "user" else "agent"
            return f"an earlier message of the {who} is gone"
        if lost:
            self.notes["Earlier messages arrive as a summary or shortened."] += 1
        return None

    def _is_rewritten(self, text: str, request: ModelRequest) -> bool:
        """Return True if a request shows what the model wrote when it was shown a text."""
        return any(text in asked and reply in request.text for asked, reply in self._beside)

    def _check_results(self, request: ModelRequest, *, whole: bool) -> None:
        for result in self._results.values():
            given = request.result_of(result.call_id)
            there = _same(result.text, request.text if given is None else given)
            if not there and self._is_rewritten(result.text, request):
                there = True
                self.notes["Results of tools arrive as the model summed them up."] += 1
            if result.seen_by is None and there:
                result.seen_by = request.head
                self.tally.add("results")
            elif result.seen_by is None:
                result.best = max(result.best, share_kept(result.text, given or request.text))
            elif whole and result.seen_by == request.head and not there:
                lost = f"the result of {result.name} is gone from later requests of the turn"
                self.tally.add("history", lost)
        mine = [each for each in self._earlier if each.seen_by == request.head]
        if whole and any(each.text not in request.text for each in mine):
            self.notes["Results of earlier turns are not shown again."] += 1


def _same(result: str, shown: str) -> bool:
    """Return True if a result is shown, perhaps as the values that its JSON stands for."""
    if result in shown:
        return True
    # The same values, written in Python.
    plain = (re.sub("['\"]", "", text).lower().replace("null", "none") for text in (result, shown))
    return len(result) > _RECOGNISED and next(plain) in next(plain)


# Frameworks write null for a parameter that the model left out.
def _plain(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


def _describe_change(given: Mapping[str, Any], made: Mapping[str, Any]) -> str:
    names = [name for name in {**given, **made} if given.get(name) != made.get(name)]
    first = names[0] if names else ""
    return f"{first}={made.get(first)!r}, not {given.get(first)!r}"


def _difference(told: str, said: Sequence[str]) -> str | None:
    """Say how what the customer is told differs from all that the model said in the turn."""
    plain = squash(told)
    if any(plain == squash(each) for each in said):
        return None
    if not said:
        return f"the customer is told {excerpt(told)}, which the model did not say"
    for each in said:
        if (text := squash(each)) in plain:
            before, _, after = told.partition(each)
            added = before.strip() or after.strip() or told
            return f"{excerpt(added)} is put {'before' if before.strip() else 'after'} the reply"
        if kept := share_kept(text, plain):
            return f"the customer is told {percent(kept, 0)} of the reply"
    return f"the customer is told {excerpt(told)} in place of the reply"


_TOKEN = 4  # characters, as the scripted model counts them


def _limit(request: ModelRequest, reply: str, calls: bool) -> str | None:
    names = ("max_tokens", "max_completion_tokens", "max_output_tokens")
    most = next((request.params[name] for name in names if request.params.get(name)), None)
    if isinstance(most, int) and len(reply) > most * _TOKEN:
        return f"the limit of {most} tokens is too low for a reply of about {len(reply) // _TOKEN}"
    if calls and request.tool_choice == "none":
        return "tool_choice is 'none' where a call is needed"
    if not calls and reply and request.tool_choice == "required":
        return "tool_choice is 'required' where the customer is to be answered"
    stop = request.params.get("stop") or []
    ended = next((each for each in ([stop] if isinstance(stop, str) else stop) if each in reply), 0)
    return f"the stop sequence {ended!r} cuts a reply" if ended else None
