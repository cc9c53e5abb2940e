from collections.abc import Iterator

import pytest

from tests.server.provider import Provider, provider


@pytest.fixture
def upstream() -> Iterator[Provider]:
    with provider() as running:
        yield running
