"""What an audit finds: a statement about a task or a domain, its severity and its evidence."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Severity = Literal["error", "warning", "info"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
"""An error makes a right answer fail or a wrong one pass; a warning may; info is background."""

KINDS: Mapping[str, str] = {
    "gold raises": "an action of the reference solution fails, and scoring passes over it",
    "gold is refused": "an action of the reference solution is declined in an ordinary answer",
    "initial data is ignored": "values for the databases stand where nobody looks for them",
    "gold changes nothing": "the reference solution leaves the database unchanged",
    "gold misses its own checks": "the reference solution, carried out, does not pass",
    "gold breaks a precondition": "the reference solution does what the policy forbids",
    "doing nothing passes": "an agent that does and says nothing gets the full reward",
    "criteria can only pass": "no scored check can fail",
    "check can only pass": "a check is scored, but the task has no criteria for it",
    "text can never match": "something the agent must say can never be matched",
    "text matches by chance": "something the agent must say is likely to be said anyway",
    "assertions not counted": "there are natural-language assertions that are not scored",
    "id nobody can know": "an id of the reference solution is in no text and in no tool's answer",
    "persona contradicts the database": "the user is told something that the database denies",
    "policy names an unknown tool": "the policy names a tool that the agent does not have",
    "document names an unknown tool": "a document names a tool that neither side has",
    "documents disagree": "documents of one title have different figures",
    "tasks with equal content": "several tasks differ only in their ids",
    "tasks with equal solution": "several tasks have the same start and the same criteria",
    "task cannot be read": "a task is not in the form that scoring needs",
}


@dataclass(frozen=True)
class Finding:
    """One finding; ``task_id`` is None if it is about the domain as a whole."""

    domain: str
    task_id: str | None
    kind: str
    severity: Severity
    text: str
    evidence: Mapping[str, object] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """In JSON's terms."""
        return asdict(self)
