"""Natural-language assertions: a language model says whether a conversation meets them.

After tau2-bench v0.2.0, src/tau2/evaluator/evaluator_nl_assertions.py (MIT, Sierra Research).
"""

import json
from collections.abc import Mapping, Sequence

from pydantic import TypeAdapter

from maseval.benchmark.tau2.formats.message import Tau2Message
from maseval.benchmark.tau2.formats.simulation import NLCheck, RewardInfo
from maseval.benchmark.tau2.texts.original import Wording
from maseval.benchmark.tau2.wording import OURS
from maseval.core.exceptions import ConfigurationError, MASEvalError
from maseval.core.model import ModelAdapter

_NL_CHECK = TypeAdapter(NLCheck)


class NoJudgeError(ConfigurationError):
    """There are natural-language assertions to judge, but no model to judge them.

    ``so_far`` is the verdict of all other checks. If its reward is 0, no judge can change it.
    ``match`` says whether the company's and the customer's database ended as they should.
    """

    so_far: RewardInfo | None = None
    match: tuple[bool, bool] | None = None


class JudgeReplyError(MASEvalError, ValueError):
    """The judge did not say, for each assertion, whether it is met; ``so_far`` as above."""

    so_far: RewardInfo | None = None
    match: tuple[bool, bool] | None = None


def judge(
    model: ModelAdapter,
    messages: Sequence[Tau2Message],
    assertions: Sequence[str],
    *,
    strict: bool = False,
    wording: Wording = OURS,
) -> list[NLCheck]:
    """Ask the judge once about all assertions.

    ``strict`` reads the reply as v0.2.0 does: a code fence around the JSON is an error, and a
    reply that leaves assertions out counts as if they were met.
    """
    system, request = wording.judge_prompts(messages, assertions)
    model.message_form = wording.message_form
    reply = model.chat(
        [{"role": "system", "content": system}, {"role": "user", "content": request}],
        generation_params=wording.judge_params(model.model_id),
    ).content
    return _as_the_original(reply or "") if strict else _with_care(reply or "", assertions)


def _as_the_original(reply: str) -> list[NLCheck]:
    results = json.loads(reply).get("results", [])
    return [_check(result) for result in results]


def _check(result: Mapping[str, object]) -> NLCheck:
    return _NL_CHECK.validate_python(
        {
            "nl_assertion": result["expectedOutcome"],
            "met": result["metExpectation"],
            "justification": result["reasoning"],
        }
    )


def _with_care(reply: str, assertions: Sequence[str]) -> list[NLCheck]:
    first, last = reply.find("{"), reply.rfind("}")
    try:
        answer = json.loads(reply[first : last + 1])
    except (ValueError, RecursionError) as error:
        raise JudgeReplyError(
            f"the judge replied {_shown(reply)}, which is not a JSON object: {error}; use a model "
            "that answers in JSON"
        ) from error
    results = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(results, list) or len(results) != len(assertions):
        found = len(results) if isinstance(results, list) else "no"
        raise JudgeReplyError(
            f"the judge gave {found} results for {len(assertions)} assertions: {_shown(reply)}"
        )
    return [_outcome(*pair) for pair in zip(results, assertions, strict=True)]


def _outcome(result: object, assertion: str) -> NLCheck:
    met = result.get("metExpectation") if isinstance(result, dict) else None
    if not isinstance(result, dict) or not isinstance(met, bool):
        raise JudgeReplyError(
            f"the judge's result {_shown(str(result))} for {assertion!r} has no metExpectation "
            "that is true or false"
        )
    return {
        "nl_assertion": str(result.get("expectedOutcome", assertion)),
        "met": met,
        "justification": str(result.get("reasoning", "")),
    }


def _shown(text: str) -> str:
    return repr(text if len(text) <= 200 else f"{text[:197]}...")
