"""Can the number be trusted? Rewards recomputed, records checked, the outcome certified."""

from maseval.benchmark.tau2.trust.certify.certificate import Certificate, CertificateError
from maseval.benchmark.tau2.trust.certify.certifying import certify, verify
from maseval.benchmark.tau2.trust.recount.suspicion import Suspicion

__all__ = ["Certificate", "CertificateError", "Suspicion", "certify", "verify"]
