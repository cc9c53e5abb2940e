"""``maseval tau2 verify``: are simulations still what a certificate says?"""

import os
from dataclasses import dataclass
from pathlib import Path

from maseval.benchmark.tau2.app.results.certify import certifiable
from maseval.benchmark.tau2.app.results.judges import own_panel
from maseval.benchmark.tau2.certify import Certificate, CertificateError
from maseval.benchmark.tau2.certify import verify as verify_source
from maseval.interface.signing import is_signed


@dataclass(frozen=True)
class Verification:
    """Whether simulations still are what a certificate says; ``differences`` list where not.

    ``signed`` if the certificate's signature was checked, too.
    """

    certificate: Path
    path: Path
    differences: list[str]
    signed: bool = False

    @property
    def holds(self) -> bool:
        """Whether nothing differs."""
        return not self.differences

    def to_dict(self) -> dict[str, object]:
        """In JSON's terms."""
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
    found, simulations = certifiable(source, domain, given.version)
    differences = verify_source(given, simulations, panel=own_panel(found.folder))
    return Verification(name, found.path, differences, signed=key is not None)


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
