"""write_site: the viewer of a folder as files that need no server.

A site has the pages of the viewer, its modules as one script, and what the server would answer: a
file for the list of runs, and for each run a folder with its index and files with a few tasks each.
A page loads a file when it is asked for. Each is a script that hands over one packed answer,
because a page that was opened from disk may load scripts and nothing else.

The whole site is written beside its place and takes that place at the end.
"""

import hashlib
import html
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from maseval.core.engine.children import map_in_forks, may_fork, usable_cores
from maseval.core.exceptions import MASEvalError, NotRunError, OutputExistsError
from maseval.core.outcome import TaskKey
from maseval.core.storage import strict_json
from maseval.core.storage.files import atomic_folder
from maseval.report.index import Entry
from maseval.report.page import Packet, bundle_script, pack, packet_of
from maseval.runs.listing import run_state
from maseval.view.api import answers
from maseval.view.app import asset_text, page_html
from maseval.view.library import Library
from maseval.view.requests import Query
from maseval.view.rows import RunRow
from maseval.view.viewed import Labels, ViewedRun

MARK = "maseval-site.json"
"""The file that says of a folder that it is a site, and what belongs to it."""

_FORMAT = 2
# Fewer tasks are written sooner than other processes begin.
_MANY = 100
# The record of the tasks in one file: more repeats itself more, and takes longer to load.
_AT_A_TIME = 1 << 20
# A site is written once, and its files are small by then.
_LEVEL = 6
_PAGES = ("index", "run", "compare")
_ASSETS = {"page.css": "page.css", "view.css": "view/view.css"}
_PARTS = sorted([*(f"{page}.html" for page in _PAGES), "assets", "data", MARK])
# 'self' is not the folder of a page from disk in every browser.
_POLICY = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file:; img-src data:; "
    "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types maseval"
)

_TaskFile = tuple[str, Sequence[tuple[Entry, Labels]]]
"""A file of some tasks, packed, and their simulations with labels."""

OnProgress = Callable[[str], object]
"""Called with how far it is, in words."""


class Site(NamedTuple):
    """A site that was written: how many runs and simulations it has, and which were unreadable."""

    folder: Path
    runs: int
    simulations: int
    unreadable: Mapping[str, str]
    bytes: int


def write_site(
    target: str | os.PathLike[str],
    library: Library,
    names: Sequence[str] | None = None,
    on_progress: OnProgress = lambda words: None,
) -> Site:
    """Write the runs of these names, by default all of the library, as a site.

    ``target`` must be new, empty, or a site, which is then replaced as a whole.
    """
    wanted = sorted(library.places()) if names is None else list(names)
    if not wanted:
        raise NotRunError(f"no run is in {library.root}; `maseval demo` makes one")
    place = Path(os.path.abspath(target))
    with atomic_folder(place, lambda: _check_replaceable(place)) as folder:
        _write_pages(folder)
        writer = _SiteWriter(folder / "data", library, wanted, on_progress)
        writer.write()
        mark = {"format": _FORMAT, "files": _PARTS}
        (folder / MARK).write_text(strict_json.dumps(mark, indent=1) + "\n", encoding="ascii")
        size = sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())
    return Site(place, len(wanted), writer.done, writer.unreadable, size)


def _check_replaceable(target: Path) -> None:
    if not os.path.lexists(target):
        return
    if target.is_symlink() or not target.is_dir():
        raise OutputExistsError(f"{target} is not a folder; give the name of a new one")
    there = {each.name for each in target.iterdir()}
    foreign = sorted(there - set(_PARTS))
    if there and (MARK not in there or foreign):
        known = f"has {foreign[0]}, which is not part of a site" if foreign else "is no whole site"
        raise OutputExistsError(
            f"{target} {known} that `maseval view --export` wrote; nothing was changed: give "
            "another folder, or empty this one"
        )


