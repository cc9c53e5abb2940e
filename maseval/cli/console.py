"""The two streams that commands print on, and formats of texts, numbers and times."""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import IO, TYPE_CHECKING, Any, NoReturn

import typer
from rich.console import Console, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from maseval.core.engine.process_settings import end_signals
from maseval.core.words import duration as duration
from maseval.core.words import score_parts, visible
from maseval.core.words import shorten_line as shorten_line

_WIDTH_OF_FILES = 120


def stdout() -> Console:
    """Return the console for results; in a pipe or file as wide as tables need."""
    return _console(sys.stdout.isatty())


def stderr() -> Console:
    """Return the console for progress and problems."""
    return _console(sys.stderr.isatty(), stderr=True)


def _console(is_terminal: bool, *, stderr: bool = False) -> Console:
    # Made anew each time, because tests and pipes exchange the streams. Where nobody says how
    # wide the output may be, tables are not squeezed into the 80 columns that rich assumes.
    console = _PipedConsole(stderr=stderr, soft_wrap=False, emoji=False, highlight=False)
    if not is_terminal and "COLUMNS" not in os.environ:
        console.width = _WIDTH_OF_FILES
    return console


class _PipedConsole(Console):
    """A console whose reader may go away."""

    def on_broken_pipe(self) -> None:
        """Go on in silence if only progress and problems were read; else end the command."""
        self.quiet = True
        release_stream(self.file)
        if not self.stderr:
            raise BrokenPipeError


