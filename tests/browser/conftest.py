"""A real headless Chromium, for the tests that `make test-browser` runs."""

import os
import shutil

import pytest

# The driver lives in an environment of its own, so the plain test run does not look in here.
collect_ignore_glob = [] if os.environ.get("MASEVAL_BROWSER_TESTS") else ["test_*.py"]

CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
QUIET = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)

# Milliseconds: a guard against hanging. A busy machine may take long to read a browser from disk.
PATIENCE = 150_000


def chromium():
    named = os.environ.get("MASEVAL_CHROMIUM")
    found = named or next(filter(None, map(shutil.which, CHROMIUMS)), None)
    if found is None:
        pytest.fail(
            "no Chromium found; install one (Debian: apt-get install chromium) "
            "or name it with MASEVAL_CHROMIUM=/path/to/chromium",
            pytrace=False,
        )
    return found


@pytest.fixture(scope="session")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium(), args=list(QUIET))
        yield running
        running.close()


class Visit:
    """A page with a report in it, and everything else the page did."""

    def __init__(self, page, path):
        self.page, self.url = page, path.as_uri()
        self.noise, self.requests = [], []
        page.on("console", lambda message: self.noise.append(message.text))
        page.on("pageerror", lambda error: self.noise.append(str(error)))
        page.on("dialog", self._on_dialog)
        page.on("request", lambda request: self.requests.append(request.url))

    def _on_dialog(self, dialog):
        self.noise.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def open(self, link=""):
        self.page.goto(self.url + link)
        self.page.wait_for_selector("html[data-ready]", state="attached")
        return self.page

    def wait_for_simulation(self):
        self.page.wait_for_selector("#panel[data-ready]")
        return self.page.locator("#panel")


@pytest.fixture
def visit(browser):
    """Opens a report file in a fresh context; what it did must be nothing but show itself."""
    visits, contexts = [], []

    def start(path, **options):
        context = browser.new_context(viewport={"width": 1300, "height": 850}, **options)
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        visits.append(Visit(context.new_page(), path))
        return visits[-1]

    yield start
    for each in visits:
        assert each.noise == []
        assert {url.partition("#")[0] for url in each.requests} <= {each.url}
    for context in contexts:
        context.close()
