"""The database: ``maseval.benchmark.tau2.domains.retail.models``."""

from maseval.benchmark.tau2.domains.retail.models import RetailDB

__all__ = ["RetailDB"]
