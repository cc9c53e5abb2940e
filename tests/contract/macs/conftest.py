from pathlib import Path

import pytest

from tests.conftest import absent


@pytest.fixture(scope="session")
def macs_vectors(contract_dir: Path) -> Path:
    """The vectors recorded from the original and from MASEval."""
    folder = contract_dir / "macs"
    if not folder.is_dir():
        absent("MASEVAL_REQUIRE_CONTRACT", f"no contract vectors in {folder}")
    return folder
