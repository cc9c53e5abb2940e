"""Natural-language assertions: a language model says whether a conversation meets them.

The request is the original's to the letter, so that no form of the answer is sent along.
After tau2-bench v0.2.0, src/tau2/evaluator/evaluator_nl_assertions.py (MIT, Sierra Research).
"""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from pydantic import BaseModel

from maseval.benchmark.tau2.formats.message import Tau2Message
from maseval.benchmark.tau2.formats.simulation import NLCheck, RewardInfo
from maseval.benchmark.tau2.texts.original import Wording
from maseval.benchmark.tau2.wording import OURS
from maseval.core.exceptions import ConfigurationError, UndecidedError
from maseval.core.judge import Judge, Question
from maseval.core.model import ModelAdapter
from maseval.core.report_parts import is_successful
from maseval.core.task import Task
from maseval.core.words import count_of, excerpt

QUESTION = "assertions"
OFFICIAL_JUDGE = "gpt-4.1-2025-04-14"
_TEMPLATE = "{{system}}\n---\n{{request}}"


class _NotJudged:
    """``so_far`` is the verdict of all other checks.

    ``match`` says whether the company's and the customer's database ended as they should.
    """

    so_far: RewardInfo | None = None
    match: tuple[bool, bool] | None = None

    @property
    def certain_failure(self) -> RewardInfo | None:
        """The verdict if another check has failed, as no judge can change it then."""
        found = self.so_far
        return None if found is None or is_successful(found["reward"]) else found


class NoJudgeError(_NotJudged, ConfigurationError):
    """There are natural-language assertions to judge, but no model to judge them."""


class JudgeReplyError(_NotJudged, UndecidedError):
    """The judge did not say, for each assertion, whether it is met."""


class JudgedAssertions(BaseModel):
    """The outcome of each assertion."""

    checks: list[NLCheck]


def needs_judge(task: Task) -> bool:
    """Return True if the task's reward depends on natural-language assertions."""
    data = task.evaluation_data
    return bool(data.get("nl_assertions")) and "NL_ASSERTION" in (data.get("reward_basis") or ())


def judge(
    model: ModelAdapter | Judge,
    messages: Sequence[Tau2Message],
    assertions: Sequence[str],
    *,
    strict: bool = False,
    wording: Wording = OURS,
) -> list[NLCheck]:
    """Ask the judge once about all assertions, and once more if its answer cannot be read.

    ``strict`` asks once and reads the reply as v0.2.0 does: a code fence around the JSON is an
    error, and a reply that leaves assertions out counts as if they were met.
    """
    asked = Judge.of(model)
    system, request = wording.judge_prompts(messages, assertions)
    if isinstance(asked.model, ModelAdapter):
        asked.model.message_form = wording.message_form
    read = _read_strictly if strict else partial(_read_with_care, assertions)
    question = Question(
        QUESTION,
        _TEMPLATE,
        JudgedAssertions,
        params=wording.judge_params(asked.model_id),
        read=read,
    )
    # The original asks each time, and keeps no answers.
    if strict and isinstance(asked.model, ModelAdapter):
        texts = question.messages({"system": system, "request": request})
        reply = asked.model.chat(texts, generation_params=question.params).content
        return _read_strictly(reply or "").checks
    found = asked.ask(question, system=system, request=request)
    if found.answer is not None:
        return JudgedAssertions.model_validate(found.answer).checks
    if found.unanswered and isinstance(asked.model, str):
        raise NoJudgeError(str(found.undecided))
    what = "did not answer" if found.unanswered else "gave no answer that can be used"
    error = JudgeReplyError(f"the judge {asked.model_id} {what}: {found.undecided}")
    # A provider that failed may be asked again; an answer that cannot be read is final.
    error.unanswered = found.unanswered
    raise error


def _read_strictly(reply: str) -> JudgedAssertions:
    checks = [_check(result) for result in json.loads(reply).get("results", [])]
    return JudgedAssertions.model_validate({"checks": checks})


def _check(result: Mapping[str, object]) -> dict[str, object]:
    return {
        "nl_assertion": result["expectedOutcome"],
        "met": result["metExpectation"],
        "justification": result["reasoning"],
    }


def _read_with_care(assertions: Sequence[str], reply: str) -> JudgedAssertions:
    # Many models put a fence or a sentence around their JSON.
    first, last = reply.find("{"), reply.rfind("}")
    try:
        answer = json.loads(reply[first : last + 1])
    except (ValueError, RecursionError) as error:
        raise JudgeReplyError(f"{excerpt(reply)!r} is not a JSON object: {error}") from error
    results = answer.get("results") if isinstance(answer, dict) else None
    # An assertion that was passed over would otherwise count as met.
    if not isinstance(results, list) or len(results) != len(assertions):
        found = len(results) if isinstance(results, list) else "no"
        raise JudgeReplyError(
            f"there are {found} results for {count_of(len(assertions), 'assertion')}"
        )
    return JudgedAssertions(
        checks=[_outcome(*pair) for pair in zip(results, assertions, strict=True)]
    )


def _outcome(result: Any, assertion: str) -> NLCheck:
    met = result.get("metExpectation") if isinstance(result, dict) else None
    if not isinstance(met, bool):
        raise JudgeReplyError(
            f"the result for {assertion!r} has no metExpectation that is true or false"
        )
    return {
        "nl_assertion": str(result.get("expectedOutcome", assertion)),
        "met": met,
        "justification": str(result.get("reasoning", "")),
    }
