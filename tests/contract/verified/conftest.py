"""The vectors of tau2-bench-verified, its data, and its domains over them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.releases import V_VERIFIED
from tests.contract.mock_domain import lay_over, mock_domain_of_verified


@pytest.fixture(scope="session")
def vectors(contract_dir: Path) -> Path:
    return contract_dir / "verified"


@pytest.fixture(scope="session")
def data(tau2_data_verified: Path) -> Path:
    return tau2_data_verified


@pytest.fixture(scope="session")
def mock(contract_dir: Path, shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Domain:
    """The mock domain; what did not change since v0.2.0 comes with that version's vectors."""
    changed = shared_data / "tau2-verified" / "domains" / "mock"
    folder = lay_over(contract_dir / "mock", changed, tmp_path_factory.mktemp("mock"))
    return mock_domain_of_verified(folder)


@pytest.fixture(scope="session")
def domain_called(data: Path, mock: Domain) -> Callable[[str], Domain]:
    return lambda name: mock if name == "mock" else V_VERIFIED.domains[name]
