"""``maseval tau2 verify``: are simulations still what a certificate says?"""

import os
from dataclasses import dataclass
from pathlib import Path

from maseval.benchmark.tau2.trust.certify import Certificate
from maseval.benchmark.tau2.trust.certify import verify as verify_source
from maseval.commands.tau2.certify import certifiable


@dataclass(frozen=True)
class Verification:
    """Whether simulations still are what a certificate says; ``differences`` say where not."""

    certificate: Path
    path: Path
    differences: list[str]

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
            "differences": self.differences,
        }


def verify(
    certificate: str | os.PathLike[str],
    source: str | os.PathLike[str],
    *,
    domain: str | None = None,
) -> Verification:
    """Certify again, and list what differs from the certificate.

    A certificate that was itself changed raises a ``CertificateError``.
    """
    name = Path(certificate)
    given = Certificate.of(name.read_text(encoding="utf-8"))
    path, simulations = certifiable(source)
    return Verification(name, path, verify_source(given, simulations, domain=domain))
