"""The vectors of tau2-bench v1.0.1, its data, and its domains over them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.releases import V1_0_1
from tests.contract.mock_domain import lay_over, mock_domain_of_1_0_1


@pytest.fixture(scope="session")
def vectors(contract_dir: Path) -> Path:
    return contract_dir / "v1.0.1"


@pytest.fixture(scope="session")
def data(tau2_data_of_1_0_1: Path) -> Path:
    return tau2_data_of_1_0_1


@pytest.fixture(scope="session")
def mock(contract_dir: Path, shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Domain:
    """The mock domain; what did not change since v0.2.0 comes with that version's vectors."""
    changed = shared_data / "tau2-v1.0.1" / "domains" / "mock"
    folder = lay_over(contract_dir / "mock", changed, tmp_path_factory.mktemp("mock"))
    return mock_domain_of_1_0_1(folder)


@pytest.fixture(scope="session")
def domain_called(data: Path, mock: Domain) -> Callable[[str], Domain]:
    return lambda name: mock if name == "mock" else V1_0_1.domains[name]
