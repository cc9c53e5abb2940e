"""Commands that take any run ask its benchmark, by the name in the run's configuration."""

from pathlib import Path

import pytest

from maseval.app.benchmarks import BenchmarkSupport, all_support, support_for
from maseval.benchmark.tau2.app.results.support import SUPPORT
from maseval.core.scoring_options import ScoringOptions
from maseval.runs import RunFolder


def folder_of(benchmark: str | None, path: Path) -> RunFolder:
    config = {"benchmark": benchmark, "tasks": {"": ["1"]}, "trials": 1, "data": {"x": {"f": "1"}}}
    with RunFolder.open(path / "run", config) as folder:
        return folder


def test_a_run_of_tau2_is_explained_by_tau2(tmp_path):
    assert support_for(folder_of("tau2", tmp_path)) is SUPPORT
    assert SUPPORT in list(all_support())


@pytest.mark.parametrize("name", ["somebody's", None])
def test_a_benchmark_that_adds_nothing_is_one_like_every_other(tmp_path, name):
    folder = folder_of(name, tmp_path)
    support = support_for(folder)

    assert type(support) is BenchmarkSupport
    assert support.findings_version(folder) is None
    assert support.run_outcomes(folder, ScoringOptions()).planned == 1
    assert support.settings(folder) == folder.config.values


def test_data_of_tau2_is_compared_by_one_word_for_each_domain(tmp_path):
    settings = SUPPORT.settings(folder_of("tau2", tmp_path))

    assert set(settings["data"]) == {"x"} and isinstance(settings["data"]["x"], str)
