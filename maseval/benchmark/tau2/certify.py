"""Can the number be trusted? Rewards recomputed, records checked, the outcome certified.

The public door of ``maseval.benchmark.tau2.trust.certify``.
"""

from maseval.benchmark.tau2.trust.certify import (
    Certificate,
    CertificateError,
    Suspicion,
    certify,
    verify,
)

__all__ = [
    "Certificate",
    "CertificateError",
    "Suspicion",
    "certify",
    "verify",
]
