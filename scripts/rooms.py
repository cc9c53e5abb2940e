"""Write the table of rooms into docs/architecture.md: ``python -m scripts.rooms``.

A room is a package that one idea holds together. The table gives its Python lines and files, so
that growth is seen in the difference of a change; ``tests/test_rooms.py`` fails where a room has
outgrown the table.
"""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- rooms -->", "<!-- end of rooms -->"

TAU2 = "maseval/benchmark/tau2"
ROOMS = {
    "core": ["maseval/core"],
    "core: engine": ["maseval/core/engine"],
    "core: storage": ["maseval/core/storage"],
    "interface: models": ["maseval/interface/inference"],
    "interface: agents": ["maseval/interface/agents"],
    "interface: ray": ["maseval/interface/ray"],
    "interface: telemetry, trackers, rest": ["maseval/interface"],
    "app and commands": ["maseval/app", "maseval/commands"],
    "cli": ["maseval/cli"],
    "tau2: app": [f"{TAU2}/app"],
    "tau2: review": [f"{TAU2}/review"],
    "tau2: domains": [f"{TAU2}/domains"],
    "tau2: recordings": [
        *(f"{TAU2}/{name}" for name in ("rescoring", "results", "certify")),
        f"{TAU2}/formats",
    ],
    "tau2: rest": [TAU2],
    "macs": ["maseval/benchmark/macs"],
    "runs": ["maseval/runs"],
    "stats": ["maseval/stats"],
    "report": ["maseval/report"],
    "view": ["maseval/view"],
    "server": ["maseval/server"],
    "data": ["maseval/data"],
    "exchange": ["maseval/exchange"],
    "frames": ["maseval/frames"],
    "testing": ["maseval/testing"],
    "compat and the rest": ["maseval"],
}


class Size(NamedTuple):
    """The Python lines and files of a room."""

    lines: int
    files: int


def measure() -> dict[str, Size]:
    """Return the size of each room; a file belongs to the room with the longest path."""
    homes = sorted(
        ((home, room) for room, every in ROOMS.items() for home in every),
        key=lambda each: -len(each[0]),
    )
    found = {room: [0, 0] for room in ROOMS}
    for path in (ROOT / "maseval").rglob("*.py"):
        name = path.relative_to(ROOT).as_posix()
        room = next(room for home, room in homes if name.startswith((f"{home}/", f"{home}.py")))
        found[room][0] += len(path.read_text(encoding="utf-8").splitlines())
        found[room][1] += 1
    return {room: Size(*size) for room, size in found.items()}


def table(sizes: dict[str, Size]) -> str:
    """Return the table in Markdown."""
    rows = [f"| {room} | {size.lines:,} | {size.files} |" for room, size in sizes.items()]
    lines, files = (sum(each) for each in zip(*sizes.values(), strict=True))
    head = ["| room | lines | files |", "|---|---:|---:|"]
    return "\n".join([*head, *rows, f"| **all** | **{lines:,}** | **{files}** |"])


def read_table() -> dict[str, Size]:
    """Return the sizes that the page gives."""
    rows = re.findall(r"^\| ([a-z][^|]*?) \| ([\d,]+) \| (\d+) \|$", PAGE.read_text("utf-8"), re.M)
    return {room: Size(int(lines.replace(",", "")), int(files)) for room, lines, files in rows}


def main() -> None:
    """Write the table, and print it."""
    text, new = PAGE.read_text(encoding="utf-8"), table(measure())
    before, _, rest = text.partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{new}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    print(new)


if __name__ == "__main__":
    main()
