"""The documentation, opened from disk: its search finds what is there, and asks nobody else."""

import re
import shutil
from pathlib import Path

import yaml
from mkdocs.commands.build import build
from mkdocs.config import load_config
from playwright.sync_api import expect

CHECKOUT = Path(__file__).parents[2]


def small_site(folder):
    """Two pages with the settings of the documentation, but for the modules it describes."""
    docs = folder / "docs"
    shutil.copytree(CHECKOUT / "docs" / "javascripts", docs / "javascripts")
    (docs / "deep").mkdir()
    (docs / "index.md").write_text("# Home\n\nNothing here.\n")
    (docs / "deep" / "page.md").write_text("# Intervals\n\nThe walrus keeps a bootstrap.\n")
    settings = yaml.safe_load((CHECKOUT / "mkdocs.yml").read_text())
    settings["plugins"] = [each for each in settings["plugins"] if isinstance(each, str)]
    settings |= {"docs_dir": str(docs), "site_dir": str(folder / "site")}
    del settings["nav"]
    (folder / "mkdocs.yml").write_text(yaml.safe_dump(settings))
    build(load_config(str(folder / "mkdocs.yml")))
    return folder / "site"


def test_the_search_works_from_disk(fresh_page, tmp_path, monkeypatch):
    monkeypatch.setenv("NO_MKDOCS_2_WARNING", "1")
    site = small_site(tmp_path)
    for opened in ("index.html", "deep/page.html"):
        page, asked = fresh_page(), []
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.goto((site / opened).as_uri())
        page.locator("input[name=query]").click()
        expect(page.locator("input[name=query]")).to_be_focused()
        page.keyboard.type("walrus")

        place = re.compile(re.escape((site / "deep" / "page.html").as_uri()))
        found = page.locator(".md-search-result__item a").first
        expect(found).to_have_attribute("href", place)
        assert all(url.startswith("file:") for url in asked)
