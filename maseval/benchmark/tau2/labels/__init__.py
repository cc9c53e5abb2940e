"""Rule-based labels that say who failed in a simulation, and their totals."""

from maseval.benchmark.tau2.labels.failure import WHO, Label, Who
from maseval.benchmark.tau2.labels.label import explain_and_label, label
from maseval.benchmark.tau2.labels.summary import (
    Labelled,
    LabelSummary,
    PassHatK,
    summarise_labels,
    summary_text,
)

__all__ = [
    "WHO",
    "Label",
    "LabelSummary",
    "Labelled",
    "PassHatK",
    "Who",
    "explain_and_label",
    "label",
    "summarise_labels",
    "summary_text",
]
