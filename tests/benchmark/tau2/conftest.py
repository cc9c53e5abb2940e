import pytest

from tests.benchmark.tau2.rooms import room_domain


@pytest.fixture
def room(tmp_path):
    return room_domain(tmp_path)
