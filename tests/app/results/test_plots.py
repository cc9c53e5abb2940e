"""Plots as files."""

import pytest

from maseval.app.results.plots import write_plot
from maseval.core.exceptions import ConfigurationError
from maseval.interface import extras
from maseval.interface.extras import MissingExtraError
from maseval.stats import label_bars

DRAWING = label_bars({"agent: wrong arguments": 3})


def test_without_the_library_a_picture_says_what_to_install_and_leaves_no_file(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(extras, "is_installed", lambda module: False)

    with pytest.raises(MissingExtraError, match=r"cairosvg is not installed.*\.\[plots\]"):
        write_plot(DRAWING, tmp_path / "plot.png")
    assert not list(tmp_path.iterdir())


def test_another_form_of_file_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match=r"not an SVG, PNG or PDF file; name it plot\.svg"):
        write_plot(DRAWING, tmp_path / "plot.gif")


def test_a_drawing_is_written_as_it_is(tmp_path):
    assert write_plot(DRAWING, tmp_path / "new" / "plot.svg").read_text() == DRAWING
