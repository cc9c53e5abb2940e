import pytest

from maseval.benchmark.macs import compute_benchmark_metrics
from tests.contract.macs.vectors import cases_in

pytestmark = pytest.mark.contract


def test_every_recorded_list_of_results_has_the_recorded_metrics(macs_vectors):
    for case in cases_in(macs_vectors, "benchmark_metrics"):
        assert compute_benchmark_metrics(case["results"]) == case["metrics"], case["name"]
