"""Rule-based labels that say who failed in a simulation, and their totals."""

from maseval.benchmark.tau2.review.labels.label import explain_and_label, label
from maseval.stats.failure_labels import (
    WHO,
    Label,
    LabelSummary,
    Who,
    summarise_labels,
    summary_text,
)

__all__ = [
    "WHO",
    "Label",
    "LabelSummary",
    "Who",
    "explain_and_label",
    "label",
    "summarise_labels",
    "summary_text",
]
