"""The true data files, for tests that need them; a server of untrue ones, for those that do not."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.benchmark.tau2.file_server import FileServer

from maseval.benchmark.tau2.data_loader import DataUnavailableError, ensure_data_exists


@pytest.fixture(scope="session")
def tau2_data() -> Path:
    """The folder that holds ``domains`` and ``user_simulator``, complete and verified."""
    try:
        return ensure_data_exists(verbose=0)
    except DataUnavailableError as error:
        if os.environ.get("MASEVAL_REQUIRE_DATA") == "1":
            pytest.fail(f"MASEVAL_REQUIRE_DATA=1, but: {error}", pytrace=False)
        pytest.skip(str(error).partition(" Tried:")[0])


@pytest.fixture
def file_server() -> Iterator[FileServer]:
    with FileServer() as server:
        yield server
