"""The release script: the version's notes come from the changelog, or there is no release."""

from pathlib import Path

import pytest

import maseval
from scripts.release import ReleaseError, find_version, read_notes

CHANGELOG = "# Changelog\n\n## 0.8.0 (2026-12-01)\n\n- New.\n\n## 0.7.0\n\n- Old.\n"


@pytest.mark.parametrize(("version", "notes"), [("0.8.0", "- New.\n"), ("0.7.0", "- Old.\n")])
def test_the_notes_are_the_section_of_the_version(version, notes):
    assert read_notes(CHANGELOG, version) == notes


def test_a_version_without_a_section_is_not_released():
    with pytest.raises(ReleaseError, match=r"no section '## 0\.9\.0'"):
        read_notes(CHANGELOG, "0.9.0")


def test_the_version_in_the_code_has_notes():
    changelog = Path(__file__).parents[1].joinpath("CHANGELOG.md").read_text(encoding="utf-8")

    assert find_version() == maseval.__version__
    assert read_notes(changelog, find_version())
