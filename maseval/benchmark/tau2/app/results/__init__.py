"""Reading tau2 results: score, explain, certify, audit, export."""

from maseval.benchmark.tau2.app.running.own_domains import find_remembered
from maseval.benchmark.tau2.domains import find_domains_with

# A recorded run may be of a domain that only its user's files have.
find_domains_with(find_remembered)
