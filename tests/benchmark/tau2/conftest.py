from collections.abc import Iterator

import pytest
from file_server import FileServer


@pytest.fixture
def file_server() -> Iterator[FileServer]:
    with FileServer() as server:
        yield server
