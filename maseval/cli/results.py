"""A run's results as commands print them: numbers, errors, and how to look closer or resume."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

import typer
from rich.console import Console
from rich.table import Table

from maseval.app.results.measured import (
    MeasuredScore,
    beside_official,
    describe_beside,
    describe_verdict,
)
from maseval.app.results.recording import warnings_on
from maseval.app.results.run_summary import (
    RunResult,
    RunSummary,
    costs_by_role,
    costs_in_words,
)
from maseval.app.running.prices import unpriced_models
from maseval.cli.command_line import FAILED, INCOMPLETE, WRONG_USE
from maseval.cli.console import (
    Parts,
    count,
    duration,
    format_score,
    here,
    indent,
    inert,
    number_columns,
    print_json,
    print_parts,
    program,
    shorten_line,
    styled,
)
from maseval.core.outcome import Outcome, RecordedReport
from maseval.core.words import count_of, money
from maseval.runs import RunFolder
from maseval.stats import Estimate

MARKS = {
    "pass": "[green]+[/green]",
    "fail": "[red]-[/red]",
    "error": "[yellow]![/yellow]",
    "unjudged": "[yellow]?[/yellow]",
}

_MOST_REASONS = 3


def scores(summary: RunSummary) -> Table:
    """Return each domain's pass^k with its interval below, so that four of them fit a terminal."""
    groups = summary.groups
    ks = sorted({k for score in groups for k in score.pass_hat})
    counted = number_columns("tasks", "verdicts", *(f"pass^{k}" for k in ks), no_wrap=True)
    table = Table("domain", *counted, title=_title(summary))
    for position, score in enumerate(groups):
        failed = f"\n[red]({score.failed} unfinished)[/red]" if score.failed else ""
        table.add_row(
            inert(score.name),
            str(score.tasks),
            f"{score.verdicts}/{score.planned}{failed}",
            *(estimate(score.pass_hat.get(k), "\n") for k in ks),
            # A line above the last row, which has all domains together.
            end_section=len(groups) > 1 and position == len(groups) - 2,
        )
    return table


def _title(summary: RunSummary) -> str | None:
    if marks := ", ".join(summary.marks):
        return f"{marks[0].upper()}{marks[1:]}"
    return summary.answer and "Intervals for tasks like these"


def estimate(value: Estimate | None, gap: str = " ") -> str:
    """Format as ``61.3% [57.9, 64.8]``, with the interval dimmed."""
    if value is None or value.value is None:
        return ""
    return format_score(value.in_brief(), gap)


def measure_parts(scores: Sequence[MeasuredScore]) -> Parts:
    """Yield the numbers beside the official one, over all domains, and what they change."""
    others = beside_official(scores)
    if counted := [each for each in others if not each.is_quantity and not each.same]:
        # The official number over the same tasks, as there is one for each domain.
        official = next(e for e in scores if e.is_official and e.domain == others[0].domain)
        table = Table("counted", *number_columns(*(f"k = {k}" for k in official.pass_hat)))
        for each in (official, *counted):
            name = "the official number" if each.is_official else each.counted
            label = each.measure.label if each.is_recorded and each.measure else f"pass^k, {name}"
            numbers = (estimate(each.pass_hat.get(k)) for k in official.pass_hat)
            table.add_row(inert(label), *numbers)
        yield table
    yield from map(inert, (*describe_verdict(scores), *describe_beside(others)))


def consumption_of(summary: RunSummary, config: Mapping[str, object]) -> str:
    """Format the consumption of a run; empty if no model took part."""
    unpriced = unpriced_models(config) if config.get("prices") else None
    used = consumption(summary.cost, summary.tokens, unpriced, summary.unpriced)
    apart = costs_in_words(costs_by_role(summary.lines))
    return f"{used} ({apart})" if apart else used


def consumption(
    cost: float | None, tokens: int, unpriced: Sequence[str] | None = None, of_unknown_cost: int = 0
) -> str:
    """Format tokens and money, which models have no price, and of how many simulations."""
    if not tokens and not cost:
        return ""
    without = f" (no price for {' and '.join(map(inert, unpriced))})" if unpriced else ""
    known = "cost not known" if cost is None else money(cost)
    if cost and of_unknown_cost:
        others = count_of(of_unknown_cost, "simulation")
        known = f"{known} and the unknown cost of {others}"
    return f"{count(tokens)} tokens, {known}{without}"


