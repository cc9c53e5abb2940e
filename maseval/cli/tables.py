"""What several commands show of a run: its numbers, and the errors that ended simulations."""

from collections.abc import Iterable, Mapping

from rich.console import Console
from rich.table import Table

from maseval.cli.console import count, inert, money, shortened
from maseval.commands.results import DomainScore, RunSummary, SimulationLine
from maseval.stats import Estimate

MARKS = {
    "pass": "[green]+[/green]",
    "fail": "[red]-[/red]",
    "error": "[yellow]![/yellow]",
    "unjudged": "[yellow]?[/yellow]",
}

_WIDTH_BESIDE_MEASURES = 34
_WIDTH_OF_A_MEASURE = 21


def scores(summary: RunSummary, width: int) -> Table:
    """Each domain's pass^k with its interval; on a narrow console one below the other."""
    table = Table()
    table.add_column("domain")
    table.add_column("tasks", justify="right")
    table.add_column("done", justify="right")
    ks = sorted({k for score in summary.rows for k in score.pass_hat})
    narrow = _WIDTH_BESIDE_MEASURES + _WIDTH_OF_A_MEASURE * len(ks) > width
    for k in ks:
        table.add_column(f"pass^{k}", justify="right")
    for position, score in enumerate(summary.rows):
        last_of_domains = len(summary.rows) > 1 and position == len(summary.rows) - 2
        table.add_row(
            inert(score.name),
            str(score.tasks),
            _counts(score),
            *((stacked if narrow else estimate)(score.pass_hat.get(k)) for k in ks),
            end_section=last_of_domains,
        )
    return table


def estimate(value: Estimate | None) -> str:
    """``61.3% [57.9, 64.8]``, in which the interval is plainly not the value."""
    if value is None:
        return ""
    return f"{value.value:.1%} [dim]\\[{100 * value.low:.1f}, {100 * value.high:.1f}][/dim]"


def stacked(value: Estimate | None) -> str:
    """The interval below the value."""
    if value is None:
        return ""
    return f"{value.value:.1%}\n[dim]{100 * value.low:.1f}-{100 * value.high:.1f}[/dim]"


def _counts(score: DomainScore) -> str:
    text = f"{score.recorded}/{score.planned}"
    return f"{text} [red]({score.failed} failed)[/red]" if score.failed else text


def used(summary: RunSummary) -> str:
    """What the run used, or nothing if no model took part."""
    return consumption(summary.cost, summary.tokens)


def consumption(cost: float, tokens: int) -> str:
    """Tokens and money; tokens without a cost are those of a model whose price is not known."""
    if not tokens and not cost:
        return ""
    return f"{count(tokens)} tokens, {money(cost) if cost else 'cost not known'}"


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


def print_rehearsal(config: Mapping[str, object], console: Console) -> None:
    """Say so if the run measured no model."""
    agent = config.get("agent")
    if isinstance(agent, Mapping) and (player := agent.get("rehearse")):
        console.print(
            f"[yellow]A rehearsal: the agent's model was played by {inert(str(player))}.[/yellow]"
        )
