"""``maseval score`` and ``explain``: verdicts, judged again and explained."""

from typing import TYPE_CHECKING, Annotated, Unpack

import typer

from maseval import commands
from maseval.app.results.variants import conventions_in_words
from maseval.app.running.options import WORKER_PROCESSES
from maseval.cli.command_line import FAILED, with_examples
from maseval.cli.console import (
    Parts,
    chosen_stream,
    counting,
    inert,
    print_json,
    print_parts,
    print_unreadable,
    shorten_line,
    stdout,
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
    from maseval.benchmark.tau2.app.results.score import FileScore, FileUnder, ScoresUnder
    from maseval.benchmark.tau2.rescoring import ReleaseTotals
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
        "under each, and say which verdicts change from the first, and why.",
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
    if under is not None:
        chosen = scoring.get("as_recorded") or scoring.get("data_version")
        if chosen or fail_on_disagreement or engine != PROCESSES:
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
                judge_model=judge_model,
                base_url=base_url,
                on_progress=count,
            )
        _finish_under(found, as_json)
        return
    with counting("judged") as count:
        scores = commands.score(
            files,
            strict=strict,
            judge_model=judge_model,
            base_url=base_url,
            engine=engine,
            processes=processes,
            on_progress=count,
            **scoring,
        )
    for each in scores:
        print_parts(_score_parts(each), chosen_stream(as_json))
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
    console = chosen_stream(as_json)
    for each in found:
        print_parts(_file_under_parts(each), console)
    if len(found) > 1:
        first = found[0].found.first
        totals = (f"  {name}: {_totals(each)}" for name, each in found.totals.items())
        head = f"[bold]all {len(found)} files[/bold], compared with {first}"
        print_parts([head, *totals], console)
    print_unreadable(found.unreadable)
    if as_json:
        print_json(found.to_dict())
    if found.unreadable:
        raise typer.Exit(FAILED)


def _record_parts(score: "FileScore | FileUnder") -> Parts:
    """Yield the path of a file, and the faults of its record."""
    yield styled(score.path, "bold")
    yield from (f"  {styled(mark, 'yellow')}" for mark in getattr(score, "marks", ()))
    for each in score.findings:
        kind = styled(each.kind, "yellow" if each.weight == "remark" else "red")
        yield f"  {kind}: {inert('; '.join((each.text, *each.evidence)))}"


def _score_parts(score: "FileScore") -> Parts:
    """Yield the faults of a record, then the numbers that follow from the new verdicts."""
    yield from _record_parts(score)
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


def _file_under_parts(file: "FileUnder") -> Parts:
    yield from _record_parts(file)
    for name, score in file.scores.items():
        yield f"  {name}: {_passes(score, 'passed')}"
        if name in file.totals:
            yield from _change_parts(file, name)
    yield from _judge_parts(next(iter(file.scores.values())).judge)
    if early := file.found.ended_early:
        yield f"  early end: {early}, which neither side ended, fail under every release"


def _change_parts(file: "FileUnder", name: str) -> Parts:
    changes = file.changes(name)
    yield f"    from {file.found.first}: {_totals(file.totals[name])}"
    for each in sorted(changes, key=lambda each: each.direction == "open")[:_SHOWN]:
        yield f"    {_WAYS[each.direction]} {inert(str(each.trial))}"
    if len(changes) > _SHOWN:
        yield f"    and {len(changes) - _SHOWN} more; --json lists all"


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
        run,
        task,
        trial,
        domain=domain,
        embedded_tasks=embedded_tasks,
        remap_tasks=remap_tasks,
        data_version=data_version,
    )
    if as_json:
        print_json(found.to_dict())
    else:
        parts = section_parts(found.sections())
        print_parts([styled(found.simulation, "bold"), *parts], stdout())
