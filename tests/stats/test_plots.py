"""The figures as files: well formed, readable, complete."""

import re
from xml.etree import ElementTree

import pytest

from maseval.core.exceptions import ConfigurationError
from maseval.stats import compare, difference_plot, pass_plot, summarise
from maseval.stats.svg import ticks
from tests.stats.made_up import run

SVG = "{http://www.w3.org/2000/svg}"
RUNS = {
    "first <&> only": summarise(run([4, 3, 0, 2, 1] * 3, cost=0.02)),
    "second": summarise(run([4, 4, 1, 4, 0] * 3, cost=0.5)),
}
FIGURES = {
    "pass^k": pass_plot(RUNS),
    "differences": difference_plot(compare(run([4, 3, 0] * 5), run([2, 4, 1] * 5))),
}


def drawn(figure):
    return ElementTree.fromstring(figure)


def expect_all_inside(root):
    width, height = float(root.get("width")), float(root.get("height"))
    for element in root.iter():
        for name, most in (("x", width), ("cx", width), ("y", height), ("cy", height)):
            if element.get(name) is not None:
                assert 0 <= float(element.get(name)) <= most


@pytest.mark.parametrize("figure", FIGURES.values(), ids=FIGURES)
def test_a_figure_says_what_it_shows_inside_its_frame_in_light_and_dark(figure):
    root = drawn(figure)

    assert root.get("role") == "img"
    assert root.find(f"{SVG}title").text and root.find(f"{SVG}desc").text
    assert "href" not in figure
    assert re.findall(r"https?://[^\"]+", figure) == ["http://www.w3.org/2000/svg"]
    expect_all_inside(root)
    style = root.find(f"{SVG}style").text
    used = {name for element in root.iter() for name in element.get("class", "").split()}
    for name in used - {"maseval-plot", "line"}:
        chosen = rf"fill:(#\w+);fill:var\(--plot-{name},light-dark\(\1,(#\w+)\)\)"
        ((light, dark),) = re.findall(rf"\.{name}\{{{chosen}", style)
        assert light != dark


def test_a_row_shows_a_value_within_its_interval():
    root = drawn(FIGURES["pass^k"])
    points = [group.find(f"{SVG}title").text for group in root.findall(f"{SVG}g")]

    assert len(points) == 8
    assert points[0].startswith("first <&> only pass^1: 50.0% (")
    values = [float(each.get("cx")) for each in root.iter(f"{SVG}circle")]
    bars = [each for each in root.iter(f"{SVG}line") if each.get("stroke-width") == "2"]
    assert values[:4] == sorted(values[:4], reverse=True)
    assert values[0] == pytest.approx((190 + 500) / 2)
    for value, bar in zip(values, bars, strict=True):
        assert float(bar.get("x1")) <= value <= float(bar.get("x2"))


def test_an_interval_of_more_than_60_points_is_words_instead_of_a_bar():
    few, more = (summarise(run([4, 0] * pairs, cost=0.5)) for pairs in (2, 8))
    plots = [pass_plot({"x": each}) for each in (few, more)]
    assert "too few tasks" in plots[0] and "too few tasks" not in plots[1]
    assert "(6.8% to 93.2%)" in plots[0], "the numbers stay, for who points at them"
    figure = difference_plot(compare(run([4, 0]), run([0, 4])))
    assert "+0.0, too few tasks" in figure


def test_runs_without_values_cannot_be_drawn():
    with pytest.raises(ConfigurationError, match="no run"):
        pass_plot({})


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (0, 0.41, [0, 0.1, 0.2, 0.3, 0.4]),
        (3, 3, [3]),
        (0, 7, [0, 2, 4, 6]),
    ],
)
def test_ticks_are_round_and_within(low, high, expected):
    assert ticks(low, high) == pytest.approx(expected)


def test_of_many_runs_only_the_first_k_is_drawn():
    runs = {f"run {number}": summarise(run([1, 0, 1] * 5, trials=2)) for number in range(20)}
    root = drawn(pass_plot(runs))
    expect_all_inside(root)
    assert len(root.findall(f"{SVG}g")) == 20
