"""``maseval score`` and ``explain``: verdicts, judged again and explained."""

from typing import TYPE_CHECKING, Annotated, Unpack

import typer

from maseval import commands
from maseval.app.results.variants import conventions_in_words
from maseval.app.running.options import WORKER_PROCESSES
from maseval.cli.command_line import FAILED, with_examples
from maseval.cli.console import (
    Parts,
    counting,
    inert,
    print_files,
    print_result,
    shorten_line,
    styled,
)
from maseval.cli.options import (
    TASK_OF_RUN,
    AsJson,
    JudgeAddress,
    JudgeModel,
    RunOrResultsFile,
    Scoring,
    argument,
    flag,
    option,
    runs_argument,
    with_scoring_options,
)
from maseval.cli.results import estimate
from maseval.cli.show import section_parts
from maseval.core.engine.engines import PROCESSES
from maseval.core.figures import in_percent, percent
from maseval.core.scoring_options import ScoringKeywords

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.benchmark.tau2.app.results.score import FileScore
    from maseval.benchmark.tau2.rescoring import ReleaseTotals, ScoredUnder
    from maseval.benchmark.tau2.scoring.judge import RememberingJudge


_SHOWN = 12
_WAYS = {"up": "[green]up[/green]", "down": "[red]down[/red]", "open": "[yellow]judge[/yellow]"}


@with_examples(
    ("maseval score results.json", "a results file of tau2-bench, or several"),
    (
        "maseval score last --fail-on-disagreement",
        "a run of your own; exit code 1 if it differs",
    ),
    ("maseval score theirs.json --domain airline", "a fork with another name for its domain"),
    ("maseval score retail.json --judge-model gpt-4.1", "what 1.0.1 leaves to a judge"),
    ("maseval score theirs.json --under 0.2.0,1.0.1", "what another release would say"),
    ("maseval score runs/* --json", "for scripts"),
)
@with_scoring_options()
def score(
    files: list[str] = runs_argument("Results files, folders of them, or runs.", metavar="FILE"),
    strict: bool = flag("Count what the original could not replay as a disagreement.", "--strict"),
    judge_model: JudgeModel = None,
    base_url: JudgeAddress = None,
    fail_on_disagreement: bool = flag(
        "Exit code 1 if a verdict differs or anything is wrong.", "--fail-on-disagreement"
    ),
    under: str | None = option(
        None,
        "Releases, such as 0.2.0,1.0.1,1.0.1+tasks.0.2.0: judge the same conversations "
        "under each, and say which verdicts change from the first.",
    ),
    engine: str = option(
        PROCESSES,
        "Where to judge: processes (all cores, for large files) or threads (this process alone).",
    ),
    processes: int | None = option(None, f"{WORKER_PROCESSES}."),
    as_json: AsJson = False,
    **scoring: Unpack[ScoringKeywords],
) -> None:
    """Judge recorded conversations again, and compare with the recorded rewards.

    Exit code 1 if a file cannot be read or holds nothing to compare.
    """
    fixed = scoring.get("as_recorded") or scoring.get("data_version")
    if under is not None and (fixed or engine != PROCESSES):
        raise typer.BadParameter(
            "--under names the releases and recomputes every verdict in this process; leave "
            "out --data-version, --as-recorded and --engine"
        )
    with counting("judged") as count:
        scores = commands.score(
            files,
            strict=strict,
            under=() if under is None else under.split(","),
            judge_model=judge_model,
            base_url=base_url,
            engine=engine,
            processes=processes,
            on_progress=count,
            **scoring,
        )
    agree = all(each.agrees for each in scores) and not scores.unreadable
    print_files(scores, _score_parts, as_json, {"agree": agree})
    nothing_compared = any(not each.compared for each in scores)
    if scores.unreadable or nothing_compared or (fail_on_disagreement and not agree):
        raise typer.Exit(FAILED)


