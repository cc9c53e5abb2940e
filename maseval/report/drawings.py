"""Plots as data, which the page's script draws element by element, so that no markup gets in."""

import re
from xml.etree import ElementTree

from maseval.core.exceptions import ConfigurationError

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
        *("data-simulation", "data-label"),
    }
)
# A name that a plot shows may hold anything; XML cannot.
_NOT_IN_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def well_formed(svg: str) -> str:
    """The drawing with a replacement character for each that no XML file may hold."""
    return _NOT_IN_XML.sub("\ufffd", svg)


def drawing(svg: str) -> list[object]:
    """An SVG text as ``[element, attributes, children]``.

    Elements and attributes that the page does not know are left out, styles among them: on the
    page a drawing has the page's colours.
    """
    try:
        root = ElementTree.fromstring(well_formed(svg))
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
