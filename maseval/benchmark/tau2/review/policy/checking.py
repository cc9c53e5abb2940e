"""The rules of a policy, asked about a recorded conversation or a reference solution.

The conversation is played once in a fresh world, and before each call of the agent the rules about
its tool are asked. A rule that raises is reported and keeps no other from being asked.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from maseval.benchmark.tau2.conversation.recording import HasSimulation
from maseval.benchmark.tau2.domains.domain import Domain
from maseval.benchmark.tau2.domains.releases import AnyVersion
from maseval.benchmark.tau2.formats.message import Tau2ToolCall
from maseval.benchmark.tau2.review.policy.finding import Breach, Compliance, Doubt, RuleFault
from maseval.benchmark.tau2.review.policy.rules import (
    INNER_TOOL,
    Answer,
    Broken,
    CallMoment,
    Kind,
    Rule,
    Talk,
)
from maseval.benchmark.tau2.review.words import OWNERS, record
from maseval.benchmark.tau2.scoring.case import AnyTask, Case, open_case
from maseval.benchmark.tau2.world.reference import GoldKey, gold_key
from maseval.benchmark.tau2.world.replay import ReplayError
from maseval.benchmark.tau2.world.setting import Setting
from maseval.benchmark.tau2.world.state.copying import once
from maseval.data.store import AnyPath

NOT_ENGLISH = "the conversation is not in English"

GoldBreach = tuple[str, str, str]
"""A rule that a reference solution breaks, the tool, and the record or the arguments."""


class _Findings:
    """The answers of rules, sorted by what they are."""

    def __init__(self, demanded: frozenset[GoldBreach] = frozenset()) -> None:
        self.demanded = demanded
        self.asked: dict[str, None] = {}
        self.breaches: list[Breach] = []
        self.doubts: list[Doubt] = []
        self.faults: list[RuleFault] = []

    def ask(self, rule: Rule, moment: CallMoment) -> None:
        """Ask a rule about a call."""
        check = rule.check
        if check is not None:
            self._note(rule, lambda: check(moment), moment)

    def ask_about_talk(self, rule: Rule, talk: Talk) -> None:
        """Ask a rule about the whole conversation."""
        check = rule.check_talk
        if check is not None:
            self._note(rule, lambda: check(talk))

    def doubt(self, rule: Rule, reason: str) -> None:
        """Note that a rule could not be asked."""
        self.asked[rule.id] = None
        self.doubts.append(Doubt(rule.id, rule.kind, reason))

    def result(self) -> Compliance:
        """Return all that was found."""
        return Compliance(
            tuple(self.asked), tuple(self.breaches), tuple(self.doubts), tuple(self.faults)
        )

    def _note(
        self, rule: Rule, answers: Callable[[], Iterable[Answer]], moment: CallMoment | None = None
    ) -> None:
        self.asked[rule.id] = None
        at, call = (moment.message_index, moment.call) if moment else (None, None)
        try:
            for answer in answers():
                if isinstance(answer, Broken):
                    self.breaches.append(self._breach(rule, answer, moment))
                else:
                    self.doubts.append(Doubt(rule.id, rule.kind, answer.reason, at, call))
        except Exception as error:  # a rule of anybody's: what others found must stay
            text = f"{type(error).__name__}: {error}"
            self.faults.append(RuleFault(rule.id, rule.kind, text, at, call))

    def _breach(self, rule: Rule, broken: Broken, moment: CallMoment | None) -> Breach:
        found = Breach(rule.id, rule.kind, broken.text, broken.message_index, None, broken.values)
        if moment is None:
            return found
        at = moment.message_index if broken.message_index is None else broken.message_index
        demanded = (rule.id, *_subject(moment.call)) in self.demanded
        return Breach(
            *(rule.id, rule.kind, broken.text, at, moment.call, broken.values),
            done=not moment.failed,
            demanded=demanded,
        )


def check_case(case: Case, *, scripted: bool = False) -> Compliance:
    """Ask every rule of the domain's policy about a recorded conversation.

    An agent that is ``scripted`` does not talk, and is asked about its effect on the state alone.
    """
    book = _rule_book(case.setting.domain, scripted)
    if not book.rules:
        return Compliance(unreadable=f"the domain {case.setting.domain.name} has no rules")
    ticket = case.raw_task.get("ticket") if case.setting.solo else None
    findings = _Findings(gold_breaches(case.setting, case.scenario, ticket))
    talk = Talk(case.recording.messages)
    read = case.setting.solo or not book.reading_words or talk.is_english
    try:
        _play(case.setting, talk, book, findings, words=read, ticket=ticket)
    except ReplayError as error:
        return Compliance(unreadable=str(error).partition("\n")[0])
    for rule in () if read else book.reading_words:
        findings.doubt(rule, NOT_ENGLISH)
    for rule in () if case.setting.solo else book.about_talk:
        if read or not rule.reads_words:
            findings.ask_about_talk(rule, talk)
    return findings.result()


def check_simulation(
    simulation: Mapping[str, Any] | HasSimulation,
    *,
    domain: str | Domain,
    task: AnyTask | None = None,
    solo: bool = False,
    data_dir: AnyPath | None = None,
    version: AnyVersion = None,
) -> Compliance:
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
    *,
    words: bool,
    ticket: str | None,
) -> None:
    """Make the calls again, and ask before each of the agent's."""
    world = setting.world()
    for made in talk.calls:
        call = made.call
        rules = book.about(call) if call["requestor"] == "assistant" else ()
        if rules:
            tools = world.tools, world.user_tools
            moment = CallMoment(call, made.message_index, *tools, talk, made.answer, ticket)
            for rule in rules:
                if not rule.reads_words or (words and not setting.solo):
                    findings.ask(rule, moment)
        if setting.may_write(call) or _unlocks(setting, call):
            world.make(call)