def release_stream(stream: IO[str]) -> None:
    """Let a stream whose reader is gone lead nowhere: Python writes once more when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def number_columns(*names: str, no_wrap: bool = False) -> Iterator[Column]:
    return (Column(name, justify="right", no_wrap=no_wrap) for name in names)


def natural_width(table: Table) -> int:
    """Return the columns that a table needs if nothing in it is wrapped or cut."""
    # A width that no table has, as rich never measures more than the width of its console.
    return Console(width=10_000).measure(table).maximum


def _fits(table: Table, width: int) -> bool:
    """Return True if nothing is cut; a table with texts that may be folded always fits."""
    foldable = any(column.overflow == "fold" for column in table.columns)
    return foldable or natural_width(table) <= width


def _lines_of(table: Table, width: int) -> "Parts":
    """Yield the name of each row of a table, and its cells below; no cell is broken."""
    yield from filter(None, [table.title])
    heads = [str(column.header) for column in table.columns]
    for name, *cells in zip(*(column.cells for column in table.columns), strict=True):
        yield f"[bold]{name}[/bold]" if name else ""
        named = zip(heads[1:], cells, strict=True)
        shown = [f"{head} {cell}".lstrip().replace("\n", " ") for head, cell in named if cell]
        yield from (indent(line, 2) for line in _packed(shown, width - 2))


def _packed(pieces: Iterable[str], width: int) -> Iterator[str]:
    """Yield lines with as many whole pieces as fit."""
    line = ""
    for piece in pieces:
        longer = f"{line}, {piece}" if line else piece
        # Not the length of the text: markup takes no room, and some characters take two columns.
        if line and Text.from_markup(longer).cell_len > width:
            yield line
            longer = piece
        line = longer
    yield line


Parts = Iterable[RenderableType]
"""What a command prints: texts are lines that are not wrapped, so that they can be copied."""


def print_parts(parts: Parts, console: Console) -> None:
    """Print lines, tables and indented texts one after the other; too wide a table in lines."""
    for part in parts:
        # A number that is cut off is worse than one that stands on a line of its own.
        if isinstance(part, Table) and not _fits(part, console.width):
            print_parts(_lines_of(part, console.width), console)
        elif isinstance(part, str):
            console.print(own_commands(part), soft_wrap=True)
        else:
            console.print(part)


def chosen_stream(as_json: bool) -> Console:
    """Return the console for people: with ``--json`` the standard output is for scripts."""
    return stderr() if as_json else stdout()


def styled(words: object, style: str) -> str:
    return f"[{style}]{inert(str(words))}[/{style}]"


def note(words: str) -> str:
    """Return a line that says what to know before the numbers are read."""
    return f"[yellow]Note:[/yellow] {inert(words)}"


_STYLES = {"warning": "yellow", "headline": "bold", "aside": "dim"}


def block_parts(blocks: "Iterable[Block]") -> Parts:
    """Yield tables and lines one after the other."""
    from maseval.app.comparing.blocks import TableBlock  # help must not load it

    for block in blocks:
        if isinstance(block, TableBlock):
            yield _draw(block)
        elif block.style == "note":
            yield from map(note, block.lines)
        else:
            style = _STYLES.get(block.style)
            yield from (styled(line, style) if style else inert(line) for line in block.lines)
        if block.more:
            yield f"[dim]and {block.more} more; --json lists all[/dim]"


def _draw(block: "TableBlock") -> Table:
    names = (Column(inert(name), overflow="fold") for name in block.columns[: block.names])
    numbers = number_columns(*map(inert, block.columns[block.names :]))
    table = Table(*names, *numbers, title=block.title or None, title_justify="left")
    for at, row in enumerate(block.rows):
        table.add_row(*map(inert, row), style="bold" if at in block.bold else None)
    return table


def indent(text: str, columns: int = 0) -> Padding:
    """Let a text be wrapped, with a margin that its further lines keep."""
    return Padding(text, (0, 0, 0, columns), expand=False)


@contextmanager
def telling() -> Iterator[Callable[[str], None]]:
    """Show on a terminal how far something is; yield the function to call with it."""
    from rich.live import Live  # only where something takes long

    console = stderr()
    # Without a thread that refreshes it: a process that has one cannot fork.
    line = Live(console=console, auto_refresh=False, transient=True)

    def show(words: str) -> None:
        if console.is_terminal:
            line.start()
            line.update(inert(words), refresh=True)

    try:
        yield show
    finally:
        line.stop()


@contextmanager
def counting(done: str, what: str = "simulations") -> Iterator[Callable[..., None]]:
    """Show on a terminal how many simulations are ``done``; yield the function to call."""
    with telling() as show:

        def count(number: int, total: int = 0) -> None:
            # To redraw for each simulation would take longer than to look at most of them.
            if number % 10 == 0:
                show(f"{number}{f' of {total}' if total else ''} {what} {done}")

        yield count


def print_json(value: object) -> None:
    typer.echo(json.dumps(value))


def print_result(found: Any, parts: Parts, as_json: bool) -> None:
    if as_json:
        print_json(found.to_dict())
    else:
        print_parts(parts, stdout())


def print_files(
    found: "Sequence[Any]",
    parts_of: "Callable[[Any], Parts]",
    as_json: bool,
    numbers: Mapping[str, object] = MappingProxyType({}),
) -> None:
    """Print each file that was read for people, or all of them for scripts."""
    if as_json:
        print_json({**numbers, "files": [each.to_dict() for each in found]})
    else:
        print_parts((part for each in found for part in parts_of(each)), stdout())


def here(path: Path) -> str:
    """Return the path relative to the current folder, if it lies below."""
    folder = Path.cwd()
    return str(path.relative_to(folder) if path.is_relative_to(folder) else path)


def program() -> str:
    """Return how to call this command: by its name, or by its path if a shell would not find it."""
    started, found = Path(sys.argv[0]), shutil.which("maseval")
    if started.name != "maseval" or (found is not None and Path(found).samefile(started)):
        return "maseval"
    return shlex.quote(here(started.absolute()))


def own_commands(text: str) -> str:
    """Let the commands that a text quotes call this program, where a shell would find another."""
    called = program()
    return text if called == "maseval" else text.replace("`maseval ", f"`{called} ")


def inert(text: str) -> str:
    """Escape foreign text, so that nothing in it is taken for markup or moves the cursor."""
    return escape(visible(text))


def format_score(found: Mapping[str, Any], gap: str = " ") -> str:
    """Format a share with its range, ``61.3% [57.9, 64.8]``, which is dimmed."""
    number, *beside = score_parts(found)
    return f"{number}{gap}[dim]{gap.join(beside)}[/dim]"


def count(number: int) -> str:
    """Format a number of tokens in three digits: ``1.2M``."""
    rounded = float(f"{number:.3g}")  # 999,700 is a million in three digits
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if rounded >= size:
            return f"{rounded / size:.3g}{unit}"
    return str(number)


def ended_by_signals() -> AbstractContextManager[None]:
    """Let what ends a process raise, also in a background job, where a shell ignores Ctrl-C."""

    def end(number: int, frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    return end_signals(end)


if TYPE_CHECKING:  # help must not load what makes these
    from maseval.app.comparing.blocks import Block, TableBlock
    from maseval.data.files import DataCheck


def act_on_data(data: Any, benchmark: str, action: str, given: Mapping[str, object]) -> None:
    """Fetch, verify or find the files of a benchmark; ``data`` has a function for each."""
    # What was not typed is left to the default of each function.
    chosen = {name: value for name, value in given.items() if value}
    # Not every benchmark has all of these actions.
    actions = [name for name in ("fetch", "texts", "verify", "path") if hasattr(data, name)]
    if action not in actions:
        raise typer.BadParameter(f"the action is {action!r}; give one of: {', '.join(actions)}")
    if chosen and action != "fetch":
        raise typer.BadParameter(f"{', '.join(chosen)}: {action} does not take this option")
    found = getattr(data, action)(**chosen)
    if action != "verify":
        typer.echo(found)
        return
    print_parts(data_check_parts(found, f"{benchmark} data fetch"), stdout())
    if not found.complete:
        raise typer.Exit(1)


def data_check_parts(check: "DataCheck", fetched_by: str) -> Parts:
    for file in check.files:
        state = "[green]ok[/green]" if file.problem is None else styled(file.problem, "red")
        yield f"{file.name}: {state}"
    yield f"in {inert(str(check.folder))}"
    if not check.complete:
        yield f"`{fetched_by}` fetches what is missing and replaces what is wrong"
