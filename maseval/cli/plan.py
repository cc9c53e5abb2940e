"""``maseval plan``: how many simulations to run."""

from typing import TYPE_CHECKING

from rich.table import Table

from maseval import commands
from maseval.cli.console import duration, inert, natural_width, print_json, stdout
from maseval.cli.groups import examples
from maseval.cli.options import AsJson, flag, option, runs_argument
from maseval.core.figures import in_percent, money, percent
from maseval.core.words import count_of

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.app.comparing.plan import BaselineKind
    from maseval.stats.forecast import Forecast

PLAN_EXAMPLES = examples(
    ("maseval plan last --difference 5", "what it takes to show a gain of 5 points over a run"),
    ("maseval plan last --precision 4", "or to know its pass^1 to within 4 points"),
    ("maseval plan old new --difference 5", "two runs tell how much systems differ by task"),
    ("maseval plan --tasks 50 --rate 60 --difference 10", "no run yet: stated rates"),
)


def plan(
    runs: list[str] | None = runs_argument(
        "A pilot or earlier run, and a second one of another system on the same tasks.",
        default=None,
    ),
    difference: float | None = option(None, "The difference to show, in percentage points."),
    precision: float | None = option(None, "The half-width wanted, in percentage points."),
    tasks: int | None = option(None, "How many tasks, if no run says so."),
    rate: float | None = option(None, "The pass rate, in percent."),
    spread: float | None = option(
        None, "How far the rates of single tasks scatter: their standard deviation."
    ),
    alongside: bool = flag(
        "Run the baseline again, trial by trial, beside the new.", "--alongside"
    ),
    concurrency: int = option(1, "Simulations at once, for the time.", "-j"),
    as_json: AsJson = False,
) -> None:
    """Say what a question costs before it is run: trials, simulations, money and time."""
    kind: BaselineKind | None = "alongside" if alongside else None
    found = commands.plan(
        runs or (),
        tasks=tasks,
        rate=None if rate is None else rate / 100,
        spread=None if spread is None else spread / 100,
        difference=None if difference is None else difference / 100,
        precision=None if precision is None else precision / 100,
        baseline=kind,
        concurrency=concurrency,
    )
    if as_json:
        print_json(found.to_dict())
        return
    console, about = stdout(), found.about
    console.print(f"{count_of(about.tasks, 'task')}, pass^1 {percent(about.rate)}")
    table = _table(found)
    if natural_width(table) > console.width:  # no number is cut as long as there is any room
        table.box, table.padding = None, (0, 1, 0, 0)
    console.print(table)
    for line in found.answers:
        console.print(f"[bold]{inert(line)}[/bold]", soft_wrap=True)
    for line in found.notes:
        console.print(f"[dim]{inert(line)}[/dim]", soft_wrap=True)


def _table(found: "Forecast") -> Table:
    about, asked = found.about, any(row.expected is not None for row in found.rows)
    table = Table(
        title="difference that is found in 4 of 5 cases, and half-width, in points",
        title_justify="left",
    )
    # Broken so that all of it fits into 80 columns.
    names = ["trials", "simula-\ntions", "differ-\nence\nthese", "like\nthese"]
    names += ["half-\nwidth\nthese", "like\nthese"]
    names += ["cost"] * (about.cost is not None) + ["time"] * (about.seconds is not None)
    names += ["run,\nwith\nlooks"] * asked
    for name in names:
        table.add_column(name, justify="right")
    for row in found.rows:
        figures = (row.detectable, row.detectable_like, row.half_width, row.half_width_like)
        cells = [str(row.trials), str(row.simulations)]
        cells += ["none" if each is None else in_percent(each) for each in figures]
        cells += [money(row.cost)] * (about.cost is not None)
        cells += [duration(row.seconds)] * (about.seconds is not None)
        cells += [percent(row.expected or 0.0, 0)] * asked
        table.add_row(*cells)
    return table


COMMANDS = {plan: PLAN_EXAMPLES}
