"""Labels of failed simulations: who failed and how, counted."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypedDict

from maseval.core.words import count_of

Who = Literal["agent", "user", "task", "infrastructure", "unclear"]

WHO: tuple[Who, ...] = ("agent", "user", "task", "infrastructure", "unclear")


@dataclass(frozen=True)
class Label:
    """A label: the party that failed and how, the rule that says so, and what it saw."""

    who: Who
    what: str
    rule: str
    evidence: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the label as JSON values."""
        return {**asdict(self), "evidence": list(self.evidence)}

    def text(self) -> str:
        """Return the label in words, the evidence below."""
        evidence = (f"  {line}" for line in self.evidence)
        return "\n".join([f"{self.who}: {self.what} (rule: {self.rule})", *evidence])


def misfit_label(words: str) -> Label:
    """Return the label where a task does not fit: nobody failed it, as far as anyone can tell."""
    return Label("unclear", "task does not fit", "task of another conversation", (words,))


class LabelSummary(TypedDict):
    """The failures of a run by their labels."""

    simulations: int
    passed: int
    failed: int
    by_who: dict[str, int]
    by_what: dict[str, int]


def summarise_labels(labels: Iterable[Label | None]) -> LabelSummary:
    """Count the labels of a run's simulations; one that passed has None."""
    every = list(labels)
    failed = [each for each in every if each is not None]
    who = Counter(each.who for each in failed)
    return {
        "simulations": len(every),
        "passed": len(every) - len(failed),
        "failed": len(failed),
        "by_who": {name: who[name] for name in WHO},
        "by_what": dict(Counter(f"{each.who}: {each.what}" for each in failed).most_common()),
    }


def summary_text(summary: LabelSummary) -> str:
    """Return the summary in words."""
    lines = [
        f"{count_of(summary['simulations'], 'simulation')}, {summary['passed']} passed, "
        f"{summary['failed']} failed"
    ]
    return "\n".join([*lines, *(f"  {n:>5}  {what}" for what, n in summary["by_what"].items())])
