"""``maseval runs`` and ``tag``."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.table import Table

from maseval import commands
from maseval.app.results.recording import origin_in_words
from maseval.cli.command_line import with_examples
from maseval.cli.console import (
    FirstFitting,
    age,
    here,
    inert,
    print_json,
    print_parts,
    shorten_line,
    stdout,
    styled,
)
from maseval.cli.options import AsJson, argument, option, runs_argument
from maseval.core.figures import between, in_percent, money, percent
from maseval.core.recorded import mapping
from maseval.runs import RunState, default_root
from maseval.runs.config import mark_of

_REMARKS = ("tags", "note")
_NOTE_LENGTH = 40
_COLOURS = {"complete": "green", "running": "cyan", "incomplete": "yellow", "damaged": "red"}


@with_examples(
    ("maseval runs", "the runs below ./runs, the latest first"),
    ("maseval runs /data/runs", "those of another folder"),
    ("maseval runs --tag baseline", "those with a tag"),
    ("maseval runs --json", "for scripts"),
)
def runs(
    root: Path | None = argument(None, "The folder of runs, or one run.", show_default="./runs"),
    tag: list[str] | None = option(None, "Only runs with this tag (repeatable).", "--tag"),
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
    print_parts([FirstFitting(_table(found))], console)
    for state in found:
        if state.unconfirmed:
            words = inert(f"{here(state.path)}: {state.unconfirmed}")
            console.print(f"[red]*[/red] {words}", soft_wrap=True)
    unchecked = next((each for each in found if each.pass_1 and not each.checked), None)
    if unchecked is not None:
        way = f"`maseval show {shlex.quote(here(unchecked.path))}` recomputes them"
        console.print(f"as recorded: verdicts that were not checked; {inert(way)}", soft_wrap=True)


def _table(found: Sequence[RunState]) -> Table:
    table = Table()
    # Remarks are shown where there are any.
    rows = [_row(state) for state in found]
    shown = [name for name in rows[0] if name not in _REMARKS or any(row[name] for row in rows)]
    for name in shown:
        right = name in ("done", "pass^1", "cost", "changed")
        table.add_column(name, justify="right" if right else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(row[name] for name in shown))
    return table


def _row(state: RunState) -> dict[str, str]:
    config, noted = state.config or {}, state.annotations
    failed = f" [red]({state.failed} unfinished)[/red]" if state.failed else ""
    origin = origin_in_words(config)
    first_line = (noted.note or "").strip().partition("\n")[0]
    return {
        "run": inert(here(state.path)),
        "state": styled(_state(state), _COLOURS[state.state]),
        "done": f"{state.done}/{state.planned}{failed}",
        "pass^1": _score(state),
        "domains": inert(
            "+".join(filter(None, mapping(config, "tasks"))) or str(config.get("benchmark", ""))
        ),
        "agent": inert(_participant(config.get("agent")))
        + (f" [dim]from {inert(origin)}[/dim]" if origin else ""),
        "user": inert(_participant(config.get("user"))),
        "cost": money(state.cost) if state.cost or state.tokens else "",
        "changed": age(state.updated),
        "tags": inert(", ".join(noted.tags)),
        "note": inert(shorten_line(first_line, _NOTE_LENGTH)),
    }


def _state(state: RunState) -> str:
    if state.holder is not None:
        return f"running (process {state.holder.pid})"
    return f"{state.state}: {state.problem}" if state.problem else state.state


def _score(state: RunState) -> str:
    if state.pass_1 is None:
        return ""
    score = state.recomputed or state.pass_1
    shown = f"{percent(score['value'])} [dim]{between(score['low'], score['high'])}[/dim]"
    if state.recomputed:
        shown += f", [red]recorded {percent(state.pass_1['value'])}[/red]"
    if not state.checked:
        shown += " [yellow]as recorded[/yellow]"
    if mark := mark_of(state.config or {}):
        shown += f", {mark}"
    if "worst" not in score or "best" not in score:
        return shown
    verdicts = f"of {score.get('verdicts')}/{score.get('planned')} verdicts"
    return f"{shown} {verdicts}, {in_percent(score['worst'])} to {percent(score['best'])}"


def _participant(given: object) -> str:
    """Name an agent or a user: its function, its model, or the script that plays it."""
    if not isinstance(given, Mapping):
        return str(given or "")
    kinds = ("function", "model", "model_id", "player")
    names = [given.get(kind) for kind in kinds]
    if player := given.get("rehearse"):
        names.append(f"rehearsed with {player}")
    return ", ".join(str(name) for name in names if name)


_SAME = "state done failed planned started updated cost tokens problem unconfirmed checked config"


def _record(state: RunState) -> dict[str, object]:
    return {
        "path": str(state.path),
        **{name: getattr(state, name) for name in _SAME.split()},
        "pass^1": state.pass_1,
        "pass^1_recomputed": state.recomputed,
        "estimate": mark_of(state.config or {}),
        "tags": list(state.annotations.tags),
        "note": state.annotations.note,
    }


@with_examples(
    ("maseval tag last --add baseline", "a word to find the run by"),
    ("maseval tag runs/a runs/b --add paper --remove draft", "several runs, several tags"),
    ("maseval tag theirs.json --note 'from their paper, table 3'", "what to remember about it"),
    ("maseval tag last --note - < findings.txt", "a note from a file or a pipe"),
    ("maseval tag last", "print its tags and its note"),
    ("maseval runs --tag baseline", "the runs with a tag"),
)
def tag(
    runs: list[str] = runs_argument("Runs: folder, name or last; or results files of tau2-bench."),
    add: list[str] | None = option(None, "Add this tag (repeatable)."),
    remove: list[str] | None = option(None, "Remove this tag (repeatable)."),
    note: str | None = option(
        None, "The new note; - reads it from standard input, and '' removes it."
    ),
    as_json: AsJson = False,
) -> None:
    """Show or change the tags and the note of runs, which never change the results."""
    text = sys.stdin.read() if note == "-" else note
    found = commands.tag(runs, add or (), remove or (), note=text)
    if as_json:
        print_json(
            {str(path): {"tags": [*each.tags], "note": each.note} for path, each in found.items()}
        )
        return
    for path, each in found.items():
        tags = ", ".join(each.tags) or "no tags"
        line = f"{inert(here(path))}: {inert(tags)}"
        stdout().print(line, soft_wrap=True)
        if each.note is not None:
            stdout().print(inert(each.note), soft_wrap=True)
