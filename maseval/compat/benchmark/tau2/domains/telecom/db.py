"""The database: ``maseval.benchmark.tau2.domains.telecom.models``."""

from maseval.benchmark.tau2.domains.telecom.models import TelecomDB

__all__ = ["TelecomDB"]
