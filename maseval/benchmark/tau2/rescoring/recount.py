"""Recount: what follows from a record that was judged again.

It is the answer of ``maseval score``, and what pages, comparisons and certificates rest on.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from maseval.benchmark.tau2.rescoring.findings import record_findings
from maseval.benchmark.tau2.rescoring.judged import NO_RECORDED_VERDICT, JudgedRecord
from maseval.benchmark.tau2.rescoring.verdict import NEEDS_JUDGE
from maseval.benchmark.tau2.scoring.rule import MEASURED, RULE
from maseval.core.finding import Finding
from maseval.stats.summary import Estimate
from maseval.stats.trials import by_task


class Recount(JudgedRecord):
    """The findings about a record, and its numbers, for when all of it is judged."""

    @cached_property
    def findings(self) -> list[Finding]:
        return record_findings(self)

    @property
    def planned(self) -> int:
        return len(self.slots)

    @property
    def verdicts(self) -> int:
        return sum(passed is not None for passed in self.by_trial.values())

    @property
    def passes(self) -> int:
        return sum(passed is True for passed in self.by_trial.values())

    @property
    def open(self) -> int:
        return sum(each.reason == NEEDS_JUDGE for each in self.outcomes)

    @property
    def pass_hat(self) -> Mapping[int, Estimate]:
        return self.summary.pass_hat if self.summary else {}

    @property
    def shortfall(self) -> str | None:
        return self.summary.shortfall if self.summary else None

    @property
    def recorded_passes(self) -> int:
        return sum(each.passed_as_recorded for each in self.simulations)

    @property
    def compared(self) -> int:
        """The number of recorded verdicts that were compared with new ones."""
        return sum(each.compared for each in self.simulations)

    @property
    def agreeing(self) -> int:
        return sum(each.agrees for each in self.simulations)

    @property
    def not_replayable(self) -> int:
        """The number of conversations that cannot be replayed, and count as failures."""
        return sum(each.fault is not None for each in self.simulations)

    @property
    def trials_differ(self) -> tuple[int, int] | None:
        """The least and the most trials of a task that have a verdict, if these differ."""
        totals = [trials.total for trials in by_task(self.outcomes).values() if trials.total]
        return (min(totals), max(totals)) if len({*totals}) > 1 else None

    @property
    def skipped(self) -> Mapping[str, int]:
        """The reasons why simulations were not compared, with their numbers."""
        without = sum(each.recorded is None and not each.problem for each in self.simulations)
        return self.problems | ({NO_RECORDED_VERDICT: without} if without else {})

    @property
    def disagreements(self) -> list[dict[str, Any]]:
        """Every simulation whose verdict differs, and where."""
        found = []
        for each in self.disagreeing:
            replay = [] if each.fault is None else [f"it cannot be replayed: {each.fault.error}"]
            found.append(
                {
                    "task_id": each.slot.task_id,
                    "trial": each.slot.trial,
                    "differences": [*each.differences, *replay],
                }
            )
        return found

    @property
    def over_split(self) -> dict[str, float] | None:
        """The range of pass^1 over whole splits, with their tasks; None if no task is missing."""
        if not (unlisted := self.unlisted):
            return None
        missing = sum(len(absent) for _, _, absent in unlisted.values())
        tasks = missing + len({slot.task for slot in self.slots})
        worst, best = self.bounds_over_split(self.domains)
        return {"tasks": tasks, "missing": missing, "worst": worst, "best": best}

    @property
    def agrees(self) -> bool:
        """True if something was compared, and the record has no fault; a caution is none."""
        return bool(self.compared) and all(each.weight == "remark" for each in self.findings)

    @property
    def judge_words(self) -> list[str]:
        """Say which judge decided, and how often it was asked."""
        judge = self.model
        if judge is None:
            return []
        # A number by rule must never stand without saying so.
        if judge.model == RULE:
            return [f"judge: rule, not the official number; {MEASURED}"]
        file = f" from {judge.record.path.name}" if judge.record else ""
        return [f"judge {judge.model_id}: {judge.asked} asked, {judge.known} known{file}"]

    def to_dict(self) -> dict[str, object]:
        judge = self.model
        asked = judge and {
            "model": judge.model_id,
            "asked": judge.asked,
            "known": judge.known,
        }
        return {
            "path": str(self.path),
            "version": self.version,
            "version_from": self.version_from,
            "marks": self.options.marks,
            "findings": [each.to_dict() for each in self.findings],
            "planned": self.planned,
            "simulations": len(self.simulations),
            "missing": list(map(str, self.missing)),
            "compared": self.compared,
            "agreeing": self.agreeing,
            "passed_as_recorded": self.recorded_passes,
            "verdicts": self.verdicts,
            "passed": self.passes,
            "needs_judge": self.open,
            **({"judges": [asked]} if asked else {}),
            "not_replayable": self.not_replayable,
            "skipped": dict(self.skipped),
            "disagreements": self.disagreements,
            **{f"pass^{k}": each.in_brief() for k, each in self.pass_hat.items()},
            "over_split": self.over_split,
        }