def _unlocks(setting: Setting, call: Tau2ToolCall) -> bool:
    """Tell whether a tool that is no write changes what later calls can do."""
    return call["requestor"] == "assistant" and setting.domain.toolkit.mutates(call["name"])


def check_gold(setting: Setting, told: str, ticket: str | None = None) -> Compliance:
    """Ask the rules of state about the reference solution of a task.

    ``told`` is what the task lets the user say; nobody else speaks. ``ticket`` is what an agent
    that works alone is given. Both sides make their calls, as in every reference solution.
    """
    ids = [action.action_id for action in setting.task.actions]
    return _check_gold(gold_key(setting, f"{setting.task.gold_key}\n{ids}"), told, ticket)


@once(maxsize=4096)
def _check_gold(key: GoldKey, told: str, ticket: str | None) -> Compliance:
    setting = key.setting
    book, findings = _rule_book(setting.domain, True), _Findings()
    world = setting._replace(solo=False).world()
    talk = Talk([{"role": "user", "content": told}])
    for number, action in enumerate(setting.task.actions):
        call = action.call()
        if call["requestor"] == "assistant":
            tools = world.tools, world.user_tools
            moment = CallMoment(call, number + 1, *tools, talk, ticket=ticket)
            for rule in book.about(call):
                findings.ask(rule, moment)
        world.make(call)
    return findings.result()


def forbidden_steps(setting: Setting, told: str) -> dict[str, str]:
    """Return the steps of the reference solution that the policy forbids: their ids, and why."""
    found = check_gold(setting, told).breaches
    return {each.call.get("id", ""): each.text for each in found if each.call is not None}


def gold_breaches(setting: Setting, told: str, ticket: str | None = None) -> frozenset[GoldBreach]:
    """Return the rules that the reference solution of a task breaks, and with which calls."""
    if not _rule_book(setting.domain).by_tool:
        return frozenset()
    found = check_gold(setting, told, ticket).breaches
    return frozenset((each.rule, *_subject(each.call)) for each in found if each.call is not None)


def _subject(call: Tau2ToolCall) -> tuple[str, str]:
    """Return what a call is about: its tool, and the record or, without one, all arguments."""
    arguments = call["arguments"]
    within = arguments.get(INNER_TOOL)
    if isinstance(within, str):
        return within, _inner_subject(arguments.get("arguments"))
    ids = [v for k, v in arguments.items() if k.endswith("_id") and k not in OWNERS]
    about = record(call) or next((each for each in ids if isinstance(each, str)), None)
    return call["name"], about or json.dumps(arguments, sort_keys=True, default=str)


def _inner_subject(written: object) -> str:
    """Return the records that the arguments of a tool within a call name, in whatever order."""
    try:
        given = json.loads(written) if isinstance(written, str) else written
    except ValueError:
        given = None
    if not isinstance(given, dict):
        return str(written)
    ids = {k: v for k, v in given.items() if k.endswith("_id") and k not in OWNERS}
    return json.dumps(ids or given, sort_keys=True, default=str)


class _RuleBook:
    """The rules of a domain, and by the tools that they are about."""

    def __init__(self, domain: Domain, only_state: bool) -> None:
        holding = [rule for rule in domain.rules if rule.holds_in(domain.version)]
        self.rules = [each for each in holding if each.kind is Kind.STATE or not only_state]
        self.reading_words = [each for each in self.rules if each.reads_words]
        self.about_talk = [each for each in self.rules if each.check_talk is not None]
        self.by_tool: dict[str, list[Rule]] = {}
        for rule in self.rules:
            for tool in rule.tools:
                self.by_tool.setdefault(tool, []).append(rule)

    def about(self, call: Tau2ToolCall) -> list[Rule]:
        """Return the rules about a call's tool, and about the one that it calls."""
        own, named = self.by_tool.get(call["name"], []), call["arguments"].get(INNER_TOOL)
        within = self.by_tool.get(named) if isinstance(named, str) else None
        return [*own, *within] if within else own


@lru_cache(maxsize=64)
def _rule_book(domain: Domain, only_state: bool = False) -> _RuleBook:
    return _RuleBook(domain, only_state)
