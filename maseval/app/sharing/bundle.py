"""``maseval bundle``: a run as one archive that others can check and open."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from maseval.app.benchmarks import support_for
from maseval.app.results.finding import run_path
from maseval.app.results.report import report
from maseval.core.exceptions import MASEvalError, NotRunError, OutputExistsError
from maseval.runs import RunFolder, RunLockedError, run_state
from maseval.runs.bundle import (
    CERTIFICATE,
    REPORT,
    SUFFIXES,
    BundleError,
    BundleManifest,
    write_bundle,
)


@dataclass(frozen=True)
class Bundled:
    """A bundle: where it is, and what it lists."""

    path: Path
    manifest: BundleManifest

    def to_dict(self) -> dict[str, object]:
        """In JSON's terms."""
        return {"path": str(self.path), "bundle": self.manifest}


def bundle(
    run: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    overwrite: bool = False,
) -> Bundled:
    """Write a run, its certificate and its report into one archive.

    Without ``output`` it is ``NAME.maseval.zip`` in the current folder.

    The certificate is left out, with a note, where the benchmark has none or its data is not here.
    """
    path = run_path(run)
    target = Path(output or f"{path.resolve().name}{SUFFIXES}")
    if target.exists() and not overwrite:
        raise OutputExistsError(
            f"{target} already exists; choose another file with --output, or --overwrite it"
        )
    folder = _finished(path)
    made, notes = {REPORT: _page(folder)}, []
    try:
        certificate = support_for(folder).certificate(folder)
    except MASEvalError as error:
        notes.append(f"no certificate: {error}")
    else:
        if certificate is None:
            notes.append("no certificate: this benchmark has none")
        else:
            made[CERTIFICATE] = certificate.encode()
    return Bundled(target, write_bundle(folder, target, made, notes))


def _finished(path: Path) -> RunFolder:
    """The run, if nobody writes to it and nothing of it is damaged."""
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


def _page(folder: RunFolder) -> bytes:
    with tempfile.TemporaryDirectory() as scratch:
        title = folder.path.resolve().name
        return report(folder.path, Path(scratch) / REPORT, title=title).read_bytes()
