"""``maseval bundle``: a run as one archive that others can check and open.

It holds the files of a run folder under their own names, and ``bundle.json``, which has the
checksum of each, the end of the log and the number of simulations in it, the fingerprint of the
data, and the versions of the code.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from maseval.app.benchmarks import support_for
from maseval.app.results.examined import examine_run
from maseval.app.results.names import run_path, warn_of_damage
from maseval.app.sharing.export import ATIF, EEE, export
from maseval.core.exceptions import ConfigurationError, NotRunError, OutputExistsError
from maseval.core.report_parts import RecordedSoftware
from maseval.core.storage import strict_json
from maseval.core.storage.files import atomic_file, atomic_folder
from maseval.core.storage.zip_archive import ArchiveReader, ArchiveWriter, open_archive
from maseval.runs import RunFolder, RunLockedError, default_root, run_state
from maseval.runs.config_file import CONFIG, LOG, read_config
from maseval.runs.exceptions import RunFolderError
from maseval.runs.log import counts_at_end, last_record
from maseval.runs.report_line import Link, Seal

FORM = "maseval bundle 2"
_FIRST_FORM = "maseval bundle 1"
SUFFIXES = ".maseval.zip"
MANIFEST = "bundle.json"
JUDGED = ("judgements.jsonl", "judged.jsonl")
"""The answers of judges; the second name is that of earlier versions."""
CARRIED = {
    ATIF: ("trajectories.atif.jsonl",),
    EEE: ("results.eee.json", "results.eee_samples.jsonl"),
}
"""The names of the files in public formats that a bundle may carry."""
_EXTRA = tuple(name for names in CARRIED.values() for name in names)
REQUIRED = (CONFIG, LOG)
# Bundles of versions before 0.9 may have these, which are not taken over.
FORMER = ("report.html", "remarks.json", "certificate.json")
# What is read at once must fit into memory; a simulation needs a thousandth of what a line may.
_MOST = {MANIFEST: 16 << 20, CONFIG: 64 << 20}


class BundleError(RunFolderError, ValueError):
    """Not a bundle, or one whose content is not what its list says."""


# ``seal`` is the number and the hash of the log's last line, and ``sha256`` the checksum of all
# else. ``simulations`` are not counted in bundles of the first form.
_KEYS = {"form", "run", "seal", "simulations", "data", "versions", "notes", "files", "sha256"}
BundleManifest = Mapping[str, Any]
"""The content of ``bundle.json``."""


def versions_of(folder: RunFolder) -> list[dict[str, object]]:
    """Return the versions of the code that made the run's reports, each different set once."""
    found: list[dict[str, object]] = []
    for software in map(RecordedSoftware, folder.shared):
        packages = dict(sorted(software.packages.items()))
        own: dict[str, object] = {
            "maseval": packages.get("maseval"),
            "python": software.python,
            "packages": packages,
        }
        if own not in found:
            found.append(own)
    return found


def _write_bundle(
    folder: RunFolder, target: Path, notes: Sequence[str], carried: Mapping[str, Path]
) -> BundleManifest:
    """Write the run; equal runs give equal bytes."""
    own = {name: folder.path / name for name in (LOG, *JUDGED)}
    kept = {**{name: path for name, path in own.items() if path.is_file()}, **carried}
    files: dict[str, Mapping[str, object]] = {}
    content: dict[str, Any] = {
        "form": FORM,
        "run": folder.path.resolve().name,
        "seal": folder.seal,
        "simulations": simulations_of(folder),
        "data": folder.config.values.get("data"),
        "versions": versions_of(folder),
        "notes": list(notes),
        "files": files,
    }
    with atomic_file(target) as file:
        archive = ArchiveWriter(file)
        # The file itself may be lost, and its content stands in the log as well.
        files[CONFIG] = archive.add(CONFIG, BytesIO(read_config(folder.path).to_json()))._asdict()
        for name, path in kept.items():
            with path.open("rb") as kept_file:
                files[name] = archive.add(name, kept_file)._asdict()
        manifest = {**content, "sha256": _checksum(content)}
        # The last one, as it has the checksums of all others.
        archive.add(MANIFEST, BytesIO(f"{strict_json.dumps(manifest, indent=2)}\n".encode("ascii")))
        archive.close()
    return manifest


