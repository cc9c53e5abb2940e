"""Reading tau2 results: score, explain, certify, audit, export."""

from typing import TYPE_CHECKING

from maseval.benchmark.tau2.domains import find_domains_with

if TYPE_CHECKING:  # most runs are of domains that come with maseval
    from maseval.benchmark.tau2.domains import Domain


def _find_remembered(name: str) -> "Domain | None":
    from maseval.benchmark.tau2.app.running.tasks import find_remembered

    return find_remembered(name)


# A recorded run may be of a domain that only its user's files have.
find_domains_with(_find_remembered)
