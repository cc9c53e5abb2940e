"""What ``maseval tau2 score --under`` prints."""

from typing import TYPE_CHECKING

from rich.console import Console

from maseval.cli.console import inert, shorten_line

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.benchmark.tau2.rescoring.judges import JudgePanel
    from maseval.stats.agreement import Agreement


def print_judges(panel: "JudgePanel", console: Console) -> None:
    """Who was asked how often, and how far they agree."""
    for judge in panel.judges:
        kept = f"{judge.remembered} known from {judge.memory.path.name}"
        words = f"judge {judge.model_id}: {judge.asked} asked, {kept}"
        console.print(f"  {inert(words)}", highlight=False, soft_wrap=True)
    for each in panel.agreements:
        words = (
            f"{each.first} and {each.second} agree on {_agreement(each.assertions)} of the "
            f"assertions and {_agreement(each.verdicts)} of the verdicts"
        )
        console.print(f"  {inert(words)}", highlight=False, soft_wrap=True)


def _agreement(found: "Agreement") -> str:
    if found.share is None:
        return "0 of 0"
    kappa = "undefined" if found.kappa is None else f"{found.kappa:.2f}"
    return f"{found.equal} of {found.total} ({found.share:.1%}, Cohen's kappa {kappa})"


if TYPE_CHECKING:  # help must not load what makes these
    from maseval.benchmark.tau2.app.results.score import FileScore
    from maseval.benchmark.tau2.app.results.score_under import FileUnder, ScoresUnder
    from maseval.benchmark.tau2.rescoring import ReleaseTotals

_SHOWN = 12
_WAYS = {"up": "[green]up[/green]", "down": "[red]down[/red]", "open": "[yellow]judge[/yellow]"}


def print_under(scores: "ScoresUnder", console: Console) -> None:
    """Each file under each release, and all of them together."""
    for each in scores:
        _print_file(each, console)
    if len(scores) > 1:
        first = scores[0].found.first
        console.print(f"[bold]all {len(scores)} files[/bold], compared with {first}")
        for name, totals in scores.totals.items():
            _print(f"{name}: {_totals(totals)}", console)


def _print_file(file: "FileUnder", console: Console) -> None:
    console.print(f"[bold]{inert(str(file.path))}[/bold]", soft_wrap=True)
    for cause in file.causes:
        _print(f"[red]{inert(cause.kind)}[/red]: {inert(str(cause).partition(': ')[2])}", console)
    for name, score in file.scores.items():
        _print(f"{name}: {_passed(score)}", console)
        if name in file.totals:
            _print_changes(file, name, console)
    print_judges(next(iter(file.scores.values())).panel, console)
    early = file.found.ended_early
    if early:
        _print(f"early end: {early}, which neither side ended, fail under every release", console)


def _print_changes(file: "FileUnder", name: str, console: Console) -> None:
    from maseval.benchmark.tau2.rescoring.releases import counted_reasons  # help must not load it

    changes = file.changes(name)
    reasons = counted_reasons(changes).most_common()
    _print(f"  from {file.found.first}: {_totals(file.totals[name])}", console)
    for way, label in _WAYS.items():
        why = [f"{kind} {number}" for (direction, kind), number in reasons if direction == way]
        if why:
            _print(f"  {label}: {inert(', '.join(why))}", console)
    for each in sorted(changes, key=lambda each: each.direction == "open")[:_SHOWN]:
        shown = shorten_line("; ".join(map(str, each.reasons)), 120)
        _print(f"  {_WAYS[each.direction]} {inert(str(each.trial))}: {inert(shown)}", console)
    if len(changes) > _SHOWN:
        _print(f"  and {len(changes) - _SHOWN} more; --json lists all", console)


def _passed(score: "FileScore") -> str:
    if not score.open:
        return f"passed {score.passes} of {score.planned} ({score.passes / score.planned:.0%})"
    most = score.passes + score.open
    low, high = (number / score.planned for number in (score.passes, most))
    return f"passed {score.passes} to {most} of {score.planned} ({low:.0%} to {high:.0%})"


def _totals(totals: "ReleaseTotals") -> str:
    words = f"{totals.same} the same, {totals.up} up, {totals.down} down"
    if totals.open:
        words += (
            f", {totals.open} decided by a judge (all met: {totals.up_if_met} up, {totals.down} "
            f"down; none met: {totals.up} up, {totals.down_if_not_met} down)"
        )
    if totals.asks_judge:
        words += f"; {totals.asks_judge} need the judge"
        if totals.judge_is_moot:
            words += f", {totals.judge_is_moot} of them fail whatever it says"
    return words


def _print(words: str, console: Console) -> None:
    console.print(f"  {words}", highlight=False, soft_wrap=True)
