"""Pictures of the viewer over real runs: part of ``make pictures``."""

import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Page

from maseval import commands
from maseval.commands import tau2
from maseval.commands.tau2 import AgentBrief
from maseval.runs import list_runs

PATIENCE = 150_000
SYSTEMS = Path(__file__).parents[1] / "examples" / "systems"
EXAMPLE = Path(__file__).parents[1] / "examples" / "which_architecture"
WIDE = {"width": 1280, "height": 820}
TURNS = (
    "Hello! May I have the number of your library card, please?",
    "Thank you. One moment, I am looking at your loans.",
    "Two of them can be renewed; somebody is waiting for the third. Shall I renew the two?",
)


def patient(brief: AgentBrief) -> Callable[[str], str]:
    """An agent that takes its time, so that there is a running run to look at."""
    turns = iter(TURNS)

    def agent(query: str) -> str:
        time.sleep(3)
        return next(turns, "You are welcome. Good bye!")

    return agent


def take(browser: Browser, folder: Path, images: Path) -> None:
    """All runs, a running one, a simulation with its databases, and two runs compared."""
    _runs(folder)
    running = threading.Thread(target=_run_slowly, args=(folder / "slow",), daemon=True)
    running.start()
    while running.is_alive() and not (folder / "slow" / "live.json").exists():
        time.sleep(0.1)
    with commands.view(folder, port=0).server as server:
        address = server.address("")
        for name, scheme, path, prepare in (
            ("view-live.png", "light", "/run/slow", _in_flight),
            ("view-runs.png", "light", "/", _choose_two),
            ("view-simulation.png", "dark", "/run/hurried#library/expired_card/0", _travel),
            ("view-team.png", "light", "/run/team#retail/1/0", _among_agents),
            ("view-compare.png", "light", "/compare?run=careful&run=hurried", _first_pair),
        ):
            page = browser.new_page(viewport=WIDE, color_scheme=scheme)
            page.set_default_timeout(PATIENCE)
            page.goto(address + path)
            page.wait_for_selector("html[data-ready]", state="attached")
            prepare(page)
            page.screenshot(path=images / name)
            page.close()
    running.join()
    _take_grid(browser, folder / "grid", images / "which-architecture.png")


def _take_grid(browser: Browser, folder: Path, image: Path) -> None:
    """Four systems by two scripted models on the tasks of retail, as docs/which-architecture.md."""
    given = (EXAMPLE / "grid.toml").read_text(encoding="utf-8")
    file = folder.parent / "grid.toml"
    file.write_text(given.replace('"library"', '"retail"'), encoding="utf-8")
    shutil.copy(EXAMPLE / "systems.py", file.parent)
    command = [sys.executable, "-m", "maseval.cli", "run", file, "--output", folder]
    subprocess.run(command, check=False, cwd=file.parent)  # 1: systems that are broken on purpose
    cells = [each.path.name for each in reversed(list_runs(folder))]
    with commands.view(folder, port=0).server as server:
        page = browser.new_page(viewport={"width": 1180, "height": 1000})
        page.set_default_timeout(PATIENCE)
        page.goto(server.address("") + "/compare?" + "&".join(f"run={name}" for name in cells))
        page.wait_for_selector("table.grid-cells")
        page.screenshot(path=image)
        page.close()


def _runs(folder: Path) -> None:
    for name, error_rate in (("careful", 0.05), ("hurried", 0.3), ("tired", 0.2)):
        tau2.run(
            domain="library",
            agent="noisy",
            agent_args={"error_rate": error_rate},
            trials=4,
            output=folder / name,
        )
    tau2.run(domain="library", agent="gold", output=folder / "gold")
    team = f"{SYSTEMS / 'team.py'}:agent"
    tau2.run(domain="retail", num_tasks=2, agent=team, rehearse="gold", output=folder / "team")
    commands.tag([folder / "careful"], add=["baseline"])
    commands.tag([folder / "gold"], add=["upper bound"])
    commands.tag([folder / "hurried"], note="forgets to write; see renew_own_not_husbands")


def _run_slowly(folder: Path) -> None:
    tau2.run(
        domain="library",
        agent=f"{__file__}:patient",
        user="scripted",
        trials=2,
        concurrency=4,
        max_steps=20,
        output=folder,
    )


def _in_flight(page: Page) -> None:
    page.wait_for_selector("table.tasks .cell")
    page.wait_for_selector(".flights .last")


def _choose_two(page: Page) -> None:
    page.get_by_label("Compare careful").check()
    page.get_by_label("Compare hurried").check()
    # The name of a temporary folder says nothing.
    page.locator("header .totals").evaluate("(root) => (root.textContent = 'runs')")


def _travel(page: Page) -> None:
    page.wait_for_selector("#panel[data-ready]")
    page.get_by_text("Step through the conversation").click()
    page.get_by_label("Message", exact=True).press("End")


def _among_agents(page: Page) -> None:
    page.wait_for_selector("#panel[data-ready]")
    page.locator(".among").first.evaluate("(among) => among.scrollIntoView({ block: 'center' })")


def _first_pair(page: Page) -> None:
    page.locator("table.compared tbody th a").first.click()
    page.wait_for_selector("#panel[data-ready]")
    page.get_by_role("link", name="First difference").click()
