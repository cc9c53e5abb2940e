"""The figures as files: well formed, readable, complete."""

import itertools
import re
from xml.etree import ElementTree

import pytest

from maseval.core.exceptions import ConfigurationError
from maseval.stats import (
    compare,
    difference_plot,
    pass_curves,
    summarise,
)
from maseval.stats.svg import spread_apart, ticks
from tests.stats.made_up import run

SVG = "{http://www.w3.org/2000/svg}"
RUNS = {
    "first <&> only": summarise(run([4, 3, 0, 2, 1] * 3, cost=0.02)),
    "second": summarise(run([4, 4, 1, 4, 0] * 3, cost=0.5)),
}
FIGURES = {
    "curves": pass_curves(RUNS),
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


def test_curves_show_each_run_with_a_band_and_a_point_for_each_k():
    root = drawn(FIGURES["curves"])

    assert len(root.findall(f"{SVG}polyline")) == 2
    assert len(root.findall(f"{SVG}polygon")) == 2
    points = [group.find(f"{SVG}title").text for group in root.findall(f"{SVG}g")]
    assert len(points) == 8
    assert points[0].startswith("first <&> only: pass^1 50.0% (")
    lines = root.findall(f"{SVG}polyline")
    assert lines[0].get("stroke-dasharray") != lines[1].get("stroke-dasharray")
    heights = [float(place.split(",")[1]) for place in lines[0].get("points").split()]
    assert heights == sorted(heights) and heights[0] == pytest.approx((52 + 336) / 2)


def test_one_trial_has_a_whisker_instead_of_a_band():
    root = drawn(pass_curves({"x": summarise(run([1, 0, 1] * 4, trials=1))}))

    assert root.findall(f"{SVG}polygon") == []
    assert len([each for each in root.iter() if each.get("class") == "series-1 line"]) == 2


def test_an_interval_of_more_than_60_points_is_words_instead_of_a_bar():
    few, more = (summarise(run([4, 0] * pairs, cost=0.5)) for pairs in (2, 8))
    plots = [pass_curves({"x": each}) for each in (few, more)]
    assert "too few tasks" in plots[0] and "too few tasks" not in plots[1]
    assert "(6.8% to 93.2%)" in plots[0], "the numbers stay, for who points at them"
    figure = difference_plot(compare(run([4, 0]), run([0, 4])))
    assert "+0.0, too few tasks" in figure


def test_runs_without_values_cannot_be_drawn():
    with pytest.raises(ConfigurationError, match="no run"):
        pass_curves({})


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


def test_labels_are_moved_apart_and_stay_within():
    assert spread_apart([50, 51, 20], 10, 0, 100) == [50, 60, 20]
    assert spread_apart([99, 98], 10, 0, 100) == [100, 90]
    assert spread_apart([9, 9, 9], 80, 0, 100) == [0, 50, 100]


def test_the_names_of_many_runs_stay_within_the_figure():
    runs = {f"run {number}": summarise(run([1, 0, 1], trials=2)) for number in range(20)}
    for figure in (pass_curves(runs), pass_curves(dict(list(runs.items())[:8]))):
        expect_all_inside(drawn(figure))
        places = [
            float(each.get("y"))
            for each in drawn(figure).iter(f"{SVG}text")
            if (each.text or "").startswith("run ")
        ]
        assert len(set(places)) == len(places)


def whiskers(figure):
    """The places of the vertical bars of intervals."""
    found = re.findall(r'class="series-\d line" x1="([\d.]+)" y1="[\d.]+" x2="\1"', figure)
    return [float(x) for x in found]


def test_bars_of_runs_with_one_trial_stand_side_by_side():
    once = {name: summarise(run([1, 0, 1, 1, 0] * 3, trials=1)) for name in "abc"}
    places = whiskers(pass_curves(once))
    assert len(places) == 3
    assert min(b - a for a, b in itertools.pairwise(places)) >= 10
