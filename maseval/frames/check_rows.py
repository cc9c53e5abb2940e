"""Rows of the table ``checks``."""

from collections.abc import Iterator

from maseval.core.outcome import evaluations
from maseval.core.shapes import Shape, number, text_or_none
from maseval.frames.simulation_rows import key_of
from maseval.frames.sources import OpenedSource
from maseval.report.checks import ShownCheck, judged
from maseval.report.conversation import conversation

_NAMES = ("name", "evaluator", "metric")


def check_rows(report: Shape, source: OpenedSource) -> Iterator[dict[str, object]]:
    """A row for each check, or for the verdict of an evaluator that lists none."""
    key = key_of(report)
    verdicts = zip(evaluations(report), judged(report, conversation(report)), strict=True)
    for evaluator, (returned, verdict) in enumerate(verdicts):
        listed = [_check(each) for each in verdict.get("checks", ())]
        rows = listed if "checks" in verdict else [_verdict(returned)]
        for position, row in enumerate(rows):
            yield {**key, "evaluator": evaluator, "position": position, **row}


def _check(check: ShownCheck) -> dict[str, object]:
    return {
        "kind": check["kind"],
        "name": check["name"],
        "met": check["met"],
        "counts": check["counts"],
        "arguments": check.get("arguments"),
        "message": check.get("message"),
        "evidence": check["evidence"],
    }


def _verdict(returned: Shape) -> dict[str, object]:
    passed, reward = returned.get("passed"), number(returned.get("reward"))
    named = (text_or_none(returned.get(key)) for key in _NAMES)
    return {
        "kind": "VERDICT",
        "name": next(filter(None, named), None),
        "met": passed if isinstance(passed, bool) else None if reward is None else reward >= 1,
        "counts": True,
        "arguments": None,
        "message": None,
        "evidence": dict(returned),
    }
