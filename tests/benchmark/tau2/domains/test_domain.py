"""What a domain says about itself."""

from pathlib import Path

import pytest

from maseval.benchmark.tau2.formats.message import STOP_TOKENS
from tests.benchmark.tau2.domains.kiosk import kiosk


@pytest.mark.parametrize("with_tools", [True, False])
def test_a_domain_of_ones_own_has_guidelines_that_explain_how_to_end(tmp_path, with_tools):
    text = kiosk(tmp_path).guidelines(with_tools)

    assert text is not None
    assert all(token in text for token in STOP_TOKENS)
    assert ("You have tools" in text) is with_tools


def test_guidelines_in_the_domains_own_folder_come_first(tmp_path):
    (tmp_path / "user_guidelines_tools.md").write_text("Be brief.")
    domain = kiosk(tmp_path)

    assert domain.guidelines(with_tools=True) == "Be brief."
    assert domain.guidelines(with_tools=False) != "Be brief."


def test_the_data_folder_stays_where_it_is_when_the_working_folder_changes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    domain = kiosk(Path())
    monkeypatch.chdir("/")

    assert domain.data_dir == tmp_path
