from pathlib import Path

import pytest

from maseval.benchmark.tau2.domains.domain import Domain
from tests.benchmark.tau2.rooms import room_domain


@pytest.fixture
def room(tmp_path: Path) -> Domain:
    return room_domain(tmp_path)
