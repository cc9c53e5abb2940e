"""The rules of a policy, asked about a recorded conversation or a reference solution.

The conversation is played once in a fresh world, and before each call of the agent the rules about
its tool are asked. A rule that raises is reported and keeps no other from being asked.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from maseval.benchmark.tau2.domains.domain import Domain
from maseval.benchmark.tau2.domains.releases import AnyVersion
from maseval.benchmark.tau2.formats.message import Tau2Message, Tau2ToolCall, render_call
from maseval.benchmark.tau2.review.policy.rules import Broken, Kind, Rule, inner_call
from maseval.benchmark.tau2.review.talk import CallMoment, Talk
from maseval.benchmark.tau2.review.values import OWNERS, record
from maseval.benchmark.tau2.scoring.case import AnyTask, Case, open_case
from maseval.benchmark.tau2.world.setting import GoldKey, Setting, gold_key
from maseval.benchmark.tau2.world.state.copying import once
from maseval.benchmark.tau2.world.world import ReplayError
from maseval.core.finding import Finding, Grade, Weight
from maseval.core.words import excerpt
from maseval.data.folder import AnyPath

GoldBreach = tuple[str, str, str]
"""A rule that a reference solution breaks, the tool, and the record or the arguments."""


BROKE, DEMANDED = "broke the policy", "broke the policy as demanded"
TRIED, FORM = "tried to break the policy", "matter of form"
UNDECIDED, NOT_CHECKED = "policy undecided", "policy not checked"
# By these words a rule that failed is told from one that cannot tell.
_RULE_FAILED = "the rule failed: "


@dataclass(frozen=True)
class PolicyResult:
    """All that the rules of a policy found in a conversation, what is decided first.

    ``asked`` are the rules that applied to it, ``calls`` the call of each finding, None for one
    about the whole conversation. ``unreadable`` says why nothing could be checked at all.
    """

    asked: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    calls: tuple[Tau2ToolCall | None, ...] = ()
    unreadable: str | None = None

    @property
    def breaches(self) -> tuple[Finding, ...]:
        """The findings that are decided, whatever they weigh."""
        return tuple(each for each in self.findings if each.grade != "undecided")

    @property
    def undecided(self) -> tuple[Finding, ...]:
        return tuple(each for each in self.findings if each.grade == "undecided")

    @property
    def failed_rules(self) -> tuple[Finding, ...]:
        """The rules that raised an exception: what they would have found is not known."""
        return tuple(each for each in self.undecided if each.text.startswith(_RULE_FAILED))

    @property
    def breaking_calls(self) -> list[tuple[Finding, Tau2ToolCall]]:
        pairs = zip(self.findings, self.calls, strict=True)
        return [(each, call) for each, call in pairs if call and each.grade != "undecided"]

    @property
    def without_breaches_found(self) -> bool | None:
        """False if a breach counts, None if that is undecided."""
        if any(each.counts for each in self.findings):
            return False
        return None if any(each.weight == "state" for each in self.undecided) else True


def not_checked(why: str) -> PolicyResult:
    """Return the result of a conversation about which no rule could be asked."""
    finding = Finding("policy", "agent", NOT_CHECKED, "no rule", why, "undecided")
    return PolicyResult((), (finding,), (None,), why)


class _Findings:
    def __init__(self, find_demanded: Callable[[], frozenset[GoldBreach]] = frozenset) -> None:
        self.demanded = cache(find_demanded)  # nobody asks where nothing is broken
        self.asked: dict[str, None] = {}
        self.found: list[tuple[Finding, Tau2ToolCall | None]] = []

    def ask(self, rule: Rule, subject: CallMoment | Talk) -> None:
        moment = subject if isinstance(subject, CallMoment) else None
        self.asked[rule.id] = None
        try:
            for answer in rule.check(subject):
                if isinstance(answer, Broken):
                    self._breach(rule, answer, moment)
                else:
                    self._doubt(rule, answer.reason, moment)
        except Exception as error:  # a rule of anybody's: what others found must stay
            self._doubt(rule, f"{_RULE_FAILED}{type(error).__name__}: {error}", moment)

    def result(self) -> PolicyResult:
        # The sort is stable, so both parts stay in the order of the conversation.
        found = sorted(self.found, key=lambda each: each[0].grade == "undecided")
        return PolicyResult(
            tuple(self.asked), tuple(each for each, _ in found), tuple(call for _, call in found)
        )

    # What a refused call would have broken weighs nothing: nothing happened.
    def _doubt(self, rule: Rule, reason: str, moment: CallMoment | None) -> None:
        weight = "remark" if moment is not None and moment.failed else rule.weight
        self._add(rule, UNDECIDED, "undecided", weight, Broken(reason), moment)

    def _breach(self, rule: Rule, broken: Broken, moment: CallMoment | None) -> None:
        kind, weight = BROKE, rule.weight
        if rule.kind is Kind.FORM:
            kind, weight = FORM, "remark" if moment is not None and moment.failed else weight
        elif moment is not None and moment.failed:
            kind, weight = TRIED, "remark"
        # If the reference solution does the same, the task demands the breach.
        elif moment is not None and (rule.id, *_subject(moment.call)) in self.demanded():
            kind, weight = DEMANDED, "remark"
        self._add(rule, kind, "proven", weight, broken, moment)

    def _add(
        self,
        rule: Rule,
        kind: str,
        grade: Grade,
        weight: Weight,
        broken: Broken,
        moment: CallMoment | None,
    ) -> None:
        at, call = broken.message_index, None if moment is None else moment.call
        if moment is not None and at is None:
            at = moment.message_index
        words = None if call is None else render_call(call)
        values = tuple(f"{name}: {excerpt(value)}" for name, value in broken.values.items())
        about = (rule.id, broken.text, grade, at, words, values, weight)
        self.found.append((Finding("policy", "agent", kind, *about), call))


def check_case(case: Case, *, scripted: bool = False) -> PolicyResult:
    """Ask every rule of the domain's policy about a recorded conversation.

    An agent that is ``scripted`` does not talk, and is asked about its effect on the state alone.
    """
    book = _rule_book(case.setting.domain, scripted)
    if not book.rules:
        return not_checked(f"the domain {case.setting.domain.name} has no rules")
    # Where there is a user, rules must not know more than the agent did.
    ticket = case.raw_task.get("ticket") if case.setting.solo else None
    findings = _Findings(lambda: gold_breaches(case.setting, case.scenario, ticket))
    talk = Talk(case.recording.messages)
    try:
        _play(case.setting, talk, book, findings, ticket)
    except ReplayError as error:
        return not_checked(str(error).partition("\n")[0])
    # An agent that works alone speaks to nobody.
    for rule in () if case.setting.solo else book.about_talk:
        findings.ask(rule, talk)
    return findings.result()


def check_simulation(
    simulation: Mapping[str, Any],
    *,
    domain: str | Domain,
    task: AnyTask | None = None,
    solo: bool = False,
    data_dir: AnyPath | None = None,
    version: AnyVersion = None,
) -> PolicyResult:
    """Ask every rule of the domain's policy about a simulation.

    The arguments are those of ``score_simulation``.
    """
    return check_case(
        open_case(
            simulation, domain, task, solo=solo, data_dir=data_dir, version=version, graded=True
        )
    )


def _play(
    setting: Setting,
    talk: Talk,
    book: "_RuleBook",
    findings: _Findings,
    ticket: str | None,
) -> None:
    world = setting.world()
    for made in talk.calls:
        call = made.call
        rules = book.about(call) if call["requestor"] == "assistant" else ()
        if rules:
            moment = CallMoment(
                call,
                made.message_index,
                world.tools,
                world.user_tools,
                talk,
                made.answer,
                ticket,
            )
            for rule in rules:
                findings.ask(rule, moment)
        # A tool that is no write may change what later calls can do.
        ours = call["requestor"] == "assistant"
        if setting.may_write(call) or (ours and setting.domain.toolkit.mutates(call["name"])):
            world.make(call)


def check_gold(setting: Setting, told: str, ticket: str | None = None) -> PolicyResult:
    """Ask the rules of state about the reference solution of a task.

    ``told`` is what the task lets the user say; nobody else speaks. ``ticket`` is what an agent
    that works alone is given. Both sides make their calls, as in every reference solution.
    """
    ids = [action.action_id for action in setting.task.actions]
    return _check_gold(gold_key(setting, f"{setting.task.gold_key}\n{ids}"), told, ticket)


@once(maxsize=4096)
def _check_gold(key: GoldKey, told: str, ticket: str | None) -> PolicyResult:
    setting = key.setting
    findings = _Findings()
    messages: list[Tau2Message] = [{"role": "user", "content": told}]
    for action in setting.task.actions:
        call = action.call()
        messages.append({"role": call["requestor"], "content": None, "tool_calls": [call]})
        # Answers can stay empty, because rules about the state look at the world.
        messages.append({"role": "tool", "id": call["id"], "content": ""})
    book = _rule_book(setting.domain, True)
    # Reference solutions have the user's calls, also where the agent works alone.
    _play(setting._replace(solo=False), Talk(messages), book, findings, ticket)
    return findings.result()


def forbidden_steps(setting: Setting, told: str) -> frozenset[str]:
    """Return the ids of the steps of the reference solution that the policy forbids."""
    return frozenset(call.get("id", "") for _, call in check_gold(setting, told).breaking_calls)


def gold_breaches(setting: Setting, told: str, ticket: str | None = None) -> frozenset[GoldBreach]:
    """Return the rules that the reference solution of a task breaks, and with which calls."""
    if not _rule_book(setting.domain).by_tool:
        return frozenset()
    found = check_gold(setting, told, ticket).breaking_calls
    return frozenset((each.rule, *_subject(call)) for each, call in found)


# A call without a record of its own is the same as another if all arguments are.
def _subject(call: Tau2ToolCall) -> tuple[str, str]:
    tool, arguments = inner_call(call)
    ids = {k: v for k, v in arguments.items() if k.endswith("_id") and k not in OWNERS}
    named = record(call) or next((each for each in ids.values() if isinstance(each, str)), None)
    # In a call by way of another tool, the first argument is a tool's name and not a record.
    if named and tool == call["name"]:
        return tool, named
    return tool, json.dumps(ids or arguments, sort_keys=True, default=str)


class _RuleBook:
    def __init__(self, domain: Domain, only_state: bool) -> None:
        self.rules = [each for each in domain.rules if each.kind is Kind.STATE or not only_state]
        self.about_talk = [each for each in self.rules if each.is_about_talk]
        self.by_tool: dict[str, list[Rule]] = {}
        for rule in self.rules:
            for tool in rule.tools:
                self.by_tool.setdefault(tool, []).append(rule)

    def about(self, call: Tau2ToolCall) -> list[Rule]:
        """Return the rules about the tool that does the work."""
        return self.by_tool.get(inner_call(call)[0], [])


@lru_cache(maxsize=64)
def _rule_book(domain: Domain, only_state: bool = False) -> _RuleBook:
    return _RuleBook(domain, only_state)
