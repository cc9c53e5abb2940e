"""Change a number's arithmetic in one place at a time, and see if the tests of its room notice.

    python -m scripts.mutations              # all of them, about six minutes
    python -m scripts.mutations effects      # those of a room

``mutations.txt`` has the rooms, their files, texts that occur once, and what takes their place. The
tests run in a copy of the repository, so the one that is worked in stays as it is.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
TABLE = Path(__file__).with_name("mutations.txt")

ROOMS = {
    "scoring": ("tests/benchmark/tau2/scoring",),
    "conversation": ("tests/benchmark/tau2/conversation",),
    "rescoring": ("tests/benchmark/tau2/rescoring", "tests/benchmark/tau2/results"),
    "stats": ("tests/stats",),
    "effects": ("tests/stats/test_effects.py",),
    "comparing": ("tests/app/comparing",),
    "results": ("tests/app/results",),
    "judging": ("tests/app/judging", "tests/stats/test_corrected.py"),
    "macs": ("tests/benchmark/macs",),
}
"""The tests of each room; a mutation must be noticed by them, not by some example far away."""

_COPIED = ("maseval", "tests", "benchmarks", "scripts", "docs", "examples", "pytest_maseval")


class Mutation(NamedTuple):
    """One text of a file, and the text that takes its place."""

    room: str
    file: str
    old: str
    new: str

    def apply(self, root: Path) -> None:
        """Change the file; raise ValueError unless the text occurs there once."""
        path = root / self.file
        text = path.read_text(encoding="utf-8")
        if text.count(self.old) != 1:
            raise ValueError(f"{self.file} has {self.old!r} {text.count(self.old)} times, not once")
        path.write_text(text.replace(self.old, self.new), encoding="utf-8")


def read_mutations() -> list[Mutation]:
    """Read the table: blocks of a heading ``room file``, then lines ``- old`` and ``+ new``."""
    found = []
    room = file = old = ""
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        mark, _, rest = line.partition(" ")
        if mark == "-":
            old = rest
        elif mark == "+":
            found.append(Mutation(room, file, old, rest))
        elif mark in ROOMS:
            room, file = mark, rest
    return found


def try_mutations(mutations: Iterable[Mutation]) -> Iterator[tuple[Mutation, bool]]:
    """Yield each mutation, and whether the tests of its room fail with it."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in _COPIED:
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md", "CHANGELOG.md"):
            shutil.copy(ROOT / name, copy / name)
        for mutation in mutations:
            mutation.apply(copy)
            yield mutation, not _tests_pass(copy, mutation.room)
            shutil.copy(ROOT / mutation.file, copy / mutation.file)


def _tests_pass(root: Path, room: str) -> bool:
    command = [sys.executable, "-m", "pytest", "-xq", "-p", "no:cacheprovider", *ROOMS[room]]
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"the tests of {room} did not run:\n{done.stdout[-2000:]}{done.stderr}")
    return done.returncode == 0


def main(rooms: list[str]) -> int:
    if unknown := {*rooms} - {*ROOMS}:
        print(f"{', '.join(sorted(unknown))}: no such room; choose of {', '.join(ROOMS)}")
        return 2
    chosen = [each for each in read_mutations() if not rooms or each.room in rooms]
    missed = 0
    for mutation, noticed in try_mutations(chosen):
        missed += not noticed
        mark = "noticed" if noticed else "MISSED "
        print(f"{mark}  {mutation.room:10} {mutation.file}: {mutation.old} -> {mutation.new}")
    print(f"{len(chosen) - missed} of {len(chosen)} noticed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
