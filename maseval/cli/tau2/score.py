"""``maseval tau2 score``, with the numbers under several releases by ``--under``."""

from typing import TYPE_CHECKING, Unpack

import typer
from rich.console import Console

from maseval import commands
from maseval.app.results.variants import conventions_in_words
from maseval.app.running.options import RAY_ADDRESS, WORKER_PROCESSES
from maseval.cli.command_line import FAILED
from maseval.cli.console import (
    counting,
    inert,
    print_json,
    print_unreadable,
    shorten_line,
    stderr,
    stdout,
)
from maseval.cli.groups import examples
from maseval.cli.options import (
    AsJson,
    JudgeAddress,
    JudgeModels,
    flag,
    option,
    runs_argument,
    with_scoring_options,
)
from maseval.cli.results import estimate, print_variants
from maseval.core.engine.engines import PROCESSES
from maseval.core.figures import in_percent, percent
from maseval.core.scoring_options import ScoringKeywords

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.benchmark.tau2.app.results.score import (
        Disagreement,
        FileScore,
        FileUnder,
        ScoresUnder,
    )
    from maseval.benchmark.tau2.rescoring import ReleaseTotals
    from maseval.benchmark.tau2.rescoring.rescore import JudgePanel
    from maseval.stats.agreement import Agreement

EXAMPLES = examples(
    ("maseval tau2 score results.json", "a results file of tau2-bench, or several"),
    ("maseval tau2 score last --fail-on-disagreement", "a run of ours; exit code 1 if it differs"),
    ("maseval tau2 score theirs.json --domain airline", "a fork that calls its domain otherwise"),
    ("maseval tau2 score retail.json --judge-model gpt-4.1", "what 1.0.1 leaves to a judge"),
    ("maseval tau2 score theirs.json --under 0.2.0,1.0.1", "what another release would say"),
    ("maseval tau2 score theirs.json --sound", "also over sound tasks"),
    ("maseval tau2 score runs/* --json", "for scripts"),
    ("maseval tau2 score runs/* --engine ray --ray-address auto", "on a cluster"),
)

_SHOWN = 12
_WAYS = {"up": "[green]up[/green]", "down": "[red]down[/red]", "open": "[yellow]judge[/yellow]"}


@with_scoring_options()
def score(
    files: list[str] = runs_argument("Results files, folders of them, or runs.", metavar="FILE"),
    strict: bool = flag("Count what the original could not replay as a disagreement.", "--strict"),
    sound: bool = flag("Also count over sound tasks, beside the official number.", "--sound"),
    judge_model: JudgeModels = None,
    base_url: JudgeAddress = None,
    fail_on_disagreement: bool = flag(
        "Exit code 1 if a verdict differs or anything is wrong.", "--fail-on-disagreement"
    ),
    under: str | None = option(
        None,
        "Releases, such as 0.2.0,1.0.1,1.0.1+tasks.0.2.0: judge the same conversations "
        "under each, and say which verdicts change from the first, and why.",
    ),
    engine: str = option(
        PROCESSES,
        "Where to judge: processes (all cores, for large files), threads (this process "
        "alone), or ray (clusters).",
    ),
    ray_address: str | None = option(None, f"{RAY_ADDRESS}."),
    processes: int | None = option(None, f"{WORKER_PROCESSES}."),
    as_json: AsJson = False,
    **scoring: Unpack[ScoringKeywords],
) -> None:
    """Judge recorded conversations again, and compare with the recorded rewards.

    Exit code 1 if a file cannot be read or holds nothing to compare.
    """
    if under is not None:
        chosen = scoring.get("as_recorded") or scoring.get("data_version")
        if chosen or fail_on_disagreement or sound or engine != PROCESSES:
            raise typer.BadParameter(
                "--under names the releases and recomputes every verdict in this process; leave "
                "out --data-version, --as-recorded, --fail-on-disagreement, --sound and --engine"
            )
        with counting("judged") as count:
            found = commands.tau2.score_under(
                files,
                under.split(","),
                domain=scoring.get("domain"),
                strict=strict,
                embedded_tasks=scoring.get("embedded_tasks", False),
                remap_tasks=scoring.get("remap_tasks", False),
                judge_model=judge_model or (),
                base_url=base_url,
                on_progress=count,
            )
        _finish_under(found, as_json)
        return
    with counting("judged") as count:
        scores = commands.tau2.score(
            files,
            strict=strict,
            sound=sound,
            judge_model=judge_model or (),
            base_url=base_url,
            engine=engine,
            ray_address=ray_address,
            processes=processes,
            on_progress=count,
            **scoring,
        )
    console = stderr() if as_json else stdout()
    for each in scores:
        _print_score(each, console)
    print_unreadable(scores.unreadable)
    agree = all(each.agrees for each in scores) and not scores.unreadable
    if as_json:
        readable = [each.to_dict() for each in scores]
        unreadable = [each.to_dict() for each in scores.unreadable]
        print_json({"agree": agree, "files": [*readable, *unreadable]})
    nothing_compared = any(not each.compared for each in scores)
    if scores.unreadable or nothing_compared or (fail_on_disagreement and not agree):
        raise typer.Exit(FAILED)


def _finish_under(found: "ScoresUnder", as_json: bool) -> None:
    console = stderr() if as_json else stdout()
    for each in found:
        _print_file_under(each, console)
    if len(found) > 1:
        first = found[0].found.first
        console.print(f"[bold]all {len(found)} files[/bold], compared with {first}")
        for name, totals in found.totals.items():
            _print(f"{name}: {_totals(totals)}", console)
    print_unreadable(found.unreadable)
    if as_json:
        print_json(found.to_dict())
    if found.unreadable:
        raise typer.Exit(FAILED)