def simulations_of(folder: RunFolder) -> dict[str, int]:
    """Count the simulations of a run, and look whether its last session closed."""
    return {
        "planned": len(folder.planned),
        "recorded": len(folder.recorded),
        "closed": counts_at_end(last_record(folder.log)) is not None,
    }


def describe_gaps(simulations: Mapping[str, int]) -> list[str]:
    """Return sentences on what a run lacks of its plan, and of its end."""
    planned, recorded = simulations["planned"], simulations["recorded"]
    few = [f"only {recorded} of {planned} planned simulations are recorded"]
    torn = ["its log has no closing line: the last session was killed, or the log was cut off"]
    return few * (recorded < planned) + torn * (not simulations["closed"])


def _checksum(content: Mapping[str, object]) -> str:
    # In one order, and without the checksum, which cannot cover itself.
    listed = {key: content[key] for key in sorted(content) if key != "sha256"}
    return hashlib.sha256(strict_json.dumps(listed).encode()).hexdigest()


@contextmanager
def open_bundle(path: Path, target: Path) -> Iterator[RunFolder]:
    """Yield the run of a bundle, checked, in a folder that becomes ``target`` if all goes well.

    The checksums of all files, the run's configuration, and every seal and link of its log must be
    right; else nothing stays behind.
    """
    if not path.is_file():
        what = "is not a file" if path.exists() else "does not exist"
        raise BundleError(f"{path} {what}; name the archive that `maseval bundle` wrote")

    def check() -> None:
        if os.path.lexists(target):
            raise OutputExistsError(f"{target} already exists; choose another folder with --output")

    with atomic_folder(target, check) as hidden:
        manifest = _unpack(path, hidden)
        folder = RunFolder.read(hidden)
        _check_log(path, folder, manifest)
        # The seal lies beside the log, and no bundle carries it: this log was checked just now.
        Seal.write(folder.log, Link.parse(folder.seal))
        yield folder


def _unpack(path: Path, folder: Path) -> BundleManifest:
    with open_archive(path, (MANIFEST, *REQUIRED, *JUDGED, *_EXTRA, *FORMER)) as archive:
        missing = {MANIFEST, *REQUIRED} - set(archive.names)
        if missing:
            raise BundleError(f"{path} is not a bundle: it has no {min(missing)}")
        manifest = _read_manifest(path, archive, folder / MANIFEST)
        listed = {MANIFEST, *manifest["files"]}
        # What no checksum covers could be anything.
        if listed != set(archive.names):
            odd = ", ".join(sorted(listed ^ set(archive.names)))
            raise BundleError(f"{path}: its files are not the listed ones ({odd})")
        for name in manifest["files"]:
            with (folder / name).open("xb") as file:
                digest = archive.copy(name, file, _MOST.get(name))
            if manifest["files"][name] != digest._asdict():
                raise BundleError(
                    f"{path}: its {name} was changed: its checksum is {digest.sha256}, not the one "
                    "listed; ask for another copy"
                )
    for name in FORMER:
        (folder / name).unlink(missing_ok=True)
    return manifest


def _read_manifest(path: Path, archive: ArchiveReader, target: Path) -> BundleManifest:
    with target.open("xb") as file:
        archive.copy(MANIFEST, file, _MOST[MANIFEST])
    try:
        content: Any = strict_json.loads(target.read_bytes())
        content = content if isinstance(content, dict) else {}
        keys = {FORM: _KEYS, _FIRST_FORM: _KEYS - {"simulations"}}.get(str(content.get("form")))
        if content.keys() != keys or not isinstance(content["files"], dict):
            raise ValueError(f"not of the form {FORM!r}")
        if content["sha256"] != _checksum(content):
            raise ValueError("it was changed after it was written")
    # Nesting too deep for any reader is one way to break it.
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{path}: its {MANIFEST} cannot be used: {error}") from None
    return dict(content)


def _check_log(path: Path, folder: RunFolder, manifest: BundleManifest) -> None:
    if folder.damaged:
        raise BundleError(f"{path}: its log is damaged: {folder.damaged[0]}")
    if folder.seal != manifest["seal"]:
        raise BundleError(
            f"{path}: its log ends with {folder.seal}, not with {manifest['seal']} as listed"
        )
    listed, found = manifest.get("simulations"), simulations_of(folder)
    # Bundles of the first form do not count their simulations.
    if listed is not None and listed != found:
        raise BundleError(f"{path}: its simulations are {found}, not {listed} as listed")


