"""Live dialogues of the reference agent and user, put together from recorded calls.

Scripted models say the lines. What a call answers, and the state after it, is recorded from the
original; who is asked when, what ends a dialogue, the steps and the reward are worked out here anew
from the original's rules, by a referee that shares no code with maseval. Lines glued to stop words,
stop words beside calls, unknown tools, arguments that are no JSON, several calls at once, words
beside calls, empty lines and limits are strewn in, each where a seed of the dialogue puts it.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from maseval import ChatResponse
from maseval.benchmark.tau2.data_loader import build_tasks, load_raw_task, load_raw_tasks
from maseval.benchmark.tau2.domains.domain import Domain
from maseval.benchmark.tau2.texts.loading import load_texts
from maseval.benchmark.tau2.texts.texts import Texts
from tests.benchmark.tau2.rooms import Live, simulation
from tests.contract.replay import Vector, assert_same, records, sha256

pytestmark = [pytest.mark.contract, pytest.mark.data]

GREETING = "Hi! How can I help you today?"
TOKENS = ("###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###")
FACT, FACT_AS_SAID = "1234 euros", "It is 1,234 Euros."
# So many dialogues of each domain; of 1.0.1, all that there are recordings for.
DIALOGUES = {
    ("0.2.0", "normal"): {"airline": 60, "retail": 60, "telecom": 70},
    ("0.2.0", "solo"): {"telecom": 25},
    ("1.0.1", "normal"): {"airline": 28, "retail": 38, "telecom": 15},
    ("1.0.1", "solo"): {"telecom": 10},
}
versions = pytest.mark.parametrize("recorded", ["0.2.0", "1.0.1"], indirect=True)


@dataclass
class Line:
    """What a side says, and what the original answered to each of its calls."""

    side: str
    content: str | None
    calls: list[Vector] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.is_empty = not (self.content or "").strip() and not self.calls


@dataclass
class Dialogue:
    id: str
    lines: list[Line]
    options: dict[str, Any]
    solo: bool
    counts_state: bool


def unknown_tool(rng: Random, has_tools: bool = True) -> dict[str, Any]:
    name = rng.choice(["no_such_tool", "Get_User_Details", "respond"])
    text = f"Error: Tool '{name}' not found." if has_tools else "Error: User tools not available"
    answer = {"content": text, "error": True, "exc_type": "ValueError"}
    return {"tool": name, "arguments": {"of": 1}, **answer}


def broken_arguments(rng: Random, steps: list[dict[str, Any]]) -> dict[str, Any]:
    name = rng.choice(steps)["tool"] or "calculate"
    answer = {"content": None, "error": True, "exc_type": "TypeError"}
    return {"tool": name, "arguments": rng.choice(['{"a": ', "[1]", '"red"']), **answer}


def compose(version: str, sequence: dict[str, Any], solo: bool) -> Dialogue:
    """Put the calls of a recorded sequence into a dialogue."""
    rng = Random(f"{version} {sequence['seq']} {solo}")
    steps = sequence["steps"]
    lines: list[Line] = []
    floor = "assistant" if solo else "user"

    def speak():
        nonlocal floor
        words = rng.choice(["Please help.", "Let me see. ###STOP###" if floor != "user" else "Ok."])
        lines.append(Line(floor, FACT_AS_SAID if floor != "user" and rng.random() < 0.7 else words))
        floor = "assistant" if floor == "user" else "user"

    def call(calls):
        asides = [None, None, "", "A moment."] + [FACT_AS_SAID] * solo
        words = rng.choice(asides if solo else [*asides, TOKENS[0]])
        lines.append(Line(floor, words, calls))

    if not solo:
        speak()
    at = 0
    while at < len(steps):
        side = "assistant" if solo else steps[at]["requestor"]
        if floor != side:
            speak()
        together = [steps[at]]
        while len(together) < rng.choice([1, 1, 2, 3]) and at + len(together) < len(steps):
            following = steps[at + len(together)]
            if not solo and following["requestor"] != side:
                break
            together.append(following)
        at += len(together)
        if rng.random() < 0.2:
            has_tools = side == "assistant" or sequence["domain"] == "telecom"
            together.insert(rng.randrange(len(together) + 1), unknown_tool(rng, has_tools))
        if rng.random() < 0.1:
            together.insert(rng.randrange(len(together) + 1), broken_arguments(rng, steps))
        call(together)
        if not solo and rng.random() < 0.2:
            speak()
    options: dict[str, Any] = {}
    kind = rng.choice(["stop", "stop", "stop", "limit", "empty", "errors"])
    if kind == "empty":
        where = rng.randrange(len(lines) + 1)
        side = lines[where].side if where < len(lines) else floor
        lines.insert(where, Line(side, rng.choice([None, "", "  "])))
    elif kind == "limit":
        options["max_invocations"] = rng.randint(1, 2 * len(lines))
    elif kind == "errors":
        options["max_errors"] = rng.randint(1, 3)
    if solo:
        done = {"tool": "done", "arguments": {}, "content": "", "error": False}
        if rng.random() < 0.3:
            lines.append(Line("assistant", "So. ###STOP###", [unknown_tool(rng)]))
        else:
            lines.append(Line("assistant", None, [done]))
    else:
        if floor != "user":
            speak()
        lines.append(Line("user", f"Thanks{rng.choice(TOKENS)}bye"))
    name = f"{version} {sequence['seq']} {'solo ' * solo}{kind}"
    return Dialogue(name, lines, options, solo, counts_state=rng.random() < 0.5)


class Referee:
    """The original's rules: who hears what, what counts, and what ends a dialogue."""

    def __init__(self, version: str, dialogue: Dialogue, start: tuple[str, str | None]) -> None:
        self.version, self.dialogue = version, dialogue
        self.limit = dialogue.options.get("max_invocations", 200)
        self.most_errors = dialogue.options.get("max_errors", 10)
        self.steps = self.errors = 0
        self.reason = self.failure = None
        self.state = start
        self.messages = [] if dialogue.solo else [("assistant", GREETING, ())]
        self.asked: list[tuple[str, int]] = []  # which side, after how many messages
        for line in dialogue.lines:
            if self.reason or self.failure:
                break
            self.hear(line)

    def hear(self, line: Line) -> None:
        self.asked.append((line.side, len(self.messages)))
        alone = self.dialogue.solo
        done = alone and any(each["tool"] == "done" for each in line.calls)
        content, calls = ("###STOP###", []) if done else (line.content, line.calls)
        if line.is_empty:
            self.failure = f"{'agent' if line.side == 'assistant' else 'user'}_error"
            return
        opens = alone and not self.messages
        self.messages.append((line.side, content, tuple(calls)))
        self.steps += not opens
        said_stop = any(token in (content or "") for token in TOKENS)
        if line.side == "user" and not calls and said_stop:
            self.reason = "user_stop"
        if alone and "###STOP###" in (content or ""):
            self.reason = "agent_stop"
            if calls and self.version == "1.0.1" and not opens:
                self.failure = "agent_error"
        if not opens and not (self.version == "1.0.1" and calls):
            self.check_limits()
        if calls and not self.reason:
            self.answer(calls)

    def answer(self, calls: list[dict[str, Any]]) -> None:
        for each in calls:
            self.messages.append(("tool", each["content"], each))
            self.errors += self.version == "1.0.1" and each["error"]
            if "agent_db_hash" in each:
                self.state = (each["agent_db_hash"], each.get("user_db_hash"))
        self.steps += 1
        self.check_limits()

    def check_limits(self) -> None:
        if self.steps >= self.limit:
            self.reason = "max_steps"
        if self.errors >= self.most_errors:
            self.reason = "too_many_errors"

    def reward(self, start: tuple[str, str | None], gold: dict[str, Any] | None) -> float:
        if self.reason not in ("user_stop", "agent_stop"):
            return 0.0
        if self.messages[-1][2]:  # its call is not answered, so nothing can be made again
            return 0.0
        made = [each for role, _, calls in self.messages if role != "tool" for each in calls]
        told = any(r == "assistant" and FACT_AS_SAID in (c or "") for r, c, _ in self.messages)
        acted = gold is None or any(
            each["tool"] == gold["tool"]
            and isinstance(each["arguments"], dict)
            and all(gold["arguments"].get(k, self) == v for k, v in each["arguments"].items())
            for each in made
        )
        return float(told and acted and (self.state == start or not self.dialogue.counts_state))


