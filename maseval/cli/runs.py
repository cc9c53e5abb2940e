"""``maseval runs``, ``tag`` and ``note``."""

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.table import Table

from maseval import commands
from maseval.app.results.recording import origin_in_words
from maseval.cli.command_line import with_examples
from maseval.cli.console import (
    age,
    here,
    indent,
    inert,
    natural_width,
    print_json,
    shorten_line,
    stderr,
    stdout,
)
from maseval.cli.options import AsJson, RunOrResultsFile, argument, flag, option, runs_argument
from maseval.core.exceptions import ConfigurationError
from maseval.core.figures import between, in_percent, money, percent
from maseval.core.recorded import mapping
from maseval.runs import RunState, change_note, default_root
from maseval.runs.annotations import AnnotationError
from maseval.runs.config import mark_of

_FACTS = ("state", "done", "pass^1", "domains", "agent", "user", "cost", "changed")
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
    table = _table(found)
    if natural_width(table) <= console.width:
        console.print(table)
    else:
        _print_below_each_other(found, console)
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
    """Print for a narrow console: every name whole in a line of its own, to be copied."""
    for state in found:
        console.print(f"[bold]{inert(here(state.path))}[/bold]", soft_wrap=True)
        every = {**_facts(state), **_remarks(state)}
        facts = (f"{name} {fact}" for name, fact in every.items() if fact)
        console.print(indent(", ".join(facts), 2))


def _facts(state: RunState) -> dict[str, str]:
    colour, config = _COLOURS[state.state], state.config or {}
    failed = f" [red]({state.failed} unfinished)[/red]" if state.failed else ""
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
    tags, note = ", ".join(noted.tags), shorten_line(first_line, _NOTE_LENGTH)
    return dict(zip(_REMARKS, (inert(tags), inert(note)), strict=True))


def _state(state: RunState) -> str:
    if state.holder is not None:
        return f"running (process {state.holder.pid})"
    return f"{state.state}: {state.problem}" if state.problem else state.state


def _cost(state: RunState) -> str:
    if not state.cost and not state.tokens:
        return ""
    return money(state.cost)


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
        "estimate": mark_of(state.config or {}),
        "cost": state.cost,
        "tokens": state.tokens,
        "problem": state.problem,
        "unconfirmed": state.unconfirmed,
        "pass^1_recomputed": state.recomputed,
        "checked": state.checked,
        "tags": list(state.annotations.tags),
        "note": state.annotations.note,
        "config": state.config,
    }


@with_examples(
    ("maseval tag last --add baseline", "a word to find the run by"),
    ("maseval tag runs/a runs/b --add paper --remove draft", "several runs, several tags"),
    ("maseval tag theirs.json --add published", "a results file of tau2-bench"),
    ("maseval tag last", "print its tags"),
    ("maseval runs --tag baseline", "the runs with a tag"),
)
def tag(
    runs: list[str] = runs_argument("Runs: folder, name or last; or results files of tau2-bench."),
    add: list[str] | None = option(None, "Add this tag (repeatable)."),
    remove: list[str] | None = option(None, "Remove this tag (repeatable)."),
    as_json: AsJson = False,
) -> None:
    """Show or change the tags of runs; they are kept beside the results and never change them."""
    found = commands.tag(runs, add or (), remove or ())
    if as_json:
        print_json({str(path): list(each.tags) for path, each in found.items()})
        return
    for path, each in found.items():
        tags = ", ".join(each.tags) or "no tags"
        line = f"{inert(here(path))}: {inert(tags)}"
        stdout().print(line, soft_wrap=True)


if TYPE_CHECKING:  # help must not load what makes these
    from maseval.app.results.runs import RunNote


@with_examples(
    ("maseval note last 'temperature 0; the retry bug is fixed'", "what to remember about a run"),
    ("maseval note last", "print its note"),
    ("maseval note last --edit", "write it in your editor ($EDITOR)"),
    ("maseval note last - < findings.txt", "from a file or a pipe"),
    ("maseval note last --clear", "remove it"),
)
def note(
    run: RunOrResultsFile,
    text: str | None = argument(None, "The new note; - reads it from standard input."),
    clear: bool = flag("Remove the note.", "--clear"),
    edit: bool = flag("Open the note in your editor.", "--edit"),
    as_json: AsJson = False,
) -> None:
    """Show or change the note of a run; it is kept beside the results and never changes them."""
    if sum((text is not None, clear, edit)) > 1:
        raise typer.BadParameter("give one of TEXT, --clear and --edit")
    if edit:
        found = _edit_note(run)
    else:
        found = commands.note(run, sys.stdin.read() if text == "-" else text, clear=clear)
    if as_json:
        print_json({"path": str(found.path), "note": found.text})
    elif found.text is None:
        stdout().print(f"{inert(here(found.path))} has no note", soft_wrap=True)
    else:
        stdout().print(inert(found.text), soft_wrap=True)


def _edit_note(run: str) -> "RunNote":
    before = commands.note(run)
    written = _written_in_editor(before.text or "")
    try:
        after = change_note(before.path, written, was=before.text, check=True)
    except AnnotationError:
        stderr().print("What you wrote:", style="bold")
        stderr().print(inert(written), soft_wrap=True)
        raise
    return before._replace(text=after.note)


def _written_in_editor(text: str) -> str:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "note.txt")
        file.write_text(text, encoding="utf-8")
        try:
            subprocess.run([*shlex.split(editor), str(file)], check=True)
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            raise ConfigurationError(
                f"the editor {editor!r} failed ({error}); set EDITOR to one that works"
            ) from error
        return file.read_text(encoding="utf-8", errors="replace")