def _write_pages(folder: Path) -> None:
    head = [
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(_POLICY)}">',
        '<meta name="referrer" content="no-referrer">',
        *(f'<link rel="stylesheet" href="assets/{name}">' for name in _ASSETS),
        '<script src="assets/view.js" defer></script>',
    ]
    page = page_html("\n".join(head), site=True)
    for name in _PAGES:
        (folder / f"{name}.html").write_text(page, encoding="utf-8", newline="\n")
    (folder / "assets").mkdir()
    for name, source in _ASSETS.items():
        (folder / "assets" / name).write_text(asset_text(source), encoding="utf-8", newline="\n")
    script = bundle_script("view/view.js", asset_text)
    # A page from disk may load no module, and only a module waits at its top level.
    whole = f'(async () => {{\n"use strict";\n{script}\n}})();\n'
    (folder / "assets" / "view.js").write_text(whole, encoding="utf-8", newline="\n")


class _SiteWriter:
    """Writes what the server would answer about some runs."""

    def __init__(
        self, folder: Path, library: Library, names: Sequence[str], on_progress: OnProgress
    ) -> None:
        self._folder, self._library, self._answers = folder, library, answers()
        self._names = {name: _folder_name(name) for name in names}
        self._on_progress = on_progress
        self._hidden = _machine_paths(library.root)
        self.done, self._total = 0, 0
        self.unreadable: dict[str, str] = {}

    def write(self) -> None:
        """Write every run, and then the list of them with what was found out on the way."""
        places = map(self._library.path_of, self._names)
        states = [run_state(path) for path in places if path.is_dir()]
        # Of results files nothing is known until they are read, so the total may grow.
        self._total = sum(state.done + state.failed for state in states)
        for name, folder in self._names.items():
            try:
                self._write_run(name, folder)
            except MASEvalError as error:
                self.unreadable[name] = self._inert(str(error))
                self._put(f"{folder}/index", {"error": self.unreadable[name]})
        groups = self._write_comparisons()
        rows = [{**row, "folder": self._names[str(row["name"])]} for row in self._rows()]
        listed = {"root": self._library.root.name, "runs": rows, "groups": groups}
        self._put("runs", listed, short_paths=True)

    def _rows(self) -> list[RunRow]:
        """Return the rows of the list, once every results file is judged."""
        while True:
            rows = [row for row in self._library.rows() if row["name"] in self._names]
            if all(row["state"] != "reading" for row in rows):
                return rows
            time.sleep(0.05)

    def _write_run(self, name: str, folder: str) -> None:
        run = self._library.run(name)
        every, step = list(run.tasks()), self._tasks_per_file(run)
        parts = [every[at : at + step] for at in range(0, len(every), step)]
        for number, (packed, labels) in enumerate(self._make_files(run, parts)):
            self._write(f"{folder}/{number}", packed)
            run.learn(labels)
            self.done += len(labels)
            total = max(self.done, self._total)
            self._on_progress(f"{self.done:,} of {total:,} simulations exported")
        run.keep_findings()
        index = self._ask("/api/run/index", run=name)
        # How far a page had heard of this run differs from one export to the next.
        known = {"kind": index["live"]["kind"], **self._answer("/api/run/live", run=name)}
        found = {**index, "live": known, "tasks_per_file": step}
        self._put(f"{folder}/index", found, short_paths=True)

    def _tasks_per_file(self, run: ViewedRun) -> int:
        size = run.file.stat().st_size
        return max(1, _AT_A_TIME * len(run.tasks()) // max(1, size))

    def _make_files(
        self, run: ViewedRun, parts: Sequence[Sequence[TaskKey]]
    ) -> Iterator[_TaskFile]:
        """Make the files of a run's tasks; all cores make those of a large run."""
        run.examine_all()

        def make(part: Sequence[TaskKey]) -> _TaskFile:
            packed = self._pack([self._packet(run, key) for key in part])
            entries = [entry for key in part for _, entry in run.tasks()[key]]
            return packed, [(entry, run.labels_of(entry)) for entry in entries]

        if sum(map(len, parts)) < _MANY or not may_fork():
            yield from map(make, parts)
            return
        # What raised an error there raises it here.
        with closing(map_in_forks(make, parts, usable_cores())) as mapped:
            for values, result in mapped:
                yield make(values) if result is None else result

    def _write_comparisons(self) -> list[list[str]]:
        """Compare every two runs, and all that can be compared with each other; return these."""
        names = [each for each in self._names if each not in self.unreadable]
        pairs, groups, refused = [*combinations(names, 2)], list[list[str]](), set[object]()
        for number, pair in enumerate(pairs):
            self._on_progress(f"{number:,} of {len(pairs):,} pairs of runs compared")
            found = self._comparison(*pair)
            refused |= {pair} if "error" in found else set()
            place = "/".join(sorted(self._names[name] for name in pair))
            self._put(f"compare/{place}", found, short_paths=True)
        for name in names:
            fitting = (g for g in groups if not any((each, name) in refused for each in g))
            if (group := next(fitting, None)) is None:
                groups.append(group := [])
            group.append(name)
        groups = [each for each in groups if len(each) > 2]
        for number, group in enumerate(groups):
            self._put(f"compare/group-{number}", self._comparison(*group), short_paths=True)
        return groups

    def _comparison(self, *names: str) -> dict[str, object]:
        """Return a comparison with all that the server adds to it later."""
        found: dict[str, object] = {}
        for path in ("/api/compare", "/api/compare/reasons"):
            answer = self._answer(path, run=names)
            found |= answer
            if "error" in answer:
                break
        return found

    def _answer(self, path: str, **query: str | Sequence[str]) -> Any:
        """Return what the server answers, or its refusal."""
        try:
            return self._ask(path, **query)
        except MASEvalError as error:
            return {"error": self._inert(str(error))}

    def _ask(self, path: str, **query: str | Sequence[str]) -> Any:
        pairs = [
            (name, each)
            for name, value in query.items()
            for each in ([value] if isinstance(value, str) else value)
        ]
        return self._answers[path](self._library, Query(pairs))

    def _packet(self, run: ViewedRun, key: TaskKey) -> Packet:
        packet = run.packet(*key) if run.tasks()[key] else packet_of([])
        for each in packet["trials"]:
            for part in ("error", "attempts"):
                if part in each:
                    each[part] = strict_json.loads(_shorten_paths(strict_json.dumps(each[part])))
        return packet

    def _put(self, name: str, value: object, short_paths: bool = False) -> None:
        self._write(name, self._pack(value, short_paths))

    def _pack(self, value: object, short_paths: bool = False) -> str:
        text = self._inert(strict_json.dumps(value))
        return pack(_shorten_paths(text) if short_paths else text, _LEVEL)

    def _write(self, name: str, packed: str) -> None:
        path = self._folder / f"{name}.js"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'maseval("{name}","{packed}")\n', encoding="ascii", newline="\n")

    def _inert(self, text: str) -> str:
        """Return a text without the folders of this machine."""
        for known, word in self._hidden:
            text = known.sub(word, text)
        return text


