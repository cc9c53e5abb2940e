"""The changelog is put together from fragments when a version is released."""

import shutil
from datetime import date
from pathlib import Path

from scripts.release import assemble_changelog, read_notes
from tests.interface.libraries import needing

CHECKOUT = Path(__file__).parents[1]
pytestmark = needing("towncrier")


def checkout_with(folder: Path, changelog: str, **fragments: str) -> Path:
    """Write what a release reads: the settings, the changelog and its fragments."""
    shutil.copytree(
        CHECKOUT / "changes", folder / "changes", ignore=shutil.ignore_patterns("*.*.md")
    )
    shutil.copy(CHECKOUT / "pyproject.toml", folder)
    folder.joinpath("CHANGELOG.md").write_text(changelog, encoding="utf-8")
    for name, text in fragments.items():
        folder.joinpath("changes", f"{name.replace('_', '.')}.md").write_text(text)
    return folder


BEGUN = """# Changelog

## 0.7.0 (unreleased)

### What is new

- By hand.

### Fixed

- Repaired.

## 0.6.0

- Old.
"""


def test_fragments_are_moved_into_the_section_that_was_begun(tmp_path):
    root = checkout_with(tmp_path, BEGUN, a_new="**Word.** New.\n", b_must="Do this.\n")

    assemble_changelog(root, "0.7.0")

    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    assert read_notes(changelog, "0.7.0") == (
        "### What is new\n\n- By hand.\n- **Word.** New.\n\n"
        "### Fixed\n\n- Repaired.\n\n"
        "### What you must do\n\n- Do this.\n"
    )
    assert read_notes(changelog, "0.6.0") == "- Old.\n"
    assert list(root.glob("changes/*.*.md")) == []

    assemble_changelog(root, "0.7.0")
    assert (root / "CHANGELOG.md").read_text(encoding="utf-8") == changelog


def test_the_first_fragment_of_a_version_begins_its_section(tmp_path):
    root = checkout_with(tmp_path, BEGUN, b_fixed="Two.\n", a_new="One.\n")

    assemble_changelog(root, "0.8.0")

    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n\n## 0.8.0 ({date.today()})\n\n### What is new\n\n- One.\n" in changelog
    assert read_notes(changelog, "0.8.0").endswith("### Fixed\n\n- Two.\n")
    assert changelog.endswith(BEGUN.partition("# Changelog\n\n")[2])
