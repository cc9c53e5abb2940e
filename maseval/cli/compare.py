"""``maseval compare`` and ``maseval gate``."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

import typer
from rich.console import Console
from rich.table import Column, Table

from maseval import commands
from maseval.app.results.variants import Metric
from maseval.cli import completion
from maseval.cli.command_line import FAILED, WRONG_USE
from maseval.cli.console import counting, inert, number_columns, print_json, stderr, stdout
from maseval.cli.groups import examples
from maseval.cli.options import (
    AsJson,
    Explain,
    RunOrResultsFile,
    runs_argument,
    with_scoring_options,
)
from maseval.core.figures import between, in_percent, in_points, money, p_is, p_value, percent
from maseval.core.scoring_options import ScoringKeywords, ScoringOptions
from maseval.core.words import count_of

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.app.comparing.compare import RunComparison
    from maseval.stats import Comparison, Difference, Estimate, Flip

COMPARE_EXAMPLES = examples(
    ("maseval compare careful hurried", "two runs below ./runs: which is better, how sure is that"),
    ("maseval compare last theirs.json -k 4", "a run and a results file, by pass^4"),
    ("maseval compare a b c --plot curves.svg", "every pair of several, and a drawing"),
    ("maseval compare a b --metric no-breaches", "only passes without breaches found"),
    ("maseval compare a b --sound", "over sound tasks, beside the official number"),
    ("maseval compare a b --json", "for scripts"),
)

_SHOWN = 12

MetricOption = Annotated[
    Metric,
    typer.Option(
        help="pass: as the benchmark counts; no-breaches: passes without breaches found; sound: "
        "over sound tasks."
    ),
]


@with_scoring_options()
def compare(
    runs: Annotated[list[str], runs_argument("Runs or results files, two or more.")],
    k: Annotated[int, typer.Option("-k", help="The pass^k that is compared.")] = 1,
    metric: MetricOption = "pass",
    sound: Annotated[bool, typer.Option("--sound", help="The same as --metric sound.")] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Draw pass^k against k into this file: SVG, PNG, PDF.")
    ] = None,
    plot_cost: Annotated[
        Path | None, typer.Option(help="Draw cost against pass^k into this file: SVG, PNG, PDF.")
    ] = None,
    explain: Explain = True,
    as_json: AsJson = False,
    **scoring: Unpack[ScoringKeywords],
) -> None:
    """Compare runs, paired by task: the difference, how sure it is, and what would decide it.

    Every reward is recomputed first.
    """
    if sound and metric == "no-breaches":
        raise typer.BadParameter(
            "--sound and --metric no-breaches count differently; leave out one"
        )
    with counting("judged") as count:
        found = commands.compare(
            runs,
            k=k,
            metric="sound" if sound else metric,
            plot=plot,
            plot_cost=plot_cost,
            options=ScoringOptions(**scoring),
            explain=explain,
            on_progress=count,
        )
    console = stderr() if as_json else stdout()
    _print_comparison(found, console)
    for drawn in found.drawn:
        console.print(f"Saved: {inert(str(drawn))}", soft_wrap=True)
    if as_json:
        print_json(found.to_dict())


def _print_comparison(found: "RunComparison", console: Console) -> None:
    """Print first what else may explain a difference, then two runs or a table of several."""
    if found.texts is not None:
        console.print(f"[yellow]{inert(found.texts)}[/yellow]")
    _print_list("[yellow]Note:[/yellow] ", found.notes, console)
    _print_list("[yellow]Note:[/yellow] ", found.cautions, console)
    for words in filter(None, (found.official, found.headline)):
        console.print(f"[bold]{inert(words)}[/bold]")
    if found.two is None:
        _print_many(found, console)
    else:
        _print_two(found, found.two, console)
    _print_reasons(found, console)
    _print_list("Left out: ", found.dropped, console)


def _print_reasons(found: "RunComparison", console: Console) -> None:
    """Print why simulations failed in each run: labels, and checks that were not met."""
    if found.reasons:
        also = ", or broke the policy" if found.metric == "no-breaches" else ""
        table = Table(title=f"why simulations failed{also}", title_justify="left")
        table.add_column("", overflow="fold")
        for name, run in found.why.items():
            table.add_column(f"{inert(name)}\n{run.failed} of {run.verdicts}", justify="right")
        for title, rows in found.reasons.items():
            table.add_section()
            for row in rows[:_SHOWN]:
                table.add_row(inert(row.words(title)), *map(str, row.counts))
        console.print(table)
    for name, run in found.why.items():
        if run.unexplained:
            console.print(f"[dim]{inert(name)}: {inert(run.unexplained)}[/dim]", soft_wrap=True)


def _print_two(about: "RunComparison", found: "Comparison", console: Console) -> None:
    console.print(_differences(about, found))
    main, (first, second) = found.main, found.names
    console.print(
        f"{about.label(main.name)}: {inert(second)} \u2212 {inert(first)} = "
        f"[bold]{in_points(main.difference)}[/bold]{_interval(main)} percentage points, "
        f"{p_is(main.test.p_value)}"
    )
    console.print(f"  {main.test.method}; {main.test.discordant} of {main.tasks} tasks differ")
    if main.detectable is not None:
        console.print(
            f"  a true difference of {in_percent(main.detectable)} points would be found in 4 of 5 "
            "cases by runs like these"
        )
    cost = f", for {money(found.plan.cost)}" if found.plan.cost else ""
    console.print(f"  {inert(found.plan.advice)}{cost}")
    if found.flipped:
        console.print(_flips(found.flipped, found.names))
        _print_rest(len(found.flipped), console)


def _differences(about: "RunComparison", found: "Comparison") -> Table:
    table = Table("", *number_columns("tasks", *map(inert, found.names), "difference", "p"))
    shown = [each for each in found.differences if each.measure == "pass^k"]
    for position, each in enumerate(shown):
        last = position + 1 < len(shown) and shown[position + 1].group != each.group
        table.add_row(
            inert(f"{each.group or 'all'} {about.label(each.name)}"),
            str(each.tasks),
            percent(each.first),
            percent(each.second),
            f"{in_points(each.difference)}[dim]{_interval(each)}[/dim]",
            p_value(each.test.p_value),
            style="bold" if each == found.main else None,
            end_section=last,
        )
    return table


def _interval(difference: "Difference") -> str:
    span = difference.interval
    return "" if span is None else f" {between(span.low, span.high)}"


def _flips(flips: "Sequence[Flip]", names: tuple[str, str]) -> Table:
    counted = number_columns(*map(inert, names))
    table = Table("domain", Column("task", overflow="fold"), *counted, title_justify="left")
    table.title = "tasks that changed"
    for flip in flips[:_SHOWN]:
        counts = (f"{each.passed}/{each.total}" for each in (flip.first, flip.second))
        style = "bold" if flip.fully else None
        table.add_row(inert(flip.group), inert(flip.task), *counts, style=style)
    return table


def _print_many(about: "RunComparison", console: Console) -> None:
    found = about.table
    console.print(_scores(about))
    table = Table("runs", "measure", *number_columns("difference", "p", "p, corrected"))
    for pair in found.pairs:
        table.add_row(
            inert(f"{pair.names[1]} \u2212 {pair.names[0]}"),
            about.label(pair.main.name),
            f"{in_points(pair.main.difference)}[dim]{_interval(pair.main)}[/dim]",
            p_value(pair.main.test.p_value),
            f"[bold]{p_value(pair.adjusted)}[/bold]" if pair.sure else p_value(pair.adjusted),
        )
    console.print(table)
    for note in found.notes:
        console.print(f"[dim]{inert(note)}[/dim]")


_PASSES = {"pass": "passed", "no-breaches": "without breaches found", "sound": "sound passes"}


def _scores(about: "RunComparison") -> Table:
    rows = {name: summary.overall for name, summary in about.summaries.items()}
    names = dict.fromkeys(
        each.name for row in rows.values() for each in row.estimates if _is_shown(each)
    )
    priced = any(row.mean_cost for row in rows.values())
    counted = ("tasks", _PASSES[about.metric], *map(about.label, names))
    table = Table("run", *number_columns(*counted, *(["mean cost"] if priced else [])))
    for name, row in rows.items():
        known = {each.name: _estimate(each) for each in row.estimates if _is_shown(each)}
        table.add_row(
            inert(name),
            str(row.tasks),
            f"{row.passed}/{row.done}",
            *(known.get(each, "") for each in names),
            *([money(row.mean_cost)] if priced else []),
        )
    return table


def _is_shown(estimate: "Estimate") -> bool:
    return estimate.measure == "pass^k" and estimate.k <= 4 and estimate.value is not None


def _estimate(found: "Estimate") -> str:
    span = found.interval
    reach = "" if span is None else f" [dim]{between(span.low, span.high)}[/dim]"
    return f"{percent(found.value or 0.0)}{reach}"


def _print_list(title: str, lines: Sequence[str], console: Console) -> None:
    for line in lines[:_SHOWN]:
        console.print(f"{title}{inert(line)}", soft_wrap=True)
    _print_rest(len(lines), console)


def _print_rest(number: int, console: Console) -> None:
    if number > _SHOWN:
        console.print(f"[dim]and {number - _SHOWN} more; --json lists all[/dim]")


GATE_EXAMPLES = examples(
    ("maseval gate last --baseline runs/main", "exit code 1 if the run is worse beyond chance"),
    ("maseval gate last --baseline main.json --margin 2", "a loss of two points is tolerated"),
    ("maseval gate last --baseline main --junit gate.xml --markdown gate.md", "for a CI service"),
)


@with_scoring_options()
def gate(
    run: RunOrResultsFile,
    baseline: Annotated[
        str,
        typer.Option(
            help="The run to hold it against: a run or a results file.",
            autocompletion=completion.runs_or_files,
        ),
    ],
    k: Annotated[int, typer.Option("-k", help="The pass^k that decides.")] = 1,
    metric: MetricOption = "pass",
    margin: Annotated[
        float, typer.Option(help="Loss that is tolerated, in percentage points.")
    ] = 0.0,
    alpha: Annotated[
        float, typer.Option(help="Accepted risk of calling a run worse when it is not.")
    ] = 0.05,
    allow_incomplete: Annotated[
        bool, typer.Option("--allow-incomplete", help="Judge what has a verdict.")
    ] = False,
    min_comparable: Annotated[
        float, typer.Option(help="Share of the tasks that must be comparable, in percent.")
    ] = 80.0,
    allow_undecidable: Annotated[
        bool,
        typer.Option("--allow-undecidable", help="Pass where there are too few tasks to fail."),
    ] = False,
    junit: Annotated[
        Path | None, typer.Option(help="Write JUnit XML to this file: a test for each task.")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write a summary in Markdown to this file.")
    ] = None,
    report_url: Annotated[
        str | None, typer.Option(help="Where the run's HTML report is, for links in the summary.")
    ] = None,
    explain: Explain = True,
    as_json: AsJson = False,
    **scoring: Unpack[ScoringKeywords],
) -> None:
    """Fail if a run is worse than its baseline beyond what chance explains.

    The exit code is 0 if it is not shown to be worse, 1 if it is, and 2 if the two cannot be
    compared, or are too small to show any loss. Files are written wherever they are compared.
    """
    from maseval.core.storage.files import write_bytes  # help must not load it

    with counting("judged") as count:
        found = commands.gate(
            run,
            baseline,
            k=k,
            metric=metric,
            margin=margin / 100,
            alpha=alpha,
            allow_incomplete=allow_incomplete,
            min_comparable=min_comparable / 100,
            explain=explain,
            options=ScoringOptions(**scoring),
            on_progress=count,
        )
    if junit is not None:
        write_bytes(junit, found.to_junit())
    if markdown is not None:
        write_bytes(markdown, found.to_markdown(report_url).encode())
    console, main = stderr() if as_json else stdout(), found.main
    for line in found.cautions:
        console.print(f"[yellow]Note:[/yellow] {inert(line)}", soft_wrap=True)
    if official := found.comparison.official:
        console.print(inert(official), soft_wrap=True)
    span = main.interval
    reach = ""
    if span is not None:
        reach = f" {between(span.low, span.high)} ({percent(span.level, 0)} interval)"
    console.print(
        f"{found.measure}: {percent(main.first)} before, {percent(main.second)} now, "
        f"[bold]{in_points(main.difference)}[/bold] percentage points{reach}, "
        f"{p_is(main.test.p_value)} (two-sided); {count_of(len(found.fell), 'task')} fell, "
        f"{len(found.rose)} rose",
        soft_wrap=True,
    )
    worse, undecided = found.verdict == "worse", found.objection is not None
    if undecided:
        console.print(f"[yellow]{inert(str(found.objection))}[/yellow]", soft_wrap=True)
    else:
        console.print("[red]worse[/red]" if worse else "[green]not shown to be worse[/green]")
    if as_json:
        print_json(found.to_dict())
    if worse:
        raise typer.Exit(FAILED)
    if undecided and not allow_undecidable:
        raise typer.Exit(WRONG_USE)


COMMANDS = {compare: COMPARE_EXAMPLES, gate: GATE_EXAMPLES}
