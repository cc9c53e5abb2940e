"""What ``maseval BENCHMARK data verify`` prints."""

from typing import TYPE_CHECKING

from rich.console import Console

from maseval.cli.console import inert

if TYPE_CHECKING:  # help must not load what makes it
    from maseval.app.results.data_check import DataCheck


def print_check(check: "DataCheck", console: Console, fetched_by: str) -> bool:
    """Every file and what is wrong with it; returns whether nothing is."""
    for file in check.files:
        state = "[green]ok[/green]" if file.problem is None else f"[red]{inert(file.problem)}[/red]"
        console.print(f"{file.name}: {state}", soft_wrap=True, highlight=False)
    console.print(f"in {inert(str(check.folder))}", soft_wrap=True)
    if not check.complete:
        console.print(f"`{fetched_by}` fetches what is missing and replaces what is wrong")
    return check.complete
