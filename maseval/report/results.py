"""The results on a page: a table of measures with their intervals, and plots.

Plots are data, which the page's script draws element by element, so that no markup gets in.
"""

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Outcome
from maseval.core.recorded import Shape, list_of, mapping
from maseval.core.task import ChosenSubset
from maseval.stats.summary import summarise

_MEANING = "Success rate: share of passed trials, mean over tasks; what has no verdict is left out."


def success_rates(
    outcomes: Sequence[Outcome], subset: ChosenSubset | None = None
) -> dict[str, object]:
    """Return the results of a run that comes without a summary: each domain's, and those of all.

    Those of a ``subset`` are named an estimate.
    """
    if not outcomes:
        return {"rows": [], "meaning": [_MEANING]}
    found = summarise(outcomes)
    domains = found.domains if len(found.groups) > 1 else []
    rows = [
        {
            "name": f"{name}, {subset}" if subset else name,
            "tasks": group.tasks,
            "simulations": group.planned,
            "verdicts": group.done,
            "success": group.estimate(1).in_brief() if group.done else {"value": None},
        }
        for name, group in [*((each.group, each) for each in domains), ("all", found.overall)]
    ]
    notes = filter(None, [subset and subset.note, found.overall.shortfall])
    meaning = filter(None, [_MEANING, found.interval_in_words])
    return {"rows": rows, "notes": [*notes], "meaning": [*meaning]}


_COUNTS = ("tasks", "simulations", "verdicts")


def summary_table(given: Shape) -> dict[str, object]:
    """Return a summary as columns and rows; each key that is not a count is a measure.

    ``beside`` are rows that stand beside the official ones, ``meaning`` explains numbers, and
    ``doubt`` says why they are doubtful.
    """
    rows, beside = (list_of(mapping)(given.get(part)) for part in ("rows", "beside"))
    every = [*rows, *beside]
    counts = [key for key in _COUNTS if any(key in row for row in every)]
    known = {"name", *counts}
    measures = list(dict.fromkeys(key for row in every for key in row if key not in known))

    def row_of(row: Shape) -> dict[str, object]:
        parts = {"counts": counts, "measures": measures}
        return {"name": row.get("name")} | {k: [*map(row.get, v)] for k, v in parts.items()}

    return {
        "counts": counts,
        "measures": measures,
        "rows": [*map(row_of, rows)],
        "beside": [*map(row_of, beside)],
        **{part: list_of(str)(given.get(part)) for part in ("notes", "meaning")},
        **({"doubt": given["doubt"]} if given.get("doubt") else {}),
    }


_ELEMENTS = frozenset(
    {
        *("svg", "g", "title", "desc", "text", "rect", "line", "polyline", "polygon"),
        *("circle", "path"),
    }
)
_ATTRIBUTES = frozenset(
    {
        *("class", "role", "viewBox", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "rx"),
        *("width", "height", "points", "d", "font-size", "font-weight", "text-anchor"),
        *("stroke-width", "stroke-dasharray", "fill-opacity"),
    }
)
# A name that a plot shows may hold anything; XML cannot.
_NOT_IN_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def drawing(svg: str) -> list[object]:
    """Return an SVG text as ``[element, attributes, children]``.

    Elements and attributes that the page does not know are left out, styles among them: on the
    page a drawing has the page's colours.
    """
    try:
        root = ElementTree.fromstring(_NOT_IN_XML.sub("\ufffd", svg))
    except ElementTree.ParseError as error:
        raise ConfigurationError(
            f"a plot is not valid SVG ({error}): {svg[:60]!r}; give a plot of maseval.stats"
        ) from None
    return _node(root)


def _node(element: ElementTree.Element) -> list[object]:
    attributes = {name: value for name, value in element.items() if name in _ATTRIBUTES}
    words = (element.text or "").strip()
    inside: list[object] = [words] if words else []
    inside += [_node(child) for child in element if _name(child) in _ELEMENTS]
    return [_name(element), attributes, inside]


def _name(element: ElementTree.Element) -> str:
    return str(element.tag).rpartition("}")[2]
