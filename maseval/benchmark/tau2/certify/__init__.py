"""Certificates: rewards recomputed, records checked, and the outcome written down."""

from maseval.benchmark.tau2.certify.certificate import Certificate, CertificateError
from maseval.benchmark.tau2.certify.certifying import certify, verify

__all__ = ["Certificate", "CertificateError", "certify", "verify"]
