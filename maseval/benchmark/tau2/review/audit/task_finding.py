"""A finding of the audit, which names the task that it is about, and the kinds there are."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from maseval.core.finding import Finding, Grade, Weight

Severity = Literal["error", "warning", "info"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
"""An error makes a right answer fail or a wrong one pass; a warning may; info is background."""

KINDS: Mapping[str, str] = {
    "gold raises": "an action of the reference solution fails, and scoring passes over it",
    "gold is refused": "an action of the reference solution is declined in an ordinary answer",
    "initial data is ignored": "values for the databases stand where nobody looks for them",
    "gold changes nothing": "the reference solution leaves the database unchanged",
    "gold misses its own checks": "the reference solution, carried out, does not pass",
    "gold breaks the policy": "the reference solution does what the policy forbids",
    "doing nothing passes": "an agent that does and says nothing gets the full reward",
    "criteria can only pass": "no scored check can fail",
    "check can only pass": "a check is scored, but the task has no criteria for it",
    "text can never match": "something the agent must say can never be matched",
    "text matches by chance": "something the agent must say is likely to be said anyway",
    "text is in no answer": "something the agent must say is not what the tools answer",
    "assertions not counted": "there are natural-language assertions that are not scored",
    "id nobody can know": "an id of the reference solution is in no text and in no tool's answer",
    "several right end states": "another choice is as right as the gold's, and fails",
    "free text is compared": "the same in other words fails",
    "order of writes is compared": "the same calls in another order fail",
    "order in a list is compared": "the same list in another order fails",
    "persona contradicts the database": "the user is told something that the database denies",
    "unknown tool is named": "the policy or a document names a tool that neither side has",
    "tool defect": "a tool does not do what it says, in the benchmark's own world",
    "stored twice with different gold": "two tasks have one request and different solutions",
    "tasks with equal content": "several tasks differ only in their ids",
    "tasks with equal solution": "several tasks have the same start and the same criteria",
    "task cannot be read": "a task is not in the form that scoring needs",
}

FORMS: Mapping[Severity, tuple[Grade, Weight]] = {
    "error": ("proven", "state"),
    "warning": ("likely", "state"),
    "info": ("proven", "remark"),
}
"""The grade and weight that a severity is."""


@dataclass(frozen=True)
class TaskFinding(Finding):
    """A finding about a task of a domain; ``task_id`` is None if it is about the whole domain."""

    domain: str = ""
    task_id: str | None = None

    @property
    def severity(self) -> Severity:
        form = self.grade, self.weight
        return next(severity for severity, each in FORMS.items() if each == form)

    @property
    def place(self) -> str:
        """The task, as ``retail/12``, or the domain."""
        return self.domain if self.task_id is None else f"{self.domain}/{self.task_id}"

    @property
    def meaning(self) -> str:
        return KINDS[self.kind]

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "severity": self.severity, "meaning": self.meaning}
