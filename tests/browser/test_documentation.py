"""The documentation, opened from disk: its search finds what is there, and asks nobody else."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml
from playwright.sync_api import expect

CHECKOUT = Path(__file__).parents[2]


def small_site(folder: Path) -> Path:
    """Two pages with the settings of the documentation, but for the modules it describes."""
    docs = folder / "docs"
    shutil.copytree(CHECKOUT / "docs" / "javascripts", docs / "javascripts")
    (docs / "deep").mkdir()
    (docs / "index.md").write_text("# Home\n\nNothing here.\n")
    (docs / "deep" / "page.md").write_text("# Intervals\n\nThe walrus keeps a bootstrap.\n")
    settings = yaml.safe_load((CHECKOUT / "mkdocs.yml").read_text())
    settings["plugins"] = [each for each in settings["plugins"] if isinstance(each, str)]
    settings |= {"docs_dir": "docs", "site_dir": "site"}
    del settings["nav"]
    (folder / "mkdocs.yml").write_text(yaml.safe_dump(settings))
    tool = Path(sys.executable).with_name("zensical")
    subprocess.run([tool, "build", "--strict"], cwd=folder, check=True)
    return folder / "site"


def test_the_search_works_from_disk(fresh_page, tmp_path):
    site = small_site(tmp_path)
    for opened in ("index.html", "deep/page.html"):
        page, asked = fresh_page(), []
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.goto((site / opened).as_uri())
        page.locator(".md-search__button").click()
        page.get_by_placeholder("Search").fill("walrus")

        place = re.compile(re.escape("deep/page.html"))
        found = page.locator("dialog a").filter(has=page.locator("mark")).first
        expect(found).to_have_attribute("href", place)
        assert all(url.startswith("file:") for url in asked)
