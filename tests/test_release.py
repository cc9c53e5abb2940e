"""The release script: the version's notes come from the changelog, or there is no release."""

import re
import tomllib
from pathlib import Path

import pytest

import maseval
from scripts.release import ReleaseError, find_version, read_notes

CHECKOUT = Path(__file__).parents[1]

CHANGELOG = "# Changelog\n\n## 0.8.0 (2026-12-01)\n\n- New.\n\n## 0.7.0\n\n- Old.\n"


@pytest.mark.parametrize(("version", "notes"), [("0.8.0", "- New.\n"), ("0.7.0", "- Old.\n")])
def test_the_notes_are_the_section_of_the_version(version, notes):
    assert read_notes(CHANGELOG, version) == notes


def test_a_version_without_a_section_is_not_released():
    with pytest.raises(ReleaseError, match=r"no section '## 0\.9\.0'"):
        read_notes(CHANGELOG, "0.9.0")


def test_the_version_in_the_code_has_notes():
    changelog = CHECKOUT.joinpath("CHANGELOG.md").read_text(encoding="utf-8")

    assert find_version() == maseval.__version__
    assert read_notes(changelog, find_version())


def test_every_fragment_has_a_type_and_at_most_two_sentences():
    settings = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["tool"]["towncrier"]
    types = {each["directory"] for each in settings["type"]}

    for path in (CHECKOUT / "changes").glob("*.*.md"):
        assert path.name.split(".")[-2] in types, path.name
        sentences = re.findall(r"[.?!](?=\s|\Z)", path.read_text("utf-8").strip())
        assert 1 <= len(sentences) <= 2, path.name
