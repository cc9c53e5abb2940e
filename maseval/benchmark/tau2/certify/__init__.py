"""Can the number be trusted? Rewards recomputed, records checked, the outcome certified."""

from maseval.benchmark.tau2.certify.certificate import Certificate, CertificateError
from maseval.benchmark.tau2.certify.certifying import certify, verify
from maseval.benchmark.tau2.rescoring.suspicion import Suspicion

__all__ = ["Certificate", "CertificateError", "Suspicion", "certify", "verify"]