def _score_parts(score: "FileScore") -> Parts:
    """Yield the faults of a record, then the numbers that follow from the new verdicts."""
    yield styled(score.path, "bold")
    yield from (f"  {styled(mark, 'yellow')}" for mark in score.marks)
    for fault in score.findings:
        kind = styled(fault.kind, "yellow" if fault.weight == "remark" else "red")
        yield f"  {kind}: {inert('; '.join((fault.text, *fault.evidence)))}"
    if score.compared:
        share = f" ({percent(score.agreeing / score.compared)})"
        yield f"  {score.agreeing} of {score.compared} recorded verdicts confirmed{share}"
    else:
        number = score.simulations
        yield f"  none of {number} simulations could be compared with a recorded verdict"
    for reason, number in score.skipped.items():
        yield f"  {number} not compared: {inert(reason)}"
    if score.not_replayable:
        yield f"  {score.not_replayable} cannot be replayed, and count as failures"
    yield from _judge_parts(score.judge)
    if score.judged or score.open:
        yield from _pass_parts(score)
        version, source = score.found.version, score.found.record.version_from
        yield f"  judged by tau2-bench {version} ({source})"
    if score.under is not None:
        yield from _under_parts(score, score.under)
    for each in score.disagreements[:_SHOWN]:
        first, *others = each["differences"]
        where = f"task {inert(each['task_id'])}, trial {each['trial']}"
        more = f" (and {len(others)} more)" if others else ""
        yield f"  [red]differs[/red] {where}: {inert(shorten_line(first, 120))}{more}"
    if len(score.disagreements) > _SHOWN:
        yield f"  and {len(score.disagreements) - _SHOWN} more; --json lists all"


def _judge_parts(judge: "RememberingJudge | None") -> Parts:
    if judge is not None:
        kept = f"{judge.remembered} known from {judge.memory.path.name}"
        yield inert(f"  judge {judge.model_id}: {judge.asked} asked, {kept}")


def _pass_parts(score: "FileScore") -> Parts:
    if split := score.over_split:
        yield (
            f"  pass^1 between {percent(split['worst'])} and {percent(split['best'])} over all "
            f"{split['tasks']} tasks of the split; on the {split['tasks'] - split['missing']} that "
            "are there:"
        )
    yield f"  {_passes(score, 'passed:')}; {score.recorded_passes} as recorded"
    yield from (f"  pass^{k} {estimate(value)}" for k, value in score.pass_hat.items())
    if score.shortfall:
        yield f"  {inert(score.shortfall)}"
    if score.open:
        yield f"  {score.open} depend on a judge (--judge-model)"
    yield from (f"  {inert(line)}" for line in conventions_in_words(score.conventions))


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


def _under_parts(score: "FileScore", under: "ScoredUnder") -> Parts:
    """Yield the number under each later release, and the verdicts that change."""
    for name, later in score.later.items():
        yield f"  {name}: {_passes(later, 'passed')}"
        yield f"    from {under.first}: {_totals(under.totals[name])}"
        changes = under.changes(name)
        for each in sorted(changes, key=lambda each: each.direction == "open")[:_SHOWN]:
            yield f"    {_WAYS[each.direction]} {inert(str(each.trial))}"
        if len(changes) > _SHOWN:
            yield f"    and {len(changes) - _SHOWN} more; --json lists all"
    if early := under.ended_early:
        yield f"  early end: {early}, which neither side ended, fail under every release"


def _totals(totals: "ReleaseTotals") -> str:
    words = f"{totals.same} the same, {totals.up} up, {totals.down} down"
    if totals.open:
        words += (
            f", {totals.open} decided by a judge (all met: {totals.up_if_met} up, {totals.down} "
            f"down; none met: {totals.up} up, {totals.down_if_not_met} down)"
        )
    if totals.asks_judge:
        words += f"; {totals.asks_judge} need the judge"
    return words


@with_examples(
    ("maseval explain last retail/12", "the first trial that failed"),
    ("maseval explain theirs.json 12 3", "trial 3 in a results file of tau2-bench"),
    ("maseval explain last 12 --json", "for scripts"),
)
def explain(
    run: RunOrResultsFile,
    task: Annotated[str, TASK_OF_RUN],
    trial: int | None = argument(None, "Which trial.", show_default="first that failed"),
    domain: str | None = Scoring.domain,
    embedded_tasks: bool = Scoring.embedded_tasks,
    remap_tasks: bool = Scoring.remap_tasks,
    data_version: str | None = Scoring.data_version,
    as_json: AsJson = False,
) -> None:
    """Explain a verdict: what decided it, who failed, and what would have changed it."""
    found = commands.explain(
        *(run, task, trial),
        domain=domain,
        embedded_tasks=embedded_tasks,
        remap_tasks=remap_tasks,
        data_version=data_version,
    )
    parts = [styled(found.simulation, "bold"), *section_parts(found.sections())]
    print_result(found, parts, as_json)
