"""Errata: which tasks are wrong, and the verdicts over sound tasks that stand beside the official.

``errata.json`` is data, read by ``erratum``; ``sound`` gives the verdicts.
"""

from maseval.benchmark.tau2.review.errata.erratum import (
    Erratum,
    ErratumKind,
    errata_for,
    errata_of,
    load_errata,
)
from maseval.benchmark.tau2.review.errata.sound import (
    Soundness,
    SoundVerdict,
    sound_verdict,
    soundness_of,
)

__all__ = [
    "Erratum",
    "ErratumKind",
    "SoundVerdict",
    "Soundness",
    "errata_for",
    "errata_of",
    "load_errata",
    "sound_verdict",
    "soundness_of",
]
