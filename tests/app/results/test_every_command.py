"""One number of a run in every command: one that shows it is held to it, any other is listed."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from maseval.cli.app import AllCommands
from maseval.cli.command_line import CommandGroup, PlainCommand

pytest.importorskip("starlette")

from maseval.cli.app import app
from maseval.commands import export_site, tau2
from maseval.runs import RunFolder
from maseval.view.library import Library
from tests.app.results.test_one_number import (
    finish,
    in_certificate,
    in_comparison,
    in_frame_of_runs,
    in_report,
    in_trackers,
    provider_outage,
)
from tests.cli.commandline import maseval
from tests.damage import FORGERIES
from tests.view.test_export import read
from tests.waiting import wait_until

pytestmark = pytest.mark.needs(library="starlette")

OPTIONS = {"domain": "library", "agent": "noisy", "agent_args": {"error_rate": 0.3}, "trials": 2}


def asked(*arguments: Path | str) -> dict[str, Any] | list[dict[str, Any]]:
    """What a command prints as JSON."""
    result = maseval(*arguments, "--json")
    assert result.exit_code in (0, 1), result.stderr
    return json.loads(result.stdout)


def beside(run: Path, name: str) -> Path:
    return run.parent.parent / name


def copy_of(run: Path, name: str) -> Path:
    return Path(shutil.copytree(run, beside(run, name)))


def in_place(place: Callable[..., Any]) -> Callable[..., Any]:
    return lambda run: place(run)["pass_1"]


def in_resumed_run(run: Path) -> float:
    """The number that the same command prints again, which runs nothing more."""
    again = {**OPTIONS, "output": copy_of(run, "resumed"), "retry_failed": False}
    result = tau2.run(**again)
    assert result.ran == 0
    return result.summary.overall.pass_1["value"]


def in_viewer(run: Path) -> float:
    library = Library(run.parent)
    library.run(run.name).check_verdicts()
    wait_until(lambda: library.rows()[0]["pass_1"])
    (row,) = library.rows()
    page = library.run(run.name).results()["results"]["rows"][0]["measures"][0]["value"]
    site = export_site(beside(run, "site"), run.parent).folder
    (listed,) = read(site, "runs")["runs"]
    assert {page, listed["pass_1"]["value"]} == {row["pass_1"]["value"]}
    return page


def in_gate(run: Path) -> float:
    baseline = ("--baseline", copy_of(run, "baseline"))
    found = asked("gate", run, *baseline, "--allow-undecidable", "--allow-incomplete")["main"]
    assert found["first"] == found["second"]
    return found["first"]


def in_list(run: Path) -> float:
    (found,) = asked("runs", run)
    assert found["checked"]
    return (found["pass^1_recomputed"] or found["pass^1"])["value"]


def in_export(run: Path) -> float:
    maseval("export", run, "--format", "tau2-bench", "--output", beside(run, "theirs.json"))
    return asked("score", beside(run, "theirs.json"))["files"][0]["pass^1"]["value"]


def in_bundle(run: Path) -> float:
    maseval("bundle", run, "--output", beside(run, "packed.zip"))
    maseval("bundle", "--open", beside(run, "packed.zip"), "--output", beside(run, "unpacked"))
    return asked("show", beside(run, "unpacked"))["overall"]["pass^1"]["value"]


SHOWN = {
    "show": lambda run: asked("show", run)["overall"]["pass^1"]["value"],
    "runs": in_list,
    "view": in_viewer,
    "compare": in_place(in_comparison),
    "gate": in_gate,
    "plan": lambda run: asked("plan", run, "--difference", "10")["about"]["rate"],
    "report": in_place(in_report),
    "export": in_place(in_frame_of_runs),
    "bundle": in_bundle,
    "sync": in_place(in_trackers),
    "tau2 run": in_resumed_run,
    "score": lambda run: asked("score", run)["files"][0]["pass^1"]["value"],
    "comply": lambda run: asked("comply", run)["files"][0]["scores"][0]["pass^1"]["value"],
    "tau2 certify": in_place(in_certificate),
    "export --format": in_export,
}

SAME_CODE = {
    "run": "tau2 run, for any benchmark",
    "demo": "tau2 run and report",
    "tau2 branch": "tau2 run, from a message on",
    "tau2 play": "tau2 run, with a person",
    "macs run": "tau2 run, with other data",
    "macs rates": "rates of goals beside show",
    "macs score": "judges conversations, and records no run",
}
NO_NUMBER = {
    *("new", "tag", "replay-server", "reliability"),
    *("tau2 mcp", "explain", "tau2 audit", "tau2 errata", "tau2 verify"),
    *("tau2 tasks", "tau2 data", "macs data"),
    *("judge ask", "judge calibrate", "judge label"),
}


def commands_below(command: AllCommands | CommandGroup | PlainCommand, name: str = "") -> set[str]:
    if not hasattr(command, "list_commands"):
        return {name}
    inner = {key: command.get_command(None, key) for key in command.list_commands(None)}
    return {each for key in inner for each in commands_below(inner[key], f"{name} {key}".strip())}


def test_every_command_is_known_to_show_a_number_or_none():
    known = {name.partition(" --")[0] for name in SHOWN} | SAME_CODE.keys() | NO_NUMBER

    assert commands_below(typer.main.get_command(app)) == known


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tau2.run(**OPTIONS, output=tmp_path_factory.mktemp("every") / "whole").folder


def same_words(reports: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Trials by a model that says the same again, at another time and with another id."""
    first = {each["task_id"]: each for each in reports if not each["repeat_idx"]}
    for each in reports:
        traces = json.dumps(first[each["task_id"]]["traces"])
        if each["repeat_idx"]:
            traces = re.sub(r"(20\d\d)-(\d\d-\d\dT)", r"2031-\2", traces)
        said = json.loads(traces)
        said["environment"]["simulation"]["id"] += f"-{each['repeat_idx']}"
        yield {**each, "traces": said, "eval": first[each["task_id"]]["eval"]}


MADE = {
    "honest": lambda reports: reports,
    "deterministic model": same_words,
    "outage": provider_outage,
    "forged": lambda reports: reports,
    "excused": lambda reports: reports,
}


@pytest.mark.parametrize("name", MADE)
def test_every_command_shows_the_number_that_show_gives(whole, name, monkeypatch, tmp_path):
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "cache"))
    recorded, run = RunFolder.read(whole), tmp_path / "runs" / "case"
    with RunFolder.open(run, dict(recorded.config.values)) as folder:
        for each in MADE[name](list(recorded.reports())):
            folder.append(each)
    finish(run)
    if name in ("forged", "excused"):
        FORGERIES["passed" if name == "forged" else name].do(run)
    number = pytest.approx(SHOWN["show"](run), abs=5e-4)

    found = {command: shown(run) for command, shown in SHOWN.items()}

    assert found == dict.fromkeys(SHOWN, number)
