"""The bank's policy on dealing with a customer: what was read or said, claims, transfers."""

import re
from collections.abc import Iterator

from maseval.benchmark.tau2.review.policy.banking_knowledge.identity_rules import (
    BANK_WRITES,
    GUIDELINES,
    LOG,
    TABLES,
)
from maseval.benchmark.tau2.review.policy.banking_knowledge.inner_calls import (
    BankCall,
    bank,
    inner_call,
)
from maseval.benchmark.tau2.review.policy.rules import (
    Answer,
    Broken,
    CannotTell,
    Talk,
)

_TOOLS = "Additional Instructions: Discoverable Tools"
_INCIDENT = "Backend incident 11/13 (internal)"

_TRANSFER = "transfer_to_human_agents"
_UNLOCK, _GIVE = "unlock_discoverable_agent_tool", "give_discoverable_user_tool"
_BUSY, _EARLY = "initial_transfer_to_human_agent_0218", "initial_transfer_to_human_agent_1822"
_SEARCHES = ("KB_search", "grep", "KB_search_bm25", "KB_search_dense", "shell")
_IDS = (*TABLES, "transaction_id", "user_id")
_SAYS_NO = re.compile(r"no\b(?! (?:problem|worries|need))|please don't|don't|do not|stop\b", re.I)
_TURNS_DOWN = re.compile(
    r"(?:don't|do not|not) (?:want|wish|proceed|now|do)|never ?mind|chang\w+ my mind|rather not|"
    r"second thought|\bleave (?:it|that|everything)|\bcancel (?:it|that|this)|\bhold off|\bkeep it",
    re.I,
)


@bank.flow("tool.found", _TOOLS, _UNLOCK, _GIVE)
def check_tool_found(call: BankCall) -> Iterator[Answer]:
    """A tool is unlocked or given after the knowledge base named it."""
    name = call.text("agent_tool_name") or call.text("discoverable_tool_name")
    if not any(call.moment.tools.has_tool(each) for each in _SEARCHES):
        return
    answers = [made.answer for tool, _, made in call.earlier if tool in _SEARCHES]
    if not any(name and name in answer for answer in answers):
        yield Broken(f"no document that was read names {name}")


@bank.talk("tool.used", _TOOLS, words=False)
def check_tool_used(talk: Talk) -> Iterator[Answer]:
    """A tool that the agent unlocks is a tool that it uses."""
    called = {inner_call(each.call)[0] for each in talk.calls}
    for made in talk.calls:
        name = made.call["arguments"].get("agent_tool_name")
        if made.call["name"] != _UNLOCK or made.failed or name in called:
            continue
        later = [each.text for each in talk.user if each.message_index > made.message_index]
        if any(_SAYS_NO.match(each.strip()) or _TURNS_DOWN.search(each) for each in later):
            yield CannotTell(f"{name} was unlocked, and the customer may have changed the plan")
        else:
            yield Broken(f"{name} was unlocked and never used", message_index=made.message_index)


@bank.flow("record.known", f"{GUIDELINES}: 1", *BANK_WRITES)
def check_known(call: BankCall) -> Iterator[Answer]:
    """The ids in a change were read or said before."""
    answers = (made.answer for _, _, made in call.earlier)
    known = "\n".join((call.moment.user_said, *answers))
    for field in _IDS:
        value = call.arguments.get(field)
        if isinstance(value, str) and value and value not in known:
            yield Broken(f"{value} was neither read nor said before")


@bank.protocol(
    "transfer.steps", f"Purchase declines; {_INCIDENT}", _TRANSFER, _BUSY, _EARLY, words=False
)
def check_transfer_steps(call: BankCall) -> Iterator[Answer]:
    """A transfer that goes by steps takes all of them, in order."""
    made = [name for name, _, each in call.earlier if not each.failed]
    busy, early = made.count(_BUSY), made.count(_EARLY)
    if call.name == _EARLY:
        if busy or early:
            yield Broken(f"{_EARLY} comes first, and once")
    elif call.name == _BUSY:
        if busy >= (1 if early else 3):
            yield Broken(f"{_BUSY} was called {busy} times already")
    elif early and not busy:
        yield Broken(f"{_BUSY} is still to be called")
    elif busy and not early and busy < 3:
        yield Broken(f"{_BUSY} was called {busy} times of three")


@bank.protocol("incident.unverified", _INCIDENT, _EARLY, words=False)
def check_incident(call: BankCall) -> Iterator[Answer]:
    """Nobody is verified under the protocol of the payment incident."""
    if any(name == LOG for name, _, _ in call.earlier):
        yield Broken("the customer was verified, which this protocol does not want")
