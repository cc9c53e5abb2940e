"""Plots as files."""

import os
from pathlib import Path

from maseval.core.exceptions import ConfigurationError
from maseval.report.drawings import well_formed


def write_svg(drawing: str, path: str | os.PathLike[str]) -> Path:
    """Write a drawing, in place of an older one; folders on the way are made."""
    target = Path(path)
    if target.is_dir():
        raise ConfigurationError(f"{target} is a folder; name the file: {target / 'plot.svg'}")
    if target.suffix.lower() != ".svg":
        raise ConfigurationError(
            f"{target} is to be an SVG drawing; name it {target.with_suffix('.svg').name}"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(well_formed(drawing), encoding="utf-8")
    return target
