"""The manual lists every name of MASEval's API document that is not here."""

import pytest

from scripts.api_document import CHECKOUT, missing_names, package_words

MANUAL = CHECKOUT / "docs" / "migrating.md"


def test_every_name_of_the_document_is_here_or_in_the_manual(contract_dir):
    document = contract_dir.parent / "spec" / "maseval"
    if not document.is_dir():
        pytest.skip("no API document beside the contract")

    assert missing_names(document, MANUAL.read_text(encoding="utf-8"), package_words()) == {}


def test_a_name_that_is_nowhere_is_found(tmp_path):
    (tmp_path / "core.md").write_text(
        "`Tau2User.GUIDELINES_DIR`, `run_agents(query)` and `NoSuchName`"
    )

    found = missing_names(tmp_path, "of `run_agents`", {"Tau2User", "GUIDELINES_DIR"})

    assert found == {"NoSuchName": "core.md"}
    assert missing_names(tmp_path, "`NoSuchName`", package_words()) == {}
