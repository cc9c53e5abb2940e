"""Drawings as PNG and PDF, by the library CairoSVG."""

from types import ModuleType
from typing import Literal

from maseval.interface import extras

Picture = Literal["png", "pdf"]

_PIXELS = 2.0
"""A PNG has twice as many pixels as the drawing has units, so that it prints sharply."""


def picture_of(svg: str, form: Picture) -> bytes:
    """Return the drawing as a file of that form."""
    library = _library()
    if form == "pdf":
        return bytes(library.svg2pdf(bytestring=svg.encode()))
    return bytes(library.svg2png(bytestring=svg.encode(), scale=_PIXELS))


def _library() -> ModuleType:
    try:
        return extras.load("cairosvg", extra="plots")
    except OSError as error:
        raise extras.MissingExtraError(
            f"CairoSVG is installed, but not the library Cairo that it needs ({error}); on Debian "
            "and Ubuntu: apt-get install libcairo2"
        ) from error