def _folder_name(run: str) -> str:
    """Return a name for the files of a run that any file system and any web host takes."""
    plain = re.sub(r"[^a-z0-9]+", "-", run.lower()).strip("-")[:40]
    return f"{plain}-{hashlib.sha256(run.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


# What looks, in JSON, like a path from the root of a file system, up to its last part.
_ABSOLUTE = re.compile(
    r"(?:(?<![\w/.:~…-])|(?<=\\n))"
    r"(?:/(?:[\w.@+-]{1,80}/){1,30}|[A-Za-z]:\\\\(?:[\w.@+ -]{1,80}\\\\){1,30})"
)


def _shorten_paths(text: str) -> str:
    """Return a text in which an absolute path is its last part."""
    return _ABSOLUTE.sub("…/", text)


def _machine_paths(root: Path) -> list[tuple[re.Pattern[str], str]]:
    """Return the folders of this machine as they stand in JSON, and what to write instead."""
    known = {
        str(root): root.name,
        **{each: "…" for each in (os.getcwd(), sys.prefix, tempfile.gettempdir())},
        str(Path.home()): "~",
    }
    longest = sorted(known.items(), key=lambda item: -len(item[0]))
    return [
        (re.compile(re.escape(strict_json.dumps(path)[1:-1]) + r"(?![\w.-])"), word)
        for path, word in longest
        if len(Path(path).parts) > 1
    ]
