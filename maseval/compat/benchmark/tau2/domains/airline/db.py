"""The database: ``maseval.benchmark.tau2.domains.airline.models``."""

from maseval.benchmark.tau2.domains.airline.models import AirlineDB

__all__ = ["AirlineDB"]
