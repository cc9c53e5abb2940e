"""The figures of pages: readable, complete, and inside their frame."""

from typing import Any

import pytest

from maseval.core.exceptions import ConfigurationError
from maseval.stats import compare, difference_plot, pass_plot, summarise
from maseval.stats.plots import ticks
from tests.stats.made_up import run

RUNS = {
    "first <&> only": summarise(run([4, 3, 0, 2, 1] * 3, cost=0.02)),
    "second": summarise(run([4, 4, 1, 4, 0] * 3, cost=0.5)),
}
FIGURES = {
    "pass^k": pass_plot(RUNS),
    "differences": difference_plot(compare(run([4, 3, 0] * 5), run([2, 4, 1] * 5))),
}


def elements(
    drawing: list[dict[str, str] | list[Any] | str], name: str | None = None
) -> list[list[Any]]:
    """The elements of a drawing, by default all."""
    own = [drawing] if name in (None, drawing[0]) else []
    return own + [one for e in drawing[2] if isinstance(e, list) for one in elements(e, name)]


def words(drawing: list[dict[str, str] | list[list[Any]] | str]) -> list[str]:
    return [e for one in elements(drawing) for e in one[2] if isinstance(e, str)]


def expect_all_inside(drawing: list[dict[str, str] | list[list[Any]] | str]) -> None:
    width, height = (float(drawing[1][name]) for name in ("width", "height"))
    for _, attributes, _ in elements(drawing):
        for name, most in (("x", width), ("cx", width), ("y", height), ("cy", height)):
            assert 0 <= float(attributes.get(name, 0)) <= most


@pytest.mark.parametrize("figure", FIGURES.values(), ids=FIGURES)
def test_a_figure_says_what_it_shows_inside_its_frame(figure):
    assert figure[1]["role"] == "img"
    assert [each[0] for each in figure[2][:2]] == ["title", "desc"] and all(words(figure)[:2])
    expect_all_inside(figure)


def test_a_row_shows_a_value_within_its_interval():
    figure = FIGURES["pass^k"]
    points = [words(group)[0] for group in elements(figure, "g")]

    assert len(points) == 8
    assert points[0].startswith("first <&> only pass^1: 50.0% (")
    values = [float(each["cx"]) for _, each, _ in elements(figure, "circle")]
    bars = [each for _, each, _ in elements(figure, "line") if each["stroke-width"] == "2"]
    assert values[:4] == sorted(values[:4], reverse=True)
    assert values[0] == pytest.approx((190 + 500) / 2)
    for value, bar in zip(values, bars, strict=True):
        assert float(bar["x1"]) <= value <= float(bar["x2"])


def test_an_interval_is_drawn_however_wide():
    plot = pass_plot({"x": summarise(run([4, 0] * 2, cost=0.5))})
    assert "50.0% (6.8% to 93.2%)" in " ".join(words(plot))
    figure = difference_plot(compare(run([4, 0]), run([0, 4])))
    for drawn in (plot, figure):
        bar = next(each for _, each, _ in elements(drawn, "line") if each["stroke-width"] == "2")
        assert float(bar["x2"]) - float(bar["x1"]) > 150


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
    figure = pass_plot(runs)
    expect_all_inside(figure)
    assert len(elements(figure, "g")) == 20
