"""The former import paths end with one version, which the documentation names."""

from pathlib import Path

from maseval.compat import EXPIRES

DOCS = Path(__file__).parents[2] / "docs"


def test_the_documentation_names_the_version_that_ends_them():
    for page in ("migrating.md", "stability.md"):
        text = " ".join((DOCS / page).read_text(encoding="utf-8").split())

        assert f"until {EXPIRES}" in text or f"until version {EXPIRES}" in text
