"""The pictures of the documentation, taken in a headless Chromium: ``make pictures``.

Shows the demo, which is the same wherever it runs. A run that exists already may be named.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from maseval import commands
from scripts import viewer_screenshots
from tests.browser.conftest import QUIET, chromium

IMAGES = Path(__file__).parents[1] / "docs" / "images"
WIDE, PHONE = {"width": 1280, "height": 820}, {"width": 390, "height": 820}
LOST = "#airline/11/2/m2"


def main() -> None:
    """Take every picture."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = _page(Path(folder))
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(QUIET))
        for name, size, scheme, link, opened in (
            ("report.png", WIDE, "light", LOST, True),
            ("report-dark.png", WIDE, "dark", LOST, True),
            ("report-results.png", WIDE, "light", "", False),
            ("report-phone.png", PHONE, "light", LOST, True),
        ):
            shown = browser.new_page(viewport=size, color_scheme=scheme)
            shown.goto(page.as_uri() + link)
            shown.wait_for_selector("html[data-ready]", state="attached")
            if opened:
                shown.wait_for_selector("#panel[data-ready] .lost-here")
            shown.screenshot(path=IMAGES / name)
            shown.close()
        viewer_screenshots.take(browser, Path(folder) / "runs", IMAGES)
        browser.close()


def _page(folder: Path) -> Path:
    run = sys.argv[1] if len(sys.argv) > 1 else folder / "demo"
    if len(sys.argv) == 1:
        command = [sys.executable, "-m", "maseval", "demo", "--output", "demo"]
        subprocess.run(command, check=True, cwd=folder)
    return commands.report(run, folder / "report.html", title="maseval demo")


if __name__ == "__main__":
    main()
