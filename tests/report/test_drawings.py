import pytest

from maseval.core.exceptions import ConfigurationError
from maseval.report.index import Overview
from maseval.report.page import build_page
from maseval.report.results import drawing
from maseval.stats.svg import figure, text
from tests.report.builders import report


def plot(title="Trials"):
    return figure(20, 20, title, "what it shows", [text(1, 1, "a word")])


def nodes(tree):
    yield tree
    for child in tree[2]:
        if isinstance(child, list):
            yield from nodes(child)


def test_a_plot_becomes_elements_with_their_words():
    tree = drawing(plot())

    names = {node[0] for node in nodes(tree)}
    words = [child for node in nodes(tree) for child in node[2] if isinstance(child, str)]
    assert tree[0] == "svg" and tree[1]["class"] == "maseval-plot"
    assert {"title", "desc", "rect", "text"} <= names
    assert {"what it shows", "a word"} <= {*words}


def test_a_label_that_looks_like_markup_stays_a_text():
    label = '<script>alert(1)</script> "&'

    tree = drawing(plot(label))

    assert "script" not in {node[0] for node in nodes(tree)}
    assert label in [child for node in nodes(tree) for child in node[2] if isinstance(child, str)]


@pytest.mark.parametrize("odd", ["\x00", "\x1b[2J", "\ud800", "\uffff"])
def test_characters_that_xml_cannot_hold_do_no_harm(odd):
    tree = drawing(plot(f"agent{odd}"))

    assert any("\ufffd" in str(node[2]) for node in nodes(tree))


@pytest.mark.parametrize(
    "inside",
    [
        "<script>alert(1)</script>",
        "<style>* { display: none }</style>",
        "<foreignObject><b>x</b></foreignObject>",
        '<image href="http://example.com/x.png"/>',
        '<a href="javascript:alert(1)"><text>x</text></a>',
    ],
)
def test_elements_that_could_do_something_are_left_out(inside):
    tree = drawing(f'<svg xmlns="http://www.w3.org/2000/svg">{inside}</svg>')

    assert tree == ["svg", {}, []]


def test_attributes_that_could_do_something_are_left_out():
    tree = drawing('<svg onload="alert(1)" style="x" href="y" width="3"/>')

    assert tree == ["svg", {"width": "3"}, []]


def test_what_is_not_svg_is_refused():
    with pytest.raises(ConfigurationError, match="not valid SVG"):
        drawing("not a drawing")


def test_the_page_has_its_plots():
    page = build_page([report()], "title", Overview(plots=[plot(), plot()]))

    assert [plot[0] for plot in page.index["plots"]] == ["svg", "svg"]
