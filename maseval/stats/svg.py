"""Pieces of SVG text: a figure with title and description, colours for light and dark, axes.

A figure can be put into a page as it is, or be saved as a file. It follows the reader's colour
scheme, or ``data-theme="dark"`` on a page's root. A page with colours of its own sets the custom
properties ``--plot-ink``, ``--plot-mark`` and so on. No figure tells things apart by colour.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from itertools import count, takewhile
from math import floor, log10

FONT = 'system-ui, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif'

# Light and dark: each legible on its ground.
_COLOURS = {
    "ground": ("#ffffff", "#14181f"),
    "ink": ("#1b2430", "#e8ecf2"),
    "quiet": ("#596575", "#a3adbb"),
    "grid": ("#e1e6ec", "#2c343f"),
    "mark": ("#0b62b8", "#6cb2ff"),
}
MARK = "mark"


def figure(width: float, height: float, title: str, description: str, parts: Iterable[str]) -> str:
    """Return a drawing of SVG elements; ``description`` is for people who cannot see it."""
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="maseval-plot" role="img" '
        f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" font-family="{escape(FONT)}" font-size="12">\n'
        f"<title>{escape(title)}</title>\n<desc>{escape(description)}</desc>\n"
        f"<style>{_style()}</style>\n"
        f'<rect class="ground" width="100%" height="100%" rx="6"/>\n'
        f"{text(24, 28, title, 'ink', size=15, bold=True)}\n{body}\n</svg>\n"
    )


@dataclass(frozen=True)
class Scale:
    """A map from values to places along one axis."""

    values: tuple[float, float]
    places: tuple[float, float]

    def __call__(self, value: float) -> float:
        low, high = self.values
        share = (value - low) / (high - low) if high > low else 0.5
        return self.places[0] + share * (self.places[1] - self.places[0])


def text(
    x: float,
    y: float,
    words: str,
    kind: str = "quiet",
    *,
    anchor: str = "start",
    size: float = 12,
    bold: bool = False,
) -> str:
    """Return words at a place; ``anchor`` is the end of them that stands there."""
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
        f'font-size="{size:g}"{weight}>{escape(words)}</text>'
    )


def line(x1: float, y1: float, x2: float, y2: float, kind: str = "grid", width: float = 1) -> str:
    return (
        f'<line class="{kind} line" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        f'stroke-width="{width:g}"/>'
    )


def marker(x: float, y: float, words: str) -> str:
    """Return the sign of a value at a place; ``words`` appear when it is pointed at."""
    hint = f"<title>{escape(words)}</title>"
    return f'<g class="{MARK}">{hint}<circle cx="{x:.1f}" cy="{y:.1f}" r="4.2"/></g>'


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Return about so many round values from ``low`` to ``high``."""
    if high <= low:
        return [low]
    rough = (high - low) / about
    power = 10.0 ** floor(log10(rough))
    step = next(power * each for each in (1, 2, 2.5, 5, 10) if power * each >= rough * 0.999)
    first = -floor(-low / step + 1e-9)
    values = ((first + i) * step for i in count())
    return list(takewhile(lambda value: value <= high + step * 1e-9, values))


def shorten(words: str, length: int) -> str:
    """Cut a long text in its middle, as names often differ at their ends."""
    half = length // 2
    return words if len(words) <= length else f"{words[:half]}…{words[half + 1 - length :]}"


def _style() -> str:
    rules = [
        ".maseval-plot{max-width:100%;height:auto;color-scheme:light dark}",
        *(
            f':root[data-theme="{theme}"] .maseval-plot{{color-scheme:{theme}}}'
            for theme in ("light", "dark")
        ),
    ]
    for name, (light, dark) in _COLOURS.items():
        # The plain colour comes first, for programs that do not know custom properties.
        chosen = f"var(--plot-{name},light-dark({light},{dark}))"
        rules += [
            f".maseval-plot .{name}{{fill:{light};fill:{chosen}}}",
            f".maseval-plot .{name}.line{{fill:none;stroke:{light};stroke:{chosen}}}",
        ]
    return "".join(rules)
