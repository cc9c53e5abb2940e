"""A real headless Chromium, for the tests that `make test-browser` runs."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.waiting import PATIENCE

# The driver lives in an environment of its own, so the plain test run does not look in here.
collect_ignore_glob = [] if os.environ.get("MASEVAL_BROWSER_TESTS") else ["test_*.py"]

CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
QUIET = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)

# How many times slower than this machine the pages are to run: MASEVAL_BROWSER_SLOWDOWN=6 finds
# tests that read a page before it has answered.
SLOWDOWN = float(os.environ.get("MASEVAL_BROWSER_SLOWDOWN") or 1)


def slowed(page: Any) -> Any:
    if SLOWDOWN > 1:
        session = page.context.new_cdp_session(page)
        session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWDOWN})
    return page


def chromium() -> str:
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
def browser() -> Iterator[Any]:
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=1000 * PATIENCE)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium(), args=list(QUIET))
        yield running
        running.close()


class Visit:
    """A page of a report or of the viewer, and everything else the page did."""

    def __init__(self, page: Any, url: str) -> None:
        self.page, self.url = page, url
        self.noise, self.requests = [], []
        page.on("console", lambda message: self.noise.append(message.text))
        page.on("pageerror", lambda error: self.noise.append(str(error)))
        page.on("dialog", self._on_dialog)
        page.on("request", lambda request: self.requests.append(request.url))

    def _on_dialog(self, dialog: Any) -> None:
        self.noise.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def open(self, link: str = "") -> Any:
        self.page.goto(self.url + link)
        self.page.wait_for_selector("html[data-ready]", state="attached")
        return self.page

    def wait_for_simulation(self, name: str | None = None) -> Any:
        """The panel, once it shows the simulation.

        It must be named where another one was open before.
        """
        from playwright.sync_api import expect

        panel = self.page.locator("#panel")
        expect(panel).to_have_attribute("data-ready", name or re.compile("."))
        return panel


def is_from(url: str, place: str) -> bool:
    """Whether a server sent it, or it lies in a folder; a file sends nothing."""
    return (place.startswith("http:") or place.endswith("/")) and url.startswith(place)


@pytest.fixture
def serve() -> Iterator[Callable[..., Any]]:
    """Serves a folder as `maseval view` does; gives the server, whose ``url`` is to be opened.

    A server that was closed can be started again at its ``url``.
    """
    from maseval.commands import view

    servers = []

    def start(folder, again=None, **options):
        port = int(again.url.rpartition(":")[2]) if again else 0
        server = view(folder, port=port, **options).server.start()
        server.url = server.address("").rstrip("/")
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.close()


@pytest.fixture(scope="session")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of two runs, `careful` and `hurried`."""
    from tests.browser.runs import compared_runs

    return compared_runs(tmp_path_factory.mktemp("compared"))


# Everything that axe-core knows, also what it calls experimental.
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice", "experimental"]
WIDTHS = (390, 820, 1300)


@pytest.fixture
def flaws() -> Callable[..., Any]:
    """What axe-core finds wrong with a page as it is."""
    from axe_playwright_python.sync_playwright import Axe

    def found(page):
        response = Axe().run(page, options={"runOnly": RULES}).response
        assert response["passes"]  # it did look
        return [
            (each["id"], [node["target"] for node in each["nodes"]][:5])
            for each in response["violations"]
        ]

    return found


@pytest.fixture
def flaws_everywhere(flaws: Callable[..., Any]) -> Callable[..., Any]:
    """What axe-core finds wrong with a page in any width, light or dark."""

    def found(page):
        seen = {}
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 850})
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                for name, places in flaws(page):
                    seen.setdefault(name, (width, scheme, places))
        return seen

    return found


@pytest.fixture
def fresh_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Gives an empty page, of which nothing is expected."""
    contexts = []

    def start():
        contexts.append(browser.new_context())
        contexts[-1].set_default_timeout(1000 * PATIENCE)
        return slowed(contexts[-1].new_page())

    yield start
    for context in contexts:
        context.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens a report file, a site's folder, or a viewer's address, in a fresh context.

    What it did must be nothing but show itself: no load from elsewhere, not a word on the console.
    """
    visits, contexts = [], []

    def start(place, **options):
        url = place if isinstance(place, str) else place.as_uri() + "/" * place.is_dir()
        context = browser.new_context(**{"viewport": {"width": 1300, "height": 850}, **options})
        context.set_default_timeout(1000 * PATIENCE)
        contexts.append(context)
        visits.append(Visit(slowed(context.new_page()), url))
        return visits[-1]

    yield start
    for each in visits:
        assert each.noise == []
        loaded = {re.split("[?#]", url)[0] for url in each.requests}
        assert all(url == each.url or is_from(url, each.url) for url in loaded)
    for context in contexts:
        context.close()
