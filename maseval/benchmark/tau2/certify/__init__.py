"""Certificates: rewards recomputed, records checked, and the outcome written down."""

from maseval.benchmark.tau2.certify.certificate import Certificate, CertificateError
from maseval.benchmark.tau2.certify.certifying import certify, verify
from maseval.benchmark.tau2.rescoring.suspicion import Suspicion

__all__ = ["Certificate", "CertificateError", "Suspicion", "certify", "verify"]
