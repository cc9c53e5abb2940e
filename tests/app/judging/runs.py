"""Judgements of a judge that errs on purpose, written as the judge's record writes them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from maseval.app.results.judged import simulation_key
from maseval.core.judge_record import Judgement, JudgeRecord, record_path
from maseval.core.outcome import Simulation
from maseval.runs import RunFolder


def broken_in_truth(one: Simulation) -> bool:
    """Return whether a conversation counts as broken: the tests decide, not the conversation."""
    return (len(one.task_id) + one.trial) % 3 == 0


def judge_passes(
    folder: Path,
    model: str = "a-judge",
    errs: Callable[..., Any] = lambda one: False,
    undecided: Callable[..., Any] = lambda one: False,
) -> list[Simulation]:
    """Write an answer about the policy for each pass; returns the passes."""
    run = RunFolder.read(folder)
    record = JudgeRecord(record_path(folder))
    passes = [one for one in run.recorded if run.report(one)["eval"][0]["passed"]]
    claim = {"message": 1, "weight": "act", "policy": "p", "quote": "q", "why": "w"}
    for one in passes:
        flagged = broken_in_truth(one) != errs(one)
        answer = {"claims": [claim] if flagged else []}
        record.add(
            Judgement(
                question="policy",
                key=simulation_key(one, run.content_key(one), "v"),
                judge={"model": model, "params": {}},
                prompt=f"{model}-{one}",
                reply="...",
                answer=None if undecided(one) else answer,
                undecided="not JSON" if undecided(one) else None,
            )
        )
    record.close()
    return passes