def chat(line: Line) -> ChatResponse:
    if not line.calls:
        return ChatResponse(line.content)
    return ChatResponse(
        line.content,
        [
            {
                "id": f"{id(line)}_{number}",
                "type": "function",
                "function": {
                    "name": each["tool"],
                    "arguments": each["arguments"]
                    if isinstance(each["arguments"], str)
                    else json.dumps(each["arguments"]),
                },
            }
            for number, each in enumerate(line.calls)
        ],
    )


def play(
    recorded: tuple,
    domain: Domain,
    dialogue: Dialogue,
    sequence: dict[str, Any],
    gold: dict[str, Any] | None,
    texts: Texts,
) -> tuple[Live, dict[str, Any]]:
    raw = dict(
        load_raw_task(domain, sequence["task_id"], version=recorded.version)
        if sequence["task_id"]
        else {**load_raw_tasks(domain, version=recorded.version)[0], "initial_state": None}
    )
    actions = gold and [
        {
            "action_id": "a",
            "name": gold["tool"],
            "arguments": gold["arguments"],
            "requestor": gold["requestor"],
        }
    ]
    raw["evaluation_criteria"] = {
        "actions": actions or [],
        "communicate_info": [FACT],
        "reward_basis": ["ACTION", "COMMUNICATE", *["DB"] * dialogue.counts_state],
    }
    raw["ticket"] = "Help."
    (task,) = build_tasks([raw], domain, version=recorded.version).to_list()
    task.user_data["model_id"] = "customer"
    task.protocol.timeout_seconds, task.protocol.max_retries = None, 0
    scripts = [
        [chat(line) for line in dialogue.lines if line.side == side] + ["?"] * 2
        for side in ("assistant", "user")
    ]
    mode = "solo" if dialogue.solo else "normal"
    live = Live(*scripts, mode=mode, texts=texts, **dialogue.options)
    (report,) = live.run([task])
    return live, report