@dataclass(frozen=True)
class BundleFile:
    path: Path
    manifest: BundleManifest

    def to_dict(self) -> dict[str, object]:
        return {"path": str(self.path), "bundle": self.manifest}


def bundle(
    run: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    overwrite: bool = False,
    formats: Sequence[str] = (),
) -> BundleFile:
    """Write a run into one archive, by default ``NAME.maseval.zip`` in the current folder.

    ``formats`` are public ones that it also carries, ``atif`` and ``eee``.
    """
    for form in formats:
        if form not in CARRIED:
            known = ", ".join(CARRIED)
            raise ConfigurationError(f"a bundle cannot carry {form!r}; choose one of {known}")
    path = run_path(run)
    target = Path(output or f"{path.resolve().name}{SUFFIXES}")
    if target.exists() and not overwrite:
        raise OutputExistsError(
            f"{target} already exists; choose another file with --output, or --overwrite it"
        )
    folder = _finished_run(path)
    warn_of_damage(folder)
    # A number over chosen tasks, or of a run that stopped early, must not travel without its mark.
    marks = (folder.config.subset, folder.config.stopped)
    notes = [each.note for each in marks if each is not None]
    check = examine_run(folder, ()).check
    if check is not None and check.differing and check.note:
        notes.append(check.note)
    notes += describe_gaps(simulations_of(folder))
    with TemporaryDirectory(prefix="maseval-") as place:
        carried = {
            name: file
            for form in dict.fromkeys(formats)
            for name, file in _public_files(path, form, Path(place))
        }
        return BundleFile(target, _write_bundle(folder, target, notes, carried))


def _public_files(run: Path, form: str, place: Path) -> Iterator[tuple[str, Path]]:
    """Write a run in a public format; yield each file with its name in a bundle."""
    (written,) = export(run, form, place / form, single=form == ATIF)
    found = [written.path] if written.path.is_file() else sorted(written.path.rglob("*.json*"))
    yield from zip(CARRIED[form], found, strict=True)


def _finished_run(path: Path) -> RunFolder:
    """Return the run if nobody writes to it and nothing of it is damaged, else raise."""
    state = run_state(path)
    if state.holder is not None:
        raise RunLockedError(f"{path} is still running ({state.holder}); bundle it when it ends")
    folder = RunFolder.read(path)
    if folder.damaged:
        raise BundleError(
            f"the log of {path} is damaged ({folder.damaged[0]}), so nobody could check a bundle "
            "of it; resume the run to make the damaged simulations again"
        )
    if not folder.recorded:
        raise NotRunError(f"{path} has no finished simulation yet; there is nothing to bundle")
    return folder


@dataclass(frozen=True)
class UnbundledRun:
    """A run folder that was a bundle.

    Its checksums and its log hold, else there would be none. ``data`` lists where the benchmark's
    data differs from the data here. ``verdicts`` says which of its recorded verdicts do not hold
    when they are recomputed, and ``unchecked`` why they were not. ``notes`` say what the run lacks
    of its plan and of its end.
    """

    path: Path
    simulations: int
    unchecked: str | None
    data: list[str]
    verdicts: str | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        return not self.data and not self.verdicts

    def to_dict(self) -> dict[str, object]:
        return {**vars(self), "path": str(self.path), "holds": self.holds}


def unbundle(
    file: str | os.PathLike[str],
    to: str | os.PathLike[str] | None = None,
    *,
    verify: bool = True,
) -> UnbundledRun:
    """Check a bundle and make it a run folder, by default below the folder of all runs.

    Refused are archives that hold anything but the files of a bundle, unpack to far more than
    their size, or differ in a byte from what they list. ``verify`` computes the rewards anew.
    """
    path = Path(file)
    name = path.name.removesuffix(SUFFIXES) if path.name.endswith(SUFFIXES) else path.stem
    target = Path(to) if to is not None else default_root() / name
    with open_bundle(path, target) as folder:
        data = support_for(folder).other_data(folder)
        count, notes = len(folder.recorded), describe_gaps(simulations_of(folder))
        check, unchecked = None, None if verify else "not asked for"
        # Other data give other verdicts, which say nothing about those that are recorded.
        if data and verify:
            unchecked = "the data here is not that of the run"
        elif verify:
            check = examine_run(folder, ()).check
            unchecked = check.obstacle if check else "this benchmark does not recompute any"
    verdicts = check.note if check is not None and check.differing else None
    return UnbundledRun(target, count, unchecked, data, verdicts, notes)
