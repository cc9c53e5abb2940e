"""A site from disk: list, runs, simulations and comparison, without a server."""

import re
import shutil
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import expect

from maseval.commands import export_site, tau2
from tests.browser.hostile import ALIVE, PAYLOADS, hostile_reports
from tests.browser.runs import written_run
from tests.report.builders import simulated


@pytest.fixture(scope="module")
def site(compared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export_site(tmp_path_factory.mktemp("site") / "pages", compared).folder


def data_files(visited: Any) -> list[str]:
    """The names of the files that were read, without those that were read before."""
    found = [url.partition("/data/")[2] for url in visited.requests if "/data/" in url]
    visited.requests.clear()
    return [re.sub(r"-[0-9a-f]{8}/", "/", name) for name in found]


def test_the_list_leads_to_a_run_and_its_simulations(visit, site):
    visited = visit(site)
    page = visited.open("index.html")
    expect(page.locator("table.runs tbody tr")).to_have_count(2)
    expect(page.get_by_role("searchbox", name="Search all conversations")).to_have_count(0)
    assert data_files(visited) == ["runs.js"]
    page.get_by_placeholder("Name, model, tag or note ( / )").fill("hur")
    expect(page.locator("table.runs tbody tr")).to_have_count(1)

    page.get_by_role("link", name="hurried").click()
    page.wait_for_selector("html[data-ready]", state="attached")
    expect(page.get_by_role("heading", level=1)).to_have_text("hurried")
    assert data_files(visited) == ["runs.js", "hurried/index.js"]
    page.keyboard.press("n")
    panel = visited.wait_for_simulation()
    expect(panel.locator(".message").first).to_be_visible()
    expect(panel.locator("section.explanation")).to_be_visible()
    assert len(data_files(visited)) == 1

    panel.get_by_text("Step through the conversation").click()
    expect(panel.locator(".travel-bar output")).to_contain_text("Message")
    expect(panel.get_by_text("Branch from here")).to_have_count(0)
    panel.get_by_role("button", name="Message before").click()
    expect(page).to_have_url(re.compile(r"run\.html\?run=hurried#library/.*/m\d+$"))
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    visited.wait_for_simulation()


def test_the_conversations_of_a_run_are_searched(visit, site):
    visited = visit(site)
    page = visited.open("run.html?run=careful")
    page.fill("#search-text", "nobody says this")
    expect(page.locator("output.status")).to_have_text("0 of 24 simulations")
    page.fill("#search-text", "renew_loan")
    expect(page.locator("output.status")).to_contain_text(re.compile(r"^([1-9]|1\d) of 24"))


def test_two_runs_are_compared_message_by_message(visit, site):
    visited = visit(site)
    page = visited.open("index.html")
    for name in ("careful", "hurried"):
        page.get_by_role("checkbox", name=f"Compare {name}").check()
    page.get_by_role("link", name="Compare careful with hurried").click()
    page.wait_for_selector("html[data-ready]", state="attached")
    page.locator("table.compared tbody th a").first.click()
    panel = visited.wait_for_simulation()
    expect(panel.locator(".message").first).to_be_visible()
    panel.get_by_role("link", name="Open in its run").first.click()
    visited.wait_for_simulation()
    expect(page).to_have_url(re.compile(r"run\.html\?run=careful#"))


def test_what_is_missing_is_said(visit, site, tmp_path):
    broken = tmp_path / "broken"
    shutil.copytree(site, broken)
    for each in (broken / "data").glob("hurried-*/index.js"):
        each.write_text('maseval("x","y")')
    visited = visit(broken)
    page = visited.open("run.html?run=nobody")
    expect(page.get_by_role("alert")).to_contain_text("no run called nobody")
    page = visited.open("run.html?run=hurried")
    expect(page.get_by_role("alert")).to_contain_text("damaged")


def test_a_web_host_serves_it_below_any_path(visit, site):
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *words):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site.parent)) as host:
        Thread(target=host.serve_forever, daemon=True).start()
        visited = visit(f"http://127.0.0.1:{host.server_port}")
        page = visited.open("/pages/")
        page.get_by_role("link", name="careful").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("careful")
        page.get_by_role("link", name="All runs").click()
        expect(page.locator("table.runs tbody tr")).to_have_count(2)
        host.shutdown()


def test_hostile_text_stays_text(visit, tmp_path):
    reports = [each for text in PAYLOADS.values() for each in hostile_reports(text)[:1]]
    written_run(tmp_path / "runs" / "one", reports)
    visited = visit(export_site(tmp_path / "site", tmp_path / "runs").folder)
    page = visited.open("run.html?run=one")
    for _ in PAYLOADS:
        page.keyboard.press("j")
        visited.wait_for_simulation()
    assert page.evaluate("window.__pwned") is None and page.evaluate(ALIVE) == []
    expect(page.locator("script")).to_have_count(1)


def test_all_comparable_runs_of_a_site_are_compared_as_the_server_compares_them(
    visit, serve, compared, tmp_path
):
    root = tmp_path / "runs"
    shutil.copytree(compared, root)
    tau2.run(domain="library", agent="gold", trials=2, output=root / "sure")
    written_run(root / "strange", [simulated("0", 0, reward=1.0)])
    site = export_site(tmp_path / "site", root).folder
    query = "&".join(f"run={name}" for name in ("careful", "hurried", "sure"))

    def read(page):
        page.locator(".looked-into table.reasons").wait_for()
        parts = (".headline", "table.results", "table.sure", "table.compared", "table.reasons")
        return {part: page.locator(part).first.inner_text() for part in parts}

    live = read(visit(serve(root).url).open(f"/compare?{query}"))
    page = visit(site).open(f"compare.html?{query}")

    assert read(page) == live
    page = visit(site).open(f"compare.html?{query}&run=strange")
    expect(page.get_by_text("or together: careful, hurried, sure")).to_be_visible()