def found_differences(
    recorded: tuple,
    referee: Referee,
    live: Live,
    report: dict[str, Any],
    start: tuple[str, str | None],
    gold: dict[str, Any] | None,
) -> Iterator[tuple[str, Any, Any]]:
    """One line of text for each thing that came out differently."""
    if referee.failure:
        yield "status", report["status"], referee.failure
    recording = simulation(report)
    messages, steps = recording["messages"], live_steps(recording)
    yield "messages", len(messages), len(referee.messages)
    for found, (role, content, calls) in zip(messages, referee.messages, strict=False):
        yield "role", found["role"], role
        if role == "tool":
            yield "error", found["error"], calls["error"]
            if calls.get("exc_type") in (None, "ValueError"):
                yield "answer", found["content"], content
        else:
            yield "text", found["content"] or None, content or None
            made = [each["name"] for each in found["tool_calls"] or ()]
            yield "calls", made, [each["tool"] for each in calls]
    yield "reason", recording["termination_reason"], referee.reason
    yield "steps", steps, referee.steps
    environment = report["traces"]["environment"]
    hashes = (environment["final_db_hash"], environment["final_user_db_hash"])
    yield "state", hashes, referee.state
    if not referee.failure:
        yield "status", report["status"], "success"
        yield "reward", report["eval"][0]["reward"], referee.reward(start, gold)
    yield from request_differences(recorded, referee, live, messages)


def live_steps(recording: dict[str, Any]) -> int:
    """Messages of a side count one each, and the answers to one message count one together."""
    roles = [message["role"] for message in recording["messages"]]
    rounds = sum(one == "tool" != before for before, one in zip(["", *roles], roles, strict=False))
    return sum(role != "tool" for role in roles) + rounds - bool(roles)


