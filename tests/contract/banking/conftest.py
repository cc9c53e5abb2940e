"""The vectors of banking_knowledge, its data, and the texts that its tools answer with."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.releases import V1_0_1


@pytest.fixture(scope="session")
def vectors(contract_dir: Path) -> Path:
    return contract_dir / "banking"


@pytest.fixture(scope="session")
def folder(banking_data: Path) -> Path:
    return banking_data


@pytest.fixture(autouse=True)
def texts(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("MASEVAL_TAU2_TEXTS", str(shared_data / "tau2-texts"))
    yield


@pytest.fixture(scope="session")
def domain(folder: Path) -> Domain:
    """The domain without any search, with which everything was recorded that is not a search."""
    return V1_0_1.domains["banking_knowledge@no_knowledge"]
