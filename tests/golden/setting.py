"""The setting in which outputs are the same on every machine."""

from pathlib import Path

SETTING = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}


def banking_setting(shared: Path) -> dict[str, str]:
    """Return the variables that name the data and texts of the bank."""
    return {
        "MASEVAL_TAU2_DATA": str(shared / "tau2-v1.0.1"),
        "MASEVAL_TAU2_TEXTS": str(shared / "tau2-texts"),
    }
