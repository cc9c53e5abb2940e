"""A server of untrue data files, for tests that need no true ones."""

from collections.abc import Iterator

import pytest

from tests.benchmark.tau2.file_server import FileServer


@pytest.fixture
def file_server() -> Iterator[FileServer]:
    with FileServer() as server:
        yield server
