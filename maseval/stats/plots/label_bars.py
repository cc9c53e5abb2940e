"""Why simulations failed: one bar for each label."""

from collections.abc import Mapping
from html import escape

from maseval.core.exceptions import ConfigurationError
from maseval.stats.plots import svg
from maseval.stats.plots.svg import Figure, Scale

_WIDTH, _TOP, _ROW = 680, 48, 26
_LEFT, _RIGHT = 280, 590


def label_bars(counts: Mapping[str, int], title: str = "Failed simulations by label") -> str:
    """The labels that occur, the most frequent first, each with its number and share.

    A label such as ``agent: wrong arguments`` has the colour of what stands before the colon.
    """
    occurring = {label: count for label, count in counts.items() if count}
    if any(count < 0 for count in occurring.values()):
        raise ConfigurationError(f"counts of labels are 0 or more, not {dict(counts)}")
    total = sum(occurring.values())
    if not total:
        words = svg.text(24, _TOP + 16, "No simulation failed.", "ink")
        return str(Figure(_WIDTH, _TOP + 36, title, "No simulation failed.", [words]))
    ordered = sorted(occurring.items(), key=lambda item: -item[1])
    kinds = {kind: i for i, kind in enumerate(dict.fromkeys(_kind(label) for label, _ in ordered))}
    across = Scale((0, ordered[0][1]), (_LEFT, _RIGHT))
    parts = [
        part
        for row, (label, count) in enumerate(ordered)
        for part in _bar(label, count, total, _TOP + row * _ROW, across, kinds[_kind(label)])
    ]
    described = ", ".join(f"{label}: {count}" for label, count in ordered)
    height = _TOP + len(ordered) * _ROW + 14
    return str(Figure(_WIDTH, height, f"{title} ({total})", described, parts))


def _kind(label: str) -> str:
    return label.partition(":")[0].strip()


def _bar(label: str, count: int, total: int, y: float, across: Scale, number: int) -> list[str]:
    end = across(count)
    hint = svg.hinted(f"{label}: {count} of {total}")
    return [
        svg.text(_LEFT - 10, y + 13.5, svg.shortened(label, 40), "ink", anchor="end"),
        f'<rect class="{svg.series(number)}" data-label="{escape(label)}" x="{_LEFT}" y="{y:g}" '
        f'width="{end - _LEFT:.1f}" height="{_ROW - 8}" rx="2">{hint}</rect>',
        svg.text(end + 7, y + 13.5, f"{count}  ({count / total:.0%})"),
    ]