def error_parts(lines: Iterable[Outcome], most: int | None = None) -> Parts:
    """Yield the reasons of errors in the order they were met, at ``most`` so many."""
    reasons: dict[str, list[Outcome]] = {}
    for line in lines:
        if line.kind == "error":
            # Shortened before they are grouped: errors that differ in their last words are one
            # reason.
            reason = f"{line.status}: {shorten_line(line.error or '', 200)}"
            reasons.setdefault(reason, []).append(line)
    for reason, alike in list(reasons.items())[:most]:
        first = f"{alike[0].key} trial {alike[0].trial}"
        more = f" and {len(alike) - 1} more" if len(alike) > 1 else ""
        yield indent(f"[yellow]![/] {inert(reason)} [dim]({inert(first)}{more})[/dim]")
    if most is not None and len(reasons) > most:
        yield f"[yellow]![/] and {len(reasons) - most} other reasons: maseval show"


def finish(
    result: RunResult,
    console: Console,
    *,
    as_json: bool,
    debug: bool = False,
    with_scores: bool = True,
    with_next: bool = True,
) -> None:
    """Print the outcome; leave with exit code 3 if verdicts are missing.

    The code is 1 if no simulation ran to a verdict, and resuming cannot change that.
    """
    print_parts(outcome_parts(result, with_scores, with_next), console)
    if debug and result.errors:
        _print_traceback(result, console)
    if as_json:
        print_json(result.to_dict())
    if not result.resumable and not result.judged:
        raise typer.Exit(FAILED)
    if not result.complete:
        raise typer.Exit(INCOMPLETE)
    if result.is_undecided:  # as in gate: an undecided result does not pass
        raise typer.Exit(WRONG_USE)


def outcome_parts(result: RunResult, with_scores: bool = True, with_next: bool = True) -> Parts:
    """Yield the numbers, their cost, and the commands to look closer or resume."""
    if with_scores:
        yield from map(inert, filter(None, [result.summary.answer]))
        yield scores(result.summary)
        yield indent(styled(result.summary.method, "dim"))
        yield from measure_parts(result.measures)
    yield f"{', '.join(_facts(result))}; in {inert(here(result.folder))}"
    yield from (styled(words, "yellow") for words in warnings_on(result.config))
    yield from map(inert, result.notes)
    reported = result.stopped or ""
    # The error that stopped the run was told as the reason.
    lines = [line for line in result.errors if not line.error or line.error not in reported]
    yield from error_parts(lines, _MOST_REASONS)
    if with_next:
        yield _next(result)


def _facts(result: RunResult) -> Iterator[str]:
    yield f"{count_of(result.ran, 'simulation')} in {duration(result.seconds)}"
    earlier = result.summary.overall.recorded - result.ran
    if earlier > 0:
        yield f"{earlier} from before"
    if cost := consumption_of(result.summary, result.config):
        yield cost
    if rules := result.config.get("rules"):
        yield inert(str(rules))


def _next(result: RunResult) -> str:
    """Return the commands that show a complete run, or the one that resumes it."""
    overall, name = result.summary.overall, inert(shlex.quote(here(result.folder)))
    if result.complete:
        return f"{program()} show {name}   {program()} report {name}"
    lacking = overall.planned - overall.verdicts
    reason = f" ({inert(result.stopped)})" if result.stopped else ""
    way_out = f"; repeat the command with --output {name} to resume" if result.resumable else ""
    return (
        f"[yellow]Incomplete{reason}: {lacking} of {overall.planned} simulations have no verdict"
        f"{way_out}.[/yellow]"
    )


def _print_traceback(result: RunResult, console: Console) -> None:
    simulation = result.errors[0].simulation
    # Outcomes leave out tracebacks, so the report is read from the folder.
    report = RecordedReport(RunFolder.read(result.folder).report(simulation))
    console.print(f"[bold]{inert(str(simulation))}[/bold]")
    console.print(inert(str(report.error.traceback)), soft_wrap=True)
