"""``maseval export`` in the form of the original benchmark, which its support writes."""

import os
from collections.abc import Sequence
from pathlib import Path

from maseval.app.benchmarks import ExportedPath, all_support
from maseval.core.exceptions import ConfigurationError


def export_formats() -> list[str]:
    """Return the names of the forms that the installed benchmarks write."""
    return [each.exports for each in all_support() if each.exports]


def export(
    run: str | os.PathLike[str],
    form: str,
    output: str | os.PathLike[str] | None = None,
    *,
    overwrite: bool = False,
) -> Sequence[ExportedPath]:
    """Write a run as the files of its original benchmark, such as ``tau2-bench``."""
    target = None if output is None else Path(output)
    for each in all_support():
        if each.exports == form:
            return each.export(run, target, overwrite=overwrite)
    raise ConfigurationError(f"form is {form!r}; give one of {', '.join(export_formats())}")
