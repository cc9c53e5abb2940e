"""Errata: which tasks are wrong, and the verdicts over sound tasks that stand beside the official.

``errata.json`` is data, read by ``erratum``; ``sound`` gives the verdicts.
"""

from maseval.benchmark.tau2.review.errata.erratum import (
    Erratum,
    ErratumKind,
    errata_for,
    errata_of,
    has_errata,
    load_errata,
)
from maseval.benchmark.tau2.review.errata.sound import faults_of_task, sound_finding

__all__ = [
    "Erratum",
    "ErratumKind",
    "errata_for",
    "errata_of",
    "faults_of_task",
    "has_errata",
    "load_errata",
    "sound_finding",
]
