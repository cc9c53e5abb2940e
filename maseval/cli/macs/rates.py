"""``maseval macs rates``."""

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from maseval import commands
from maseval.cli.console import here, inert, number_columns, print_json, stdout
from maseval.cli.groups import examples
from maseval.cli.options import AsJson, RunName
from maseval.core.figures import between, percent

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.benchmark.macs.app.results import RunRates
    from maseval.benchmark.macs.metrics import GoalRate

EXAMPLES = examples(
    ("maseval macs rates last", "the latest run"),
    ("maseval macs rates runs/mine --json", "for scripts"),
)

_NAMES = {
    "overall_gsr": "overall",
    "overall_partial_gsr": "partial",
    "user_gsr": "user side",
    "system_gsr": "system side",
}
_SHOWN = 10


def rates(run: RunName, as_json: AsJson = False) -> None:
    """Show the goal success rates of a run: overall, partial, and of both sides.

    Undecided assertions pass and unreadable answers fail, as in the original; both are listed.
    """
    found = commands.macs.rates(run)
    if as_json:
        print_json({**found.to_dict(), "path": str(found.path)})
    else:
        _print_rates(found, stdout())


def _print_rates(found: "RunRates", console: Console) -> None:
    console.print(f"[bold]{inert(here(found.path))}[/bold]", soft_wrap=True)
    if found.estimate:
        console.print(f"[yellow]{inert(found.estimate)}[/yellow]", soft_wrap=True)
    table = Table("domain", *number_columns("tasks", "scored", *_NAMES.values()))
    for each in found.domains:
        table.add_row(
            inert(each.domain or "all"),
            str(each.tasks),
            f"{each.scored}/{each.repetitions}",
            *(_rate(each.rates[key]) for key in _NAMES),
        )
    console.print(table)
    console.print(
        "[dim]Goal success rates over scored simulations; 95% CI, clustered by task. A simulation "
        "without a verdict counts as 0; failures of user, tools or judge's provider are not "
        "scored.[/dim]"
    )
    for problem in found.problems[:_SHOWN]:
        words = f"{problem['task']}, trial {problem['repeat']}: {problem['problem']}"
        console.print(f"[yellow]Note:[/yellow] {inert(words)}", soft_wrap=True)
    if len(found.problems) > _SHOWN:
        console.print(f"and {len(found.problems) - _SHOWN} more; --json lists all")


def _rate(rate: "GoalRate") -> str:
    if rate.value is None:
        return "no verdict"
    value = percent(rate.value)
    if rate.interval is None:
        return value
    return f"{value}\n{between(rate.interval.low, rate.interval.high)}"
