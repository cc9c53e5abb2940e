"""``maseval tau2 score``."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Unpack

import typer
from rich.console import Console

from maseval import commands
from maseval.app.results.counting import conventions_in_words
from maseval.app.running.run_options import PROCESSES, RAY_ADDRESS
from maseval.cli import completion
from maseval.cli.command_line import FAILED
from maseval.cli.completion import quietly
from maseval.cli.console import counting, inert, print_json, shorten_line, stderr, stdout
from maseval.cli.options import (
    AsJson,
    JudgeAddress,
    JudgeModels,
    examples,
    with_scoring_options,
)
from maseval.cli.results import estimate
from maseval.cli.tau2.under import print_judges, print_under
from maseval.core.engine.engines import DEFAULT
from maseval.core.scoring_options import ScoringKeywords

if TYPE_CHECKING:  # help must not load what makes it
    from maseval.benchmark.tau2.app.results.score import Disagreement, FileScore, UnreadableFile
    from maseval.benchmark.tau2.app.results.score_under import ScoresUnder

EXAMPLES = examples(
    ("maseval tau2 score results.json", "a results file of tau2-bench, or several"),
    ("maseval tau2 score last --fail-on-disagreement", "a run of ours; exit code 1 if it differs"),
    ("maseval tau2 score theirs.json --domain airline", "a fork that calls its domain otherwise"),
    ("maseval tau2 score retail.json --judge-model gpt-4.1", "what 1.0.1 leaves to a judge"),
    ("maseval tau2 score theirs.json --under 0.2.0,1.0.1", "what another release would say"),
    ("maseval tau2 score runs/* --json", "for scripts"),
    ("maseval tau2 score runs/* --engine ray", "on all cores; --ray-address: on a cluster"),
)

_SHOWN = 12


@with_scoring_options()
def score(
    files: Annotated[
        list[str],
        typer.Argument(
            help="Results files, folders of them, or runs.",
            metavar="FILE",
            autocompletion=quietly(completion.runs_or_files),
        ),
    ],
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Count what the original could not replay as a disagreement."
        ),
    ] = False,
    judge_model: JudgeModels = None,
    base_url: JudgeAddress = None,
    fail_on_disagreement: Annotated[
        bool,
        typer.Option(
            "--fail-on-disagreement", help="Exit code 1 if a verdict differs or anything is wrong."
        ),
    ] = False,
    under: Annotated[
        str | None,
        typer.Option(
            help="Releases, such as 0.2.0,1.0.1,1.0.1+tasks.0.2.0: judge the same conversations "
            "under each, and say which verdicts change from the first, and why.",
        ),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(help="Where to judge: threads (this process), or ray (processes, clusters)."),
    ] = DEFAULT,
    ray_address: Annotated[str | None, typer.Option(help=f"{RAY_ADDRESS}.")] = None,
    processes: Annotated[int | None, typer.Option(help=f"{PROCESSES}.")] = None,
    as_json: AsJson = False,
    **scoring: Unpack[ScoringKeywords],
) -> None:
    """Judge recorded conversations again, and compare with the recorded rewards.

    Exit code 1 if a file cannot be read or holds nothing to compare.
    """
    if under is not None:
        chosen = scoring.get("as_recorded") or scoring.get("data_version")
        if chosen or fail_on_disagreement or engine != DEFAULT:
            raise typer.BadParameter(
                "--under names the releases and recomputes every verdict in this process; leave "
                "out --data-version, --as-recorded, --fail-on-disagreement and --engine"
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
        _print_under(found, as_json)
        return
    with counting("judged") as count:
        scores = commands.tau2.score(
            files,
            strict=strict,
            judge_model=judge_model or (),
            base_url=base_url,
            engine=engine,
            ray_address=ray_address,
            processes=processes,
            on_progress=count,
            **scoring,
        )
    for each in scores:
        _print_score(each, stderr() if as_json else stdout())
    _print_unreadable(scores.unreadable)
    agree = all(each.agrees for each in scores) and not scores.unreadable
    if as_json:
        files_in_json = [each.to_dict() for each in [*scores, *scores.unreadable]]
        print_json({"agree": agree, "files": files_in_json})
    nothing_compared = any(not each.compared for each in scores)
    if scores.unreadable or nothing_compared or (fail_on_disagreement and not agree):
        raise typer.Exit(FAILED)


def _print_under(found: "ScoresUnder", as_json: bool) -> None:
    print_under(found, stderr() if as_json else stdout())
    _print_unreadable(found.unreadable)
    if as_json:
        print_json(found.to_dict())
    if found.unreadable:
        raise typer.Exit(FAILED)


def _print_unreadable(files: Sequence["UnreadableFile"]) -> None:
    for each in files:
        words = f"[bold red]Error:[/] {inert(str(each.path))}: {inert(str(each.error))}"
        stderr().print(words, highlight=False, soft_wrap=True)


def _print_score(score: "FileScore", console: Console) -> None:
    """What is wrong with the record, then the numbers that follow from the new verdicts."""
    console.print(f"[bold]{inert(str(score.path))}[/bold]", soft_wrap=True)
    for mark in score.marks:
        console.print(f"  [yellow]{inert(mark)}[/yellow]", highlight=False, soft_wrap=True)
    for cause in score.causes:
        words = f"[red]{inert(cause.kind)}[/red]: {inert(str(cause).partition(': ')[2])}"
        console.print(f"  {words}", highlight=False, soft_wrap=True)
    _print_agreement(score, console)
    print_judges(score.panel, console)
    _print_passes(score, console)
    for one in score.disagreements[:_SHOWN]:
        console.print(f"  [red]differs[/red] {_disagreement(one)}", highlight=False, soft_wrap=True)
    if len(score.disagreements) > _SHOWN:
        console.print(f"  and {len(score.disagreements) - _SHOWN} more; --json lists all")


def _print_agreement(score: "FileScore", console: Console) -> None:
    if score.compared:
        share = f" ({score.agreeing / score.compared:.1%})"
        words = f"{score.agreeing} of {score.compared} recorded verdicts confirmed{share}"
    else:
        words = f"none of {score.simulations} simulations could be compared with a recorded verdict"
    console.print(f"  {words}", highlight=False)
    for reason, number in score.skipped.items():
        console.print(f"  {number} not compared: {inert(reason)}", highlight=False)
    if score.not_replayable:
        console.print(
            f"  {score.not_replayable} cannot be replayed, and count as failures", highlight=False
        )


def _print_passes(score: "FileScore", console: Console) -> None:
    if not score.judged and not score.open:
        return
    if score.open:
        _print_bounds(score, console)
        return
    first = score.pass_hat.get(1)
    share = score.passes / score.planned
    # Where tasks have different numbers of trials, the interval is about another mean.
    same = first is not None and first.value is not None and abs(first.value - share) < 1e-9
    interval = ""
    if first is not None and first.interval is not None and same:
        interval = f", 95% CI {100 * first.low:.0f}\u2013{100 * first.high:.0f}"
    console.print(
        f"  passed: {score.passes} of {score.planned} ({share:.0%}{interval}); "
        f"{score.recorded_passes} as recorded",
        highlight=False,
    )
    for k, value in score.pass_hat.items():
        console.print(f"  pass^{k} {estimate(value)}", highlight=False)
    for line in conventions_in_words(score.conventions):
        console.print(f"  {inert(line)}", highlight=False, soft_wrap=True)
    _print_release(score, console)


def _print_bounds(score: "FileScore", console: Console) -> None:
    """Where a judge must decide, the range in which the numbers are."""
    most = score.passes + score.open
    low, high = (number / score.planned for number in (score.passes, most))
    console.print(
        f"  passed: {score.passes} to {most} of {score.planned} ({low:.0%} to {high:.0%}): "
        f"{score.open} depend on a judge (--judge-model); {score.recorded_passes} as recorded",
        highlight=False,
    )
    for k, value in score.pass_hat.items():
        low, high = value.bounds or (0.0, 1.0)
        words = f"{low:.1%} if all unjudged fail, {high:.1%} if all pass"
        console.print(f"  pass^{k} {words}", highlight=False)
    _print_release(score, console)


def _print_release(score: "FileScore", console: Console) -> None:
    chosen = score.found.record.version_from
    console.print(f"  judged by tau2-bench {score.found.version} ({chosen})", highlight=False)


def _disagreement(one: "Disagreement") -> str:
    first = shorten_line(one.differences[0], 120)
    more = f" (and {len(one.differences) - 1} more)" if len(one.differences) > 1 else ""
    return f"task {inert(one.task_id)}, trial {one.trial}: {inert(first)}{more}"
