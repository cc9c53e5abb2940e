"""The vectors of tau2-bench v1.0.1, and its data."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def vectors(contract_dir: Path) -> Path:
    return contract_dir / "v1.0.1"


@pytest.fixture(scope="session")
def data(tau2_data_of_1_0_1: Path) -> Path:
    return tau2_data_of_1_0_1
