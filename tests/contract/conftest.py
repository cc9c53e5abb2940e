"""Where the recorded vectors and the data files lie."""

import os
from pathlib import Path
from typing import NoReturn

import pytest

from maseval.benchmark.tau2.data_loader import DataUnavailableError, ensure_data_exists

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def contract_dir() -> Path:
    """The folder of vectors: beside the checkout, or where MASEVAL_CONTRACT_DIR points."""
    beside = CHECKOUT.parent / "shared" / "contract"
    folder = Path(os.environ.get("MASEVAL_CONTRACT_DIR", beside))
    if not folder.is_dir():
        absent("MASEVAL_REQUIRE_CONTRACT", f"no contract vectors in {folder}")
    return folder


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder that has ``domains/`` and ``user_simulator/``."""
    try:
        return ensure_data_exists(verbose=0)
    except DataUnavailableError as error:
        absent("MASEVAL_REQUIRE_DATA", f"no tau2 data: {error}")


def absent(required_by: str, reason: str) -> NoReturn:
    if os.environ.get(required_by) == "1":
        pytest.fail(f"{reason}, and {required_by}=1 asks for it", pytrace=False)
    pytest.skip(reason)
