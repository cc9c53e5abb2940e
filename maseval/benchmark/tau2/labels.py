"""Who failed: rule-based labels for failed simulations, and what they add up to.

The public door of ``maseval.benchmark.tau2.trust.labels``.
"""

from maseval.benchmark.tau2.trust.labels import (
    WHO,
    Label,
    Labelled,
    LabelSummary,
    PassHatK,
    Who,
    explain_and_label,
    label,
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