def request_differences(
    recorded: tuple, referee: Referee, live: Live, messages: list[dict[str, Any]]
) -> Iterator[tuple[str, int | list[Any], int | list[Any]]]:
    for side, name in (("assistant", "agent_model"), ("user", "user_simulator")):
        requests = live.requests(name)
        heard = [messages[:at] for asked, at in referee.asked if asked == side]
        yield f"requests of {name}", len(requests), len(heard)
        for request, seen in zip(requests, heard, strict=False):
            wanted = view(seen, side, recorded.version)
            yield "request", [plain(each) for each in request["messages"][1:]], wanted


def plain(
    message: dict[str, Any],
) -> tuple[str, str | None, list[tuple[str, str, dict]], str | None]:
    calls = message.get("tool_calls") or ()
    return (
        message["role"],
        message.get("content") or None,
        [(c["id"], c["function"]["name"], json.loads(c["function"]["arguments"])) for c in calls],
        message.get("tool_call_id"),
    )


def view(
    messages: list[dict[str, Any]], side: str, version: str
) -> list[tuple[str, str | None, list[tuple], str | None]]:
    """The messages that a side's model is sent: the other side's calls are not among them."""
    names = {"assistant": "assistant", "user": "user"}
    if side == "user":
        names = {"assistant": "user", "user": "assistant"}
    seen = []
    for at, message in enumerate(messages):
        role, calls = message["role"], message.get("tool_calls") or ()
        if role == "tool":
            if message["requestor"] == side:
                seen.append(("tool", message["content"] or None, [], message["id"]))
        elif role == side or not calls:
            greeting = at == 0 and role == "assistant" and not calls
            if greeting and side == "assistant" and version == "0.2.0":
                continue  # there, an agent does not see its own greeting
            made = [(call["id"], call["name"], call["arguments"]) for call in calls]
            seen.append((names[role], message["content"] or None, made, None))
    return seen


def usable_alone(sequence: dict[str, Any]) -> bool:
    """Return True if every call is of a tool that its side has: alone, an agent has both sides'."""
    return all(step["tool_type"] for step in sequence["steps"])


@versions
@pytest.mark.parametrize("mode", ["normal", "solo"])
def test_live_dialogues_come_out_as_the_recordings_and_the_rules_say(recorded, mode, shared_data):
    wanted = DIALOGUES[recorded.version, mode]
    texts = load_texts(recorded.version, shared_data / "tau2-texts")
    facts = records(recorded.vectors / "db.json")[0]
    tools = records(shared_data.parent / "contract" / "texts" / "schemas.json")[0]
    differences, played, kinds = [], 0, set()
    for name, count in wanted.items():
        domain = recorded.domain(name)
        sequences = records(recorded.vectors / "tool_calls" / f"{name}.jsonl.gz")
        sequences = [each for each in sequences if mode == "normal" or usable_alone(each)]
        chosen = sequences[:: max(1, len(sequences) // count)][:count]
        assert len(chosen) == count
        for sequence in chosen:
            dialogue = compose(recorded.version, sequence, mode == "solo")
            start = (
                sequence.get("init_agent_db_hash") or facts[name]["agent_db_hash"],
                sequence.get("init_user_db_hash") or facts[name]["user_db_hash"],
            )
            reads = (s for s in sequence["steps"] if s["tool_type"] == "read" and not s["error"])
            gold = next(reads, None)
            live, report = play(recorded, domain, dialogue, sequence, gold, texts)
            referee = Referee(recorded.version, dialogue, start)
            compared = found_differences(recorded, referee, live, report, start, gold)
            differences += [
                f"{dialogue.id} {what}: {found!r} != {expected!r}"
                for what, found, expected in compared
                if found != expected
            ]
            kinds.add(referee.reason or referee.failure)
            played += 1
            if mode == "normal" and (asked := live.requests("agent_model")):
                prompt = asked[0]["messages"][0]["content"]
                assert sha256(prompt) == facts[name]["agent_system_prompt_sha256"]
                shown = json.dumps(asked[0]["tools"], ensure_ascii=False, separators=(",", ":"))
                toolset = tools[recorded.version][name]["assistant"]["toolset"]
                assert sha256(shown) == toolset["sha256"]

    assert_same(differences, shown=30)
    assert played == sum(wanted.values())
    assert {"max_steps", "agent_stop" if mode == "solo" else "user_stop"} <= kinds
