"""Simulations that an error ended: each reason once, with where it was met."""

from collections.abc import Iterable

from rich.console import Console

from maseval.cli.text import inert, shortened
from maseval.commands.results import SimulationLine


def print_errors(
    lines: Iterable[SimulationLine], console: Console, most: int | None = None
) -> None:
    """The reasons in the order they were met, at ``most`` so many."""
    reasons: dict[str, list[SimulationLine]] = {}
    for line in lines:
        if line.outcome == "error":
            reason = f"{line.status}: {shortened(line.error or '', 200)}"
            reasons.setdefault(reason, []).append(line)
    for reason, alike in list(reasons.items())[:most]:
        first = f"{alike[0].domain}/{alike[0].task_id} trial {alike[0].trial}"
        more = f" and {len(alike) - 1} more" if len(alike) > 1 else ""
        console.print(f"[yellow]![/] {inert(reason)} [dim]({inert(first)}{more})[/dim]")
    if most is not None and len(reasons) > most:
        console.print(f"[yellow]![/] and {len(reasons) - most} other reasons: maseval show")
