"""A page as it looks, held against a reference that is kept here.

Two looks at a page. Its *components*, each with its place, size, colours and corners, say what
changed. Its *picture*, in coarse tiles, finds what no component tells. Both leave room for other
fonts and other versions of Chromium: a line may wrap elsewhere, a card may not become a pill.
"""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image, ImageChops, ImageDraw, ImageStat

REFERENCES = Path(__file__).parent / "references"
CHANGED = Path(__file__).parents[2] / "build" / "pictures"

# Only so many of a kind are looked at: a longer conversation does not look different.
MOST = 8
# Where these stand and how wide they are is up to the page, and that of the others to their text.
BLOCKS = (
    *(".top-bar form", ".filters", ".card", ".runs tr[data-run]", "#panel", ".panel-bar"),
    *(".verdict-line", ".wish", ".part", ".maseval-plot"),
)
PIECES = (
    *("h1", ".filters input", ".results thead th", ".results .measure", ".interval", ".chip"),
    *(".tag", ".tasks .task", ".tasks .cell", ".runs thead th", ".runs tr[data-run] > *"),
    *(".run-state", ".message", ".call", ".jump", ".headline", ".by-run thead th"),
    *(".by-run .cell", ".by-run .number"),
)
# A pixel of a canvas gives a colour the same way however the browser writes it.
MEASURE = """([components, most]) => {
  const pen = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const colour = (text) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = text;
    pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data];
  };
  const look = (each) => {
    const { x, y, width, height } = each.getBoundingClientRect();
    const style = getComputedStyle(each);
    return {
      box: [x, y, width, height].map(Math.round),
      radius: Math.min(parseFloat(style.borderTopLeftRadius), height / 2),
      font: parseFloat(style.fontSize),
      display: style.display,
      ground: colour(style.backgroundColor),
      ink: colour(style.color),
    };
  };
  const visible = (each) => each.checkVisibility() && each.getBoundingClientRect().width > 0;
  const found = {};
  for (const name of components) {
    const shown = [...document.querySelectorAll(name)].filter(visible).slice(0, most);
    if (shown.length) found[name] = shown.map(look);
  }
  return found;
}"""

TILE = 30  # pixels
TILE_DIFFERS = 30  # of 255, in one colour
MOST_TILES = 0.04
MOST_ON_AVERAGE = 5.0


def measure(page: Any) -> Any:
    return page.evaluate(MEASURE, [[*BLOCKS, *PIECES], MOST])


def photograph(page: Any) -> Any:
    return Image.open(io.BytesIO(page.screenshot(animations="disabled"))).convert("RGB")


def differences(known: Any, seen: Any, width: int) -> Iterator[str]:
    """Yield in words what of the components changed."""
    for name in known.keys() | seen.keys():
        before, now = known.get(name, []), seen.get(name, [])
        if len(before) != len(now):
            yield f"{name}: {len(before)} of them before, now {len(now)}"
        for at, (old, new) in enumerate(zip(before, now, strict=False)):
            moved = moves(old["box"], new["box"], width) if name in BLOCKS else ()
            for word in (*moved, *changes(old, new)):
                yield f"{name} ({at + 1}): {word}"


def moves(old: Any, new: Any, width: int) -> Iterator[str]:
    """Yield which edges of a block are beyond where other fonts would put them."""
    # Lines that wrap make a block taller, which moves all that follows; above the screen, too, as a
    # failed simulation opens at its fault.
    rooms = 0.03 * width, 60 + 0.2 * abs(old[1]), 0.03 * width, 25 + 0.3 * old[3]
    sides = "left edge", "top edge", "width", "height"
    for side, was, is_now, room in zip(sides, old, new, rooms, strict=True):
        if abs(was - is_now) > room:
            yield f"{side} {was} px before, now {is_now}"


def changes(old: Any, new: Any) -> Iterator[str]:
    """Yield what of the shape and colours of a component is beyond what other fonts explain."""
    if abs(old["radius"] - new["radius"]) > max(2, 0.3 * old["radius"]):
        yield f"corners of {old['radius']:.0f} px before, now {new['radius']:.0f}"
    if abs(old["font"] - new["font"]) > 0.1 * old["font"]:
        yield f"letters of {old['font']:.1f} px before, now {new['font']:.1f}"
    if old["display"] != new["display"]:
        yield f"laid out as {old['display']} before, now {new['display']}"
    for part in ("ground", "ink"):
        if max(abs(a - b) for a, b in zip(old[part], new[part], strict=True)) > 24:
            yield f"{part} {old[part]} before, now {new[part]}"


def tiles(picture: Any, size: int) -> Any:
    columns, rows = size[0] // TILE, size[1] // TILE
    return picture.convert("RGB").resize((columns, rows), Image.Resampling.BOX)


def compare_tiles(known: Any, seen: Any) -> tuple[Any, Any]:
    """Return how far the tiles differ on average, and those that differ much, as a mask."""
    difference = ImageChops.difference(tiles(known, seen.size), tiles(seen, seen.size))
    red, green, blue = difference.split()
    most = ImageChops.lighter(ImageChops.lighter(red, green), blue)
    average = sum(ImageStat.Stat(difference).mean) / 3
    return average, most.point(lambda value: 255 if value > TILE_DIFFERS else 0)


def compare_pictures(known: Any, seen: Any) -> Iterator[str]:
    """Yield in words by how much a picture differs, if by too much."""
    average, mask = compare_tiles(known, seen)
    share = ImageStat.Stat(mask).mean[0] / 255
    if share > MOST_TILES:
        yield f"the picture: {share:.0%} of its tiles have another colour"
    if average > MOST_ON_AVERAGE:
        yield f"the picture: {average:.1f} of 255 on average"


def keep(name: str, page: Any) -> None:
    """Make this the reference."""
    REFERENCES.mkdir(exist_ok=True)
    seen = photograph(page)
    small = seen.resize((seen.width // 3, seen.height // 3), Image.Resampling.LANCZOS)
    small.quantize(128, kmeans=2).save(REFERENCES / f"{name}.png", optimize=True)
    lines = (f" {json.dumps(kind)}: {json.dumps(all_)}" for kind, all_ in measure(page).items())
    (REFERENCES / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def find_changes(name: str, page: Any) -> list[str]:
    """Return in words how a page differs from its reference."""
    seen = photograph(page)
    with Image.open(REFERENCES / f"{name}.png") as picture:
        known = picture.convert("RGB")
    components = json.loads((REFERENCES / f"{name}.json").read_text(encoding="utf-8"))
    return [
        *sorted(differences(components, measure(page), seen.width)),
        *compare_pictures(known, seen),
    ]


def write_changes(name: str, page: Any, folder: Path = CHANGED) -> Path:
    """Write the page as it is now, and the same with all tiles marked that differ; return where."""
    folder.mkdir(parents=True, exist_ok=True)
    seen = photograph(page)
    seen.save(folder / f"{name}.png")
    with Image.open(REFERENCES / f"{name}.png") as known:
        _, mask = compare_tiles(known, seen)
    drawn = ImageDraw.Draw(seen)
    for at, value in enumerate(mask.tobytes()):
        if value:
            x, y = at % mask.width * TILE, at // mask.width * TILE
            drawn.rectangle((x, y, x + TILE, y + TILE), outline="red", width=3)
    seen.save(folder / f"{name}-difference.png")
    return folder
