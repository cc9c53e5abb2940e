"""Each release of the original: the vectors recorded from it, its data, and its domains."""

from pathlib import Path
from typing import NamedTuple

import pytest

from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.releases import Release, release_named
from tests.contract.mock_domain import (
    lay_over,
    mock_domain,
    mock_domain_of_1_0_1,
    mock_domain_of_verified,
)

FOLDERS = {"0.2.0": ".", "1.0.1": "v1.0.1", "verified": "verified"}
DATA = {"0.2.0": "tau2_data", "1.0.1": "tau2_data_of_1_0_1", "verified": "tau2_data_verified"}
MOCKS = {"1.0.1": mock_domain_of_1_0_1, "verified": mock_domain_of_verified}


class Recorded(NamedTuple):
    """A release, and where that lies which was recorded of it."""

    release: Release
    vectors: Path
    data: Path
    mock: Domain

    @property
    def version(self) -> str:
        return self.release.name

    def domain(self, name: str) -> Domain:
        return self.mock if name == "mock" else self.release.domains[name]

    def folder(self, name: str) -> Path:
        domain = self.domain(name)
        return domain.data_dir or self.data / "domains" / domain.folder_name


@pytest.fixture(scope="session", params=FOLDERS)
def recorded(
    request: pytest.FixtureRequest,
    contract_dir: Path,
    shared_data: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Recorded:
    version = request.param
    data: Path = request.getfixturevalue(DATA[version])
    mock = mock_domain(contract_dir)
    if version in MOCKS:
        # What did not change since v0.2.0 comes with that version's vectors.
        changed = shared_data / f"tau2-{FOLDERS[version]}" / "domains" / "mock"
        folder = lay_over(contract_dir / "mock", changed, tmp_path_factory.mktemp("mock"))
        mock = MOCKS[version](folder)
    return Recorded(release_named(version), contract_dir / FOLDERS[version], data, mock)
