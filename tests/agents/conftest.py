"""Clients of agents are closed after each test, as their sockets would be reported."""

from collections.abc import Iterator

import pytest

from tests.agents.loop import CLIENTS


@pytest.fixture(autouse=True)
def no_open_clients() -> Iterator[None]:
    yield
    while CLIENTS:
        CLIENTS.pop().close()
