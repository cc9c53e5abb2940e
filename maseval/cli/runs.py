"""``maseval runs``."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from maseval import commands
from maseval.cli.console import here, inert, money, print_json, stdout
from maseval.cli.options import AsJson, examples
from maseval.commands.prices import unpriced_models
from maseval.runs import RunState, default_root

EXAMPLES = examples(
    ("maseval runs", "the runs below ./runs, the latest first"),
    ("maseval runs /data/runs", "those of another folder"),
    ("maseval runs --json", "for scripts"),
)
_COLOURS = {"complete": "green", "running": "cyan", "incomplete": "yellow", "damaged": "red"}


def runs(
    root: Annotated[
        Path | None, typer.Argument(help="The folder of runs.", show_default="./runs")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List runs and how far each has come."""
    found = commands.runs(root)
    if as_json:
        print_json([_record(state) for state in found])
        return
    if not found:
        folder = root or default_root()
        stdout().print(f"No runs in {inert(str(folder))}; `maseval demo` makes one.")
        return
    table = Table()
    for name in ("run", "state", "done", "failed", "cost", "changed", "agent"):
        table.add_column(name, justify="right" if name in ("done", "failed", "cost") else "left")
    for state in found:
        colour = _COLOURS[state.state]
        table.add_row(
            inert(here(state.path)),
            f"[{colour}]{inert(_state(state))}[/{colour}]",
            f"{state.done}/{state.planned}",
            str(state.failed or ""),
            _cost(state),
            state.updated[:16].replace("T", " "),
            inert(_agent(state)),
        )
    stdout().print(table)


def _state(state: RunState) -> str:
    if state.holder is not None:
        return f"running (process {state.holder.pid})"
    return f"{state.state}: {state.problem}" if state.problem else state.state


def _cost(state: RunState) -> str:
    if not state.cost and not state.tokens:
        return ""
    free = unpriced_models(state.config or {}) == []
    return money(state.cost or 0.0) if state.cost or free else "not known"


def _agent(state: RunState) -> str:
    agent = (state.config or {}).get("agent")
    if not isinstance(agent, dict):
        return ""
    names = [agent.get("function"), agent.get("model"), agent.get("player")]
    if player := agent.get("rehearse"):
        names.append(f"rehearsed with {player}")
    return ", ".join(str(name) for name in names if name)


def _record(state: RunState) -> dict[str, object]:
    return {
        "path": str(state.path),
        "state": state.state,
        "done": state.done,
        "failed": state.failed,
        "planned": state.planned,
        "started": state.started,
        "updated": state.updated,
        "cost": state.cost,
        "tokens": state.tokens,
        "problem": state.problem,
        "config": state.config,
    }
