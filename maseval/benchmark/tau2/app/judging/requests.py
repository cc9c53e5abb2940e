"""Show a judge a simulation: the policy, the conversation, and for the cause the facts.

Messages are numbered as everywhere else. Evidence may quote the policy, and also what the agent's
tools answered in a domain whose policy is in documents that the agent has to look for.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from maseval.app.benchmarks import JudgeRequest
from maseval.benchmark.tau2.data_loader import UnknownTaskError
from maseval.benchmark.tau2.domains import UnknownDomainError
from maseval.benchmark.tau2.formats.message import Tau2Message
from maseval.benchmark.tau2.results import Omitted
from maseval.benchmark.tau2.results.writing import Tau2Report
from maseval.benchmark.tau2.review.errata import errata_for
from maseval.benchmark.tau2.review.explain.explanation import explain_subject
from maseval.benchmark.tau2.review.explain.scored_case import score_opened
from maseval.benchmark.tau2.review.judged.questions import (
    JudgedTexts,
    cause_question,
    policy_question,
)
from maseval.benchmark.tau2.scoring.case import Case
from maseval.benchmark.tau2.scoring.judge import NoJudgeError
from maseval.core.exceptions import ConfigurationError, MASEvalError
from maseval.core.finding import Finding, Weight
from maseval.core.judge import Question
from maseval.core.judge_record import Judgement
from maseval.core.recorded import mapping
from maseval.core.report import Report

QUESTIONS: Mapping[str, Callable[[], Question[Any]]] = {
    "policy": policy_question,
    "cause": cause_question,
}
_WHO = {"assistant": "agent", "user": "customer", "tool": "answer"}


def judge_question(about: str) -> Question[Any]:
    try:
        return QUESTIONS[about]()
    except KeyError:
        known = " or ".join(QUESTIONS)
        raise ConfigurationError(f"tau2 has no question {about!r}; ask about {known}") from None


def judge_request(report: Report, about: str) -> JudgeRequest | None:
    """Return what to ask about a report; None without a conversation of a task known here."""
    parsed = Tau2Report(report)
    if isinstance(parsed.form, Omitted) or not parsed.form.get("messages"):
        return None
    try:
        case = parsed.case
    except (UnknownDomainError, UnknownTaskError):
        return None
    return request_about(case, about)


def request_about(case: Case, about: str) -> JudgeRequest | None:
    """Return what to ask about a case; None about the cause of a pass."""
    others, policy = [], policy_of(case)
    # There the agent looks the policy up, so that a judge must be able to quote what it found.
    if case.setting.domain.documents(case.setting.folder):
        others += [str(e.get("content") or "") for e in case.messages if e["role"] == "tool"]
    if about == "policy":
        return policy_request(case.messages, policy, others)
    facts = facts_by_replay(case)
    if facts is None:
        return None
    scenario = case.raw_task.get("ticket" if case.setting.solo else "user_scenario")
    told = {"instructions": _as_text(scenario), "reference": reference(case)}
    asked = policy_request(case.messages, policy, [*others, *told.values()])
    return asked._replace(parts={**asked.parts, **told, "facts": facts})


def policy_request(
    messages: Sequence[Tau2Message], policy: str, others: Sequence[str] = ()
) -> JudgeRequest:
    """Return what to ask about messages; evidence may quote the policy and the ``others``."""
    shown = [*rendered_messages(messages)]
    conversation = "\n".join(f"[{number}] {text}" for number, text in enumerate(shown))
    parts = {"policy": policy, "conversation": conversation}
    return JudgeRequest(parts, JudgedTexts(shown, [policy, *others]))


def policy_of(case: Case) -> str:
    """Return the policy that the agent of a case was to obey."""
    domain, folder, solo = case.setting.domain, case.setting.folder, case.setting.solo
    if domain.task_policy is not None:
        return domain.task_policy(folder, solo, case.raw_task)
    return domain.policy(folder, solo=solo)


def rendered_messages(messages: Sequence[Tau2Message]) -> Iterator[str]:
    """Yield each message as the judge reads it; calls and answers in full."""
    for message in messages:
        who = _WHO.get(message["role"], message["role"])
        calls: Sequence[Any] = message.get("tool_calls") or ()  # type: ignore[assignment]
        lines = [f"{who}: {message['content']}"] if message.get("content") else []
        for call in calls:
            arguments = json.dumps(call["arguments"], ensure_ascii=False, default=str)
            lines.append(f"{who} calls {call['name']}({arguments})")
        yield "\n".join(lines) or f"{who}: (nothing)"


def _as_text(value: object) -> str:
    """Return texts in a mapping below the names of their parts."""
    if isinstance(value, Mapping):
        parts = ((name, _as_text(each)) for name, each in value.items() if each)
        return "\n".join(f"{name.replace('_', ' ')}: {text}" for name, text in parts)
    return "" if value is None else str(value)


def reference(case: Case) -> str:
    """Return what the task's author wanted to be done and said."""
    criteria: Mapping[str, Any] = mapping(case.raw_task, "evaluation_criteria")
    lines = []
    for action in criteria.get("actions") or ():
        who = _WHO.get(action.get("requestor") or "assistant")
        arguments = json.dumps(action.get("arguments"), ensure_ascii=False, default=str)
        lines.append(f"{who} calls {action['name']}({arguments})")
    lines += [f"the agent says: {each}" for each in criteria.get("communicate_info") or ()]
    lines += [str(each) for each in criteria.get("nl_assertions") or ()]
    return "\n".join(lines) or "nothing is to be changed"


def facts_by_replay(case: Case) -> str | None:
    """Return what a replay shows of a failure; None for a pass, or if only a judge could tell."""
    domain, task_id = case.setting.domain, str(case.recording.task_id)
    try:
        errata = errata_for(domain, task_id, domain.version, case.raw_task)
        explanation = explain_subject(score_opened(case, errata))
    # A cause without facts would be a guess: then nothing is asked.
    except (NoJudgeError, MASEvalError):
        return None
    if explanation.passed:
        return None
    lines = [explanation.summary]
    for section in explanation.sections():
        lines += [section.title, *section.lines]
    return "\n".join(lines)


def judged_findings(judgement: Judgement) -> list[Finding]:
    """Return the claims of a judgement as findings, whose grade is ``judged``."""
    answer = judgement.answer
    if answer is None:
        return []
    claims = answer.get("claims") or ()
    if judgement.question == "policy":
        return [_breach(claim) for claim in claims]
    return [_cause(answer, claims)] if claims else []


def _breach(claim: Mapping[str, Any]) -> Finding:
    weight: Weight = "manner" if claim["weight"] == "manner" else "state"
    evidence = (f"message {claim['message']}: {claim['quote']}", f"policy: {claim['policy']}")
    kind, rule = f"judged {claim['weight']}", "judged policy"
    return Finding(
        "judge",
        "agent",
        kind,
        rule,
        claim["why"],
        "judged",
        claim["message"],
        evidence=evidence,
        weight=weight,
    )


def _cause(answer: Mapping[str, Any], quotes: Sequence[Mapping[str, Any]]) -> Finding:
    places = [each["message"] for each in quotes if each["message"] is not None]
    evidence = [
        each["quote"] if each["message"] is None else f"message {each['message']}: {each['quote']}"
        for each in quotes
    ]
    kind, rule, message = "judged to have failed", "judged cause", places[0] if places else None
    return Finding(
        "judge",
        answer["first"],
        kind,
        rule,
        answer["why"],
        "judged",
        message,
        evidence=tuple(evidence),
        also=answer.get("second"),
    )
