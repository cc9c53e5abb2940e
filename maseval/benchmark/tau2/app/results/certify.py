"""``maseval tau2 certify`` and ``verify``: a record of recomputed numbers, and its check."""

import os
from dataclasses import dataclass
from pathlib import Path

from maseval.benchmark.tau2.app.results.sources import open_source, own_judge, simulations_in
from maseval.benchmark.tau2.certify import Certificate, CertificateError
from maseval.benchmark.tau2.certify import certify as certify_source
from maseval.benchmark.tau2.certify import verify as verify_source
from maseval.benchmark.tau2.rescoring.record import SimulationRecord
from maseval.core.exceptions import NotRunError, OutputExistsError
from maseval.core.storage.files import atomic_file
from maseval.interface.signing import is_signed, signature
from maseval.runs import RunFolder


@dataclass(frozen=True)
class Certified:
    """A certificate, and the file it was written to."""

    certificate: Certificate
    written: Path | None


def certify(
    source: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    domain: str | None = None,
    partial: bool = False,
    sign: str | os.PathLike[str] | None = None,
    data_version: str | None = None,
    overwrite: bool = False,
) -> Certified:
    """Score every simulation of a results file or a run anew, and write down what came out.

    ``domain`` is used whatever the file calls its own. Every task of the split should be there,
    or with ``partial`` every task that the file lists. ``sign`` is a file with an Ed25519 private
    key, with which the certificate is signed. ``data_version`` names the release by whose tasks and
    rules a file is judged.
    """
    target = None if output is None else Path(output)
    if target is not None and target.exists() and not overwrite:
        raise OutputExistsError(f"{target} already exists; choose another file, or overwrite it")
    found, simulations = _open_certifiable(source, domain, data_version)
    certificate = certify_source(simulations, partial=partial, judge=own_judge(found))
    if sign is not None:
        certificate = certificate.with_signature(signature(certificate.signed_text, Path(sign)))
    if target is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(target) as file:
            file.write(certificate.to_json().encode())
    return Certified(certificate, target)


def _open_certifiable(
    file: str | os.PathLike[str], domain: str | None = None, data_version: str | None = None
) -> tuple[RunFolder | Path, SimulationRecord]:
    """Return a results file or a run, and its simulations."""
    source = open_source(file)
    if isinstance(source, RunFolder) and not source.recorded:
        raise NotRunError(f"{source.path} has no finished simulation yet; nothing to certify")
    return source, simulations_in(source, domain, data_version)


def certificate_of(folder: RunFolder) -> str:
    """Return the certificate of what a run holds."""
    return certify(folder.path, partial=True).certificate.to_json()


def certificate_differences(certificate: Path, folder: RunFolder) -> list[str]:
    """Return the differences between a run and its certificate."""
    return verify(certificate, folder.path).differences


@dataclass(frozen=True)
class Verification:
    """A check of simulations against a certificate; ``differences`` lists all.

    ``signed`` if the certificate's signature was checked, too.
    """

    certificate: Path
    path: Path
    differences: list[str]
    signed: bool = False

    @property
    def holds(self) -> bool:
        """True if nothing differs."""
        return not self.differences

    def to_dict(self) -> dict[str, object]:
        return {
            "certificate": str(self.certificate),
            "path": str(self.path),
            "holds": self.holds,
            "signed": self.signed,
            "differences": self.differences,
        }


def verify(
    certificate: str | os.PathLike[str],
    source: str | os.PathLike[str],
    *,
    domain: str | None = None,
    key: str | os.PathLike[str] | None = None,
) -> Verification:
    """Certify again, and list what differs from the certificate.

    A certificate that was itself changed, or with ``key`` (a file with an Ed25519 public key) is
    not signed by its owner, raises a ``CertificateError``.
    """
    name = Path(certificate)
    given = Certificate.of(name.read_text(encoding="utf-8"))
    if key is not None:
        _check_signature(given, Path(key))
    found, simulations = _open_certifiable(source, domain, given.version)
    differences = verify_source(given, simulations, judge=own_judge(found))
    path = found if isinstance(found, Path) else found.path
    return Verification(name, path, differences, signed=key is not None)


def _check_signature(certificate: Certificate, key: Path) -> None:
    if certificate.signature is None:
        raise CertificateError(
            f"the certificate is not signed, so {key} proves nothing; ask for one made with "
            "`maseval tau2 certify --sign`"
        )
    if not is_signed(certificate.signed_text, certificate.signature, key):
        raise CertificateError(
            f"the certificate was not signed by the owner of {key}, or was changed since; ask for "
            "the right key, or certify the simulations again"
        )
