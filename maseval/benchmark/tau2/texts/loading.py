"""The texts of a version, loaded from a file, a folder, the cache, or the original.

Source files count only with the right checksum; extracted texts only with the right hash, which is
known in advance for each version. So it does not matter whose hands either went through.
"""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from maseval.benchmark.tau2.data import known_version, title_of
from maseval.benchmark.tau2.data.files import (
    DEFAULT_VERSION,
    default_data_dir,
    read_listing,
    repository_of,
)
from maseval.benchmark.tau2.texts.texts import FORMAT, Texts, TextsError
from maseval.data.files import CacheError, DataFile, Manifest
from maseval.data.folder import AnyPath, DataFolder, fill
from maseval.data.sources import DataSource, FetchProgress, default_sources, local_source

SIZE_LIMIT = 4 * 1024 * 1024  # the largest of them has 164 kB

_KEPT = "texts.json"
_SHA256 = {
    "0.2.0": "0f524b729bf82efcf003da6a5c052ecf154dbfd55651fd627cf5b472b9469ec2",
    "1.0.1": "9c35db0f02a3227c29c1091f15dfb30886365990595d86d12f7801e691ceaf92",
    "verified": "cebbb01d845c6a11b6df7d9d8706bfb29fddc2f6817a8b52906b7b81c29bcdcf",
}


class Edition(NamedTuple):
    """A version's source files that hold its texts, and the hash of the texts in them."""

    version: str
    manifest: Manifest
    sha256: str

    def confirm(self, texts: Texts, place: str) -> Texts:
        if texts.version != self.version or texts.sha256 != self.sha256:
            raise TextsError(
                f"{place} does not have the texts of {title_of(self.version)}: expected the "
                f"SHA-256 {self.sha256}, found {texts.sha256} ({title_of(texts.version)})"
            )
        return texts


@cache
def edition_of(version: str) -> Edition:
    plain = known_version(version)
    call = f'load_texts("{plain}")'
    title, (base_url, revision) = title_of(plain), repository_of(plain)
    manifest = Manifest(
        "tau2",
        title,
        read_listing(f"{title}-source.txt"),
        base_url,
        fetched_by=call,
        command=fetching_command(plain),
        revision=revision,
    )
    return Edition(plain, manifest, _SHA256[plain])


def fetching_command(version: str) -> str:
    """Return the command that fetches the texts of a release."""
    given = "" if title_of(version) == DEFAULT_VERSION else f" --data-version {version}"
    return f"maseval tau2 data texts{given}"


def load_texts(
    version: str = DEFAULT_VERSION, source: AnyPath | None = None, verbose: int = 1
) -> Texts:
    """Return the texts that models read in the original, fetched first if need be.

    ``source``, or the environment's ``MASEVAL_TAU2_TEXTS``, is a file of extracted texts, a folder
    of such files named after versions (``v0.2.0.json``), or a checkout or archive of the original.
    """
    edition = edition_of(version)
    # What is passed in code counts more than what the machine is set up with.
    named = source or os.environ.get("MASEVAL_TAU2_TEXTS")
    if named:
        return texts_at(Path(named).expanduser(), edition)
    sources = default_sources(edition.manifest)
    return cached_texts(edition, cache_of(version), sources, FetchProgress(verbose, "tau2"))


def cache_of(version: str) -> Path:
    """Return the folder in which the source files and the texts in them are kept."""
    return default_data_dir(version) / "source"


def kept_texts(version: str = DEFAULT_VERSION) -> Texts | None:
    """Return the texts on this machine, or None; raise if the environment names wrong ones."""
    if os.environ.get("MASEVAL_TAU2_TEXTS"):
        return load_texts(version)
    with suppress(TextsError):
        return read_texts(cache_of(version) / _KEPT, edition_of(version))
    return None


def texts_at(path: Path, edition: Edition) -> Texts:
    """Return the texts in a file, folder or archive; nothing is stored."""
    inside = path / f"{title_of(edition.version)}.json"
    if path.suffix == ".json" or inside.is_file():
        return read_texts(inside if path.is_dir() else path, edition)
    files = list(edition.manifest.files.values())
    contents = local_source(path, edition.manifest).fetch(files, FetchProgress(0))
    return _extract(contents, edition)


def cached_texts(
    edition: Edition, root: Path, sources: Iterable[DataSource], progress: FetchProgress
) -> Texts:
    """Return the texts kept below ``root``; if there are none, fetch and read the source files."""
    kept = root / _KEPT
    with suppress(TextsError):  # not there, or damaged: made again
        return read_texts(kept, edition)
    folder = DataFolder(root, edition.manifest)
    files = list(edition.manifest.files.values())
    fill(folder, files, sources, progress)
    texts = _extract(((file, folder.path(file).read_bytes()) for file in files), edition)
    content = texts.to_bytes()
    with suppress(CacheError):  # a folder that cannot be written to is still readable
        folder.store(DataFile(kept.name, len(content), sha256(content).hexdigest()), content)
    return texts


def read_texts(path: Path, edition: Edition) -> Texts:
    try:
        state = path.stat()
        texts = _read(path, state.st_size, state.st_mtime_ns)
    except OSError as error:
        raise TextsError(f"cannot read {path}: {error.strerror}") from error
    return edition.confirm(texts, str(path))


@lru_cache(maxsize=8)
def _read(path: Path, size: int, changed: int) -> Texts:
    """Read a file; one that is still of this size and time of change is not parsed again."""
    with path.open("rb") as stream:
        content = stream.read(SIZE_LIMIT + 1)
    if len(content) > SIZE_LIMIT:
        raise TextsError(f"{path} is larger than {SIZE_LIMIT:,} bytes")
    try:
        # A file of recorded texts has more at the top: where and how it was recorded.
        form = json.loads(content)
        if form["format"] != FORMAT:
            raise ValueError(f"its format is {form['format']!r}, not {FORMAT!r}")
        return Texts(*(form[key] for key in ("version", "prompts", "tools", "models")))
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise TextsError(f"{path} is not a file of texts: {error}") from error


def _extract(contents: Iterable[tuple[DataFile, bytes]], edition: Edition) -> Texts:
    # Done once for each release: then the texts are kept.
    from maseval.benchmark.tau2.texts.extraction import extract_texts

    verified: dict[str, bytes] = {}
    # Whatever a checkout or an archive of the user's holds, only the published files count.
    for file, content in contents:
        file.verify(content)
        verified[file.name] = content
    return edition.confirm(extract_texts(edition.version, verified), "the source")