def _print(words: str, console: Console) -> None:
    console.print(f"  {words}", soft_wrap=True)


def _print_record(score: "FileScore | FileUnder", console: Console) -> None:
    """Print the path of a file, and the faults of its record."""
    console.print(f"[bold]{inert(str(score.path))}[/bold]", soft_wrap=True)
    for mark in getattr(score, "marks", ()):
        _print(f"[yellow]{inert(mark)}[/yellow]", console)
    for each in score.findings:
        colour = "yellow" if each.weight == "remark" else "red"
        words = inert("; ".join((each.text, *each.evidence)))
        _print(f"[{colour}]{inert(each.kind)}[/{colour}]: {words}", console)


def _print_score(score: "FileScore", console: Console) -> None:
    """Print the faults of a record, then the numbers that follow from the new verdicts."""
    _print_record(score, console)
    _print_agreement(score, console)
    _print_judges(score.panel, console)
    if score.judged or score.open:
        _print_passes(score, console)
        version, source = score.found.version, score.found.record.version_from
        _print(f"judged by tau2-bench {version} ({source})", console)
    for one in score.disagreements[:_SHOWN]:
        _print(f"[red]differs[/red] {_disagreement(one)}", console)
    if len(score.disagreements) > _SHOWN:
        _print(f"and {len(score.disagreements) - _SHOWN} more; --json lists all", console)


def _print_agreement(score: "FileScore", console: Console) -> None:
    if score.compared:
        share = f" ({percent(score.agreeing / score.compared)})"
        _print(f"{score.agreeing} of {score.compared} recorded verdicts confirmed{share}", console)
    else:
        number = score.simulations
        _print(f"none of {number} simulations could be compared with a recorded verdict", console)
    for reason, number in score.skipped.items():
        _print(f"{number} not compared: {inert(reason)}", console)
    if score.not_replayable:
        _print(f"{score.not_replayable} cannot be replayed, and count as failures", console)


def _print_judges(panel: "JudgePanel", console: Console) -> None:
    for judge in panel.judges:
        kept = f"{judge.remembered} known from {judge.memory.path.name}"
        _print(inert(f"judge {judge.model_id}: {judge.asked} asked, {kept}"), console)
    for each in panel.agreements:
        words = (
            f"{each.first} and {each.second} agree on {_agreement(each.assertions)} of the "
            f"assertions and {_agreement(each.verdicts)} of the verdicts"
        )
        _print(inert(words), console)


def _agreement(found: "Agreement") -> str:
    if found.share is None:
        return "0 of 0"
    kappa = "undefined" if found.kappa is None else f"{found.kappa:.2f}"
    return f"{found.equal} of {found.total} ({percent(found.share)}, Cohen's kappa {kappa})"


def _print_passes(score: "FileScore", console: Console) -> None:
    _print(f"{_passes(score, 'passed:')}; {score.recorded_passes} as recorded", console)
    for k, value in score.pass_hat.items():
        _print(f"pass^{k} {estimate(value)}", console)
    if score.shortfall:
        _print(inert(score.shortfall), console)
    if score.open:
        _print(f"{score.open} depend on a judge (--judge-model)", console)
    if conventions := score.conventions:
        for line in conventions_in_words(conventions):
            _print(inert(line), console)
    if score.beside:
        print_variants(score.beside, console)


def _passes(score: "FileScore", word: str) -> str:
    """Format as ``passed: 22 of 50 (44%, 95% CI 30-59)``, of what has a verdict."""
    first = score.pass_hat.get(1)
    if not score.verdicts:
        return f"{word} no verdict on any of {score.planned}"
    share = score.passes / score.verdicts
    # Where tasks have different numbers of trials, the interval is about another mean.
    same = first is not None and first.value is not None and abs(first.value - share) < 1e-9
    interval = ""
    if first is not None and first.interval is not None and same:
        interval = f", 95% CI {in_percent(first.low, 0)}\u2013{in_percent(first.high, 0)}"
    of = f"{score.verdicts} with a verdict" if score.shortfall else str(score.planned)
    return f"{word} {score.passes} of {of} ({percent(share, 0)}{interval})"


def _disagreement(one: "Disagreement") -> str:
    first = shorten_line(one.differences[0], 120)
    more = f" (and {len(one.differences) - 1} more)" if len(one.differences) > 1 else ""
    return f"task {inert(one.task_id)}, trial {one.trial}: {inert(first)}{more}"


def _print_file_under(file: "FileUnder", console: Console) -> None:
    _print_record(file, console)
    for name, score in file.scores.items():
        _print(f"{name}: {_passes(score, 'passed')}", console)
        if name in file.totals:
            _print_changes(file, name, console)
    _print_judges(next(iter(file.scores.values())).panel, console)
    early = file.found.ended_early
    if early:
        _print(f"early end: {early}, which neither side ended, fail under every release", console)


def _print_changes(file: "FileUnder", name: str, console: Console) -> None:
    from maseval.benchmark.tau2.rescoring.releases import counted_reasons  # help must not load it

    changes = file.changes(name)
    reasons = counted_reasons(changes).most_common()
    _print(f"  from {file.found.first}: {_totals(file.totals[name])}", console)
    for way, label in _WAYS.items():
        counts = [f"{kind} {number}" for (direction, kind), number in reasons if direction == way]
        if counts:
            _print(f"  {label}: {inert(', '.join(counts))}", console)
    for each in sorted(changes, key=lambda each: each.direction == "open")[:_SHOWN]:
        why = shorten_line("; ".join(map(str, each.reasons)), 120)
        _print(f"  {_WAYS[each.direction]} {inert(str(each.trial))}: {inert(why)}", console)
    if len(changes) > _SHOWN:
        _print(f"  and {len(changes) - _SHOWN} more; --json lists all", console)


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
