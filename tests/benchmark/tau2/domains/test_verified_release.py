"""The release ``verified`` by name, in mixtures, and in what is written down of it."""

import pytest

from maseval.benchmark.tau2.data import UnknownVersionError, known_version, title_of, version_titled
from maseval.benchmark.tau2.data.files import VERIFIED_COMMIT, manifest_of
from maseval.benchmark.tau2.domains.releases import release_named
from maseval.data.sources import default_sources


@pytest.mark.parametrize("name", ["0.2.0", "1.0.1", "verified", "1.0.1+tasks.0.2.0"])
def test_a_recorded_title_leads_back_to_the_release(name):
    assert version_titled(f"tau2-bench {title_of(name)}") == name


def test_the_name_does_not_lose_its_first_letter():
    assert known_version("verified") == "verified" and known_version("v1.0.1") == "1.0.1"
    with pytest.raises(UnknownVersionError, match="'erified'"):
        known_version("erified")


def test_its_files_come_from_its_own_repository_at_the_pinned_commit(monkeypatch):
    for variable in ("MASEVAL_TAU2_DATA", "MASEVAL_TAU2_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    original = default_sources(manifest_of("verified"))[0]
    assert original.name.endswith(f"amazon-agi/tau2-bench-verified/{VERIFIED_COMMIT}")


def test_the_new_tool_never_finds_an_item():
    retail = release_named("verified").domain("retail")
    assert retail.toolkit.has_tool("get_item_details")
    with pytest.raises(ValueError, match="Item not found"):
        retail.toolkit.get_item_details(None, None)
