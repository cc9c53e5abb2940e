"""The progress bars: ``maseval.core.callbacks.progress``."""

from maseval.core.callbacks.progress import (
    ProgressBarCallback,
    RichProgressBarCallback,
    TqdmProgressBarCallback,
)

__all__ = ["ProgressBarCallback", "RichProgressBarCallback", "TqdmProgressBarCallback"]
