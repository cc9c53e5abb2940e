"""``maseval runs``."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from maseval import commands
from maseval.app.results.recording import origin_in_words
from maseval.app.running.prices import unpriced_models
from maseval.cli.console import (
    age,
    here,
    indented,
    inert,
    money,
    natural_width,
    print_json,
    shortened,
    stdout,
)
from maseval.cli.options import AsJson, examples
from maseval.core.shapes import mapping
from maseval.runs import RunState, default_root

EXAMPLES = examples(
    ("maseval runs", "the runs below ./runs, the latest first"),
    ("maseval runs /data/runs", "those of another folder"),
    ("maseval runs --tag baseline", "those with a tag"),
    ("maseval runs --json", "for scripts"),
)
_FACTS = ("state", "done", "pass^1", "domains", "agent", "user", "cost", "changed")
_REMARKS = ("tags", "note")
_NOTE_LENGTH = 40
_COLOURS = {"complete": "green", "running": "cyan", "incomplete": "yellow", "damaged": "red"}


def runs(
    root: Annotated[
        Path | None, typer.Argument(help="The folder of runs.", show_default="./runs")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", help="Only runs with this tag (repeatable).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List runs: how far each has come, its score, who took part, and what it cost."""
    found = commands.runs(root, tags=tag or ())
    if as_json:
        print_json([_record(state) for state in found])
        return
    if not found:
        folder = inert(str(root or default_root()))
        way = "`maseval tag` gives tags" if tag else "`maseval demo` makes one"
        with_tag = f" with tag {inert(', '.join(tag))}" if tag else ""
        stdout().print(f"No runs{with_tag} in {folder}; {way}.")
        return
    console = stdout()
    table = _table(found)
    if natural_width(table) <= console.width:
        console.print(table)
    else:
        _print_below_each_other(found, console)


def _table(found: Sequence[RunState]) -> Table:
    table = Table()
    # Remarks are shown where there are any.
    remarks = [name for name in _REMARKS if any(_remarks(state)[name] for state in found)]
    for name in ("run", *_FACTS, *remarks):
        right = name in ("done", "pass^1", "cost", "changed")
        table.add_column(name, justify="right" if right else "left", no_wrap=True)
    for state in found:
        noted = _remarks(state)
        table.add_row(
            inert(here(state.path)), *_facts(state).values(), *(noted[name] for name in remarks)
        )
    return table


def _print_below_each_other(found: Sequence[RunState], console: Console) -> None:
    """On a narrow console: every name whole in a line of its own, to be copied."""
    for state in found:
        console.print(f"[bold]{inert(here(state.path))}[/bold]", soft_wrap=True, highlight=False)
        every = {**_facts(state), **_remarks(state)}
        facts = (f"{name} {fact}" for name, fact in every.items() if fact)
        console.print(indented(", ".join(facts), 2), highlight=False)


def _facts(state: RunState) -> dict[str, str]:
    colour, config = _COLOURS[state.state], state.config or {}
    failed = f" [red]({state.failed} failed)[/red]" if state.failed else ""
    facts = (
        f"[{colour}]{inert(_state(state))}[/{colour}]",
        f"{state.done}/{state.planned}{failed}",
        _score(state),
        inert("+".join(filter(None, mapping(config, "tasks"))) or str(config.get("benchmark", ""))),
        inert(_participant(config.get("agent"))),
        inert(_participant(config.get("user"))),
        _cost(state),
        age(state.updated),
    )
    shown = dict(zip(_FACTS, facts, strict=True))
    if origin := origin_in_words(config):
        shown["agent"] += f" [dim]from {inert(origin)}[/dim]"
    return shown


def _remarks(state: RunState) -> dict[str, str]:
    noted = state.annotations
    first_line = (noted.note or "").strip().partition("\n")[0]
    tags, note = ", ".join(noted.tags), shortened(first_line, _NOTE_LENGTH)
    return dict(zip(_REMARKS, (inert(tags), inert(note)), strict=True))


def _state(state: RunState) -> str:
    if state.holder is not None:
        return f"running (process {state.holder.pid})"
    return f"{state.state}: {state.problem}" if state.problem else state.state


def _cost(state: RunState) -> str:
    if not state.cost and not state.tokens:
        return ""
    free = unpriced_models(state.config or {}) == []
    return money(state.cost or 0.0) if state.cost or free else "not known"


def _score(state: RunState) -> str:
    if state.pass_1 is None:
        return ""
    value, low, high = (100 * state.pass_1[key] for key in ("value", "low", "high"))
    return f"{value:.1f}% [dim]\\[{low:.1f}, {high:.1f}][/dim]"


def _participant(given: object) -> str:
    """An agent or a user: its function, its model, or what plays it."""
    if not isinstance(given, Mapping):
        return str(given or "")
    kinds = ("function", "model", "model_id", "player")
    names = [given.get(kind) for kind in kinds]
    if player := given.get("rehearse"):
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
        "pass^1": state.pass_1,
        "cost": state.cost,
        "tokens": state.tokens,
        "problem": state.problem,
        "tags": list(state.annotations.tags),
        "note": state.annotations.note,
        "config": state.config,
    }
