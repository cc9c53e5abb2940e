"""``maseval note``."""

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from maseval import commands
from maseval.cli.console import here, inert, print_json, stderr, stdout
from maseval.cli.options import AsJson, Looked, examples
from maseval.core.exceptions import ConfigurationError
from maseval.runs import change_note
from maseval.runs.annotations import AnnotationError

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.app.results.runs import RunNote

EXAMPLES = examples(
    ("maseval note last 'temperature 0; the retry bug is fixed'", "what to remember of a run"),
    ("maseval note last", "the note it has"),
    ("maseval note last --edit", "write it in your editor ($EDITOR)"),
    ("maseval note last - < findings.txt", "from a file or a pipe"),
    ("maseval note last --clear", "remove it"),
)


def note(
    run: Looked,
    text: Annotated[
        str | None, typer.Argument(help="The new note; - reads it from standard input.")
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Remove the note.")] = False,
    edit: Annotated[bool, typer.Option("--edit", help="Open the note in your editor.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show or change the note of a run; it is kept beside the results and never changes them."""
    if sum((text is not None, clear, edit)) > 1:
        raise typer.BadParameter("give one of TEXT, --clear and --edit")
    if edit:
        found = _edited(run)
    else:
        found = commands.note(run, sys.stdin.read() if text == "-" else text, clear=clear)
    if as_json:
        print_json({"path": str(found.path), "note": found.text})
    elif found.text is None:
        stdout().print(f"{inert(here(found.path))} has no note", highlight=False, soft_wrap=True)
    else:
        stdout().print(inert(found.text), highlight=False, soft_wrap=True)


def _edited(run: str) -> "RunNote":
    before = commands.note(run)
    written = _written_in_editor(before.text or "")
    try:
        after = change_note(before.path, written, was=before.text, check=True)
    except AnnotationError:
        stderr().print("What you wrote:", style="bold")
        stderr().print(inert(written), highlight=False, soft_wrap=True)
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
