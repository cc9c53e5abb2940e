"""Plots as PNG and PDF; the library for it is in the browser tests' environment."""

import struct

import pytest

from maseval.app.results.plots import write_plot
from maseval.stats import label_bars

DRAWING = label_bars({"agent: wrong arguments": 3, "user: empty turns": 1})


def test_a_png_has_twice_the_size_and_the_colours_of_the_drawing(tmp_path, fresh_page):
    path = write_plot(DRAWING, tmp_path / "plot.png")

    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n")
    width, _ = struct.unpack(">II", content[16:24])
    assert width == 2 * 680
    page = fresh_page()
    page.set_content("<canvas></canvas>")
    colour = page.evaluate(
        """async (bytes) => {
          const image = await createImageBitmap(new Blob([new Uint8Array(bytes)]));
          const canvas = new OffscreenCanvas(image.width, image.height);
          const context = canvas.getContext("2d");
          context.drawImage(image, 0, 0);
          return [...context.getImageData(2 * 300, 2 * 57, 1, 1).data];
        }""",
        list(content),
    )
    assert colour == [0x0B, 0x62, 0xB8, 255]  # the first series in light


def test_a_pdf_is_one(tmp_path):
    path = write_plot(DRAWING, tmp_path / "deep" / "plot.PDF")
    assert path.read_bytes().startswith(b"%PDF-")


@pytest.mark.parametrize("name", ["a.png", "a.pdf"])
def test_a_picture_takes_the_place_of_an_older_one(tmp_path, name):
    (tmp_path / name).write_text("old")
    assert write_plot(DRAWING, tmp_path / name).read_bytes() != b"old"
