"""``maseval score``, ``explain``, ``comply``, and of tau2 ``certify`` and ``verify``: verdicts."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

import typer
from rich.table import Column, Table

from maseval import commands
from maseval.app.results.explained import lines_of
from maseval.cli.command_line import FAILED, with_examples
from maseval.cli.console import (
    Parts,
    counting,
    here,
    indent,
    inert,
    note,
    number_columns,
    print_files,
    print_json,
    print_result,
    shorten_line,
    stderr,
    stdout,
    styled,
)
from maseval.cli.options import (
    RUNS_OR_FILES,
    SCORING,
    TASK_OF_RUN,
    AsJson,
    JudgeAddress,
    JudgeModel,
    Overwrite,
    RunOrFile,
    RunOrResultsFile,
    argument,
    flag,
    load_domain,
    option,
    runs_argument,
    with_scoring_options,
)
from maseval.cli.results import estimate, measure_parts
from maseval.cli.show import section_parts
from maseval.core.scoring_options import ScoringKeywords
from maseval.core.words import count_of, percent

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.app.results.questions import ReviewedRun
    from maseval.benchmark.tau2.app.results.audit import RuleBook
    from maseval.benchmark.tau2.rescoring.recount import Recount


_SHOWN = 12


@with_examples(
    ("maseval score results.json", "a results file of tau2-bench, or several"),
    (
        "maseval score last --fail-on-disagreement",
        "a run of your own; exit code 1 if it differs",
    ),
    ("maseval score retail.json --judge-model gpt-4.1", "what 1.0.1 leaves to a judge"),
    ("maseval score theirs.json --data-version 1.0.1", "what another release would say"),
)
@with_scoring_options()
def score(
    files: list[str] = runs_argument("Results files or runs.", metavar="FILE"),
    judge_model: JudgeModel = None,
    base_url: JudgeAddress = None,
    fail_on_disagreement: bool = flag(
        "Exit code 1 if a verdict differs or anything is wrong.", "--fail-on-disagreement"
    ),
    as_json: AsJson = False,
    **scoring: Unpack[ScoringKeywords],
) -> None:
    """Judge recorded conversations again, and compare with the recorded rewards.

    Exit code 1 if a file holds nothing to compare.
    """
    with counting("judged") as count:
        scores = commands.score(
            files,
            judge_model=judge_model,
            base_url=base_url,
            on_progress=count,
            **scoring,
        )
    agree = all(each.agrees for each in scores)
    print_files(scores, _score_parts, as_json, {"agree": agree})
    # A file without recorded verdicts would agree with anything.
    nothing_compared = any(not each.compared for each in scores)
    if nothing_compared or (fail_on_disagreement and not agree):
        raise typer.Exit(FAILED)


def _score_parts(score: "Recount") -> Parts:
    """Yield the faults of a record, then the numbers that follow from the new verdicts."""
    yield styled(score.path, "bold")
    yield from (f"  {styled(mark, 'yellow')}" for mark in score.options.marks)
    for fault in score.findings:
        kind = styled(fault.kind, "yellow" if fault.weight == "remark" else "red")
        yield f"  {kind}: {inert('; '.join((fault.text, *fault.evidence)))}"
    if score.compared:
        share = f" ({percent(score.agreeing / score.compared)})"
        yield f"  {score.agreeing} of {score.compared} recorded verdicts confirmed{share}"
    else:
        number = len(score.simulations)
        yield f"  none of {number} simulations could be compared with a recorded verdict"
    for reason, number in score.skipped.items():
        yield f"  {number} not compared: {inert(reason)}"
    if score.not_replayable:
        yield f"  {score.not_replayable} cannot be replayed, and count as failures"
    yield from (styled(f"  {words}", "yellow") for words in score.judge_words)
    if score.verdicts or score.open:
        yield from _pass_parts(score)
        version, source = score.version, score.version_from
        yield f"  judged by tau2-bench {version} ({source})"
    disagreements = score.disagreements
    for each in disagreements[:_SHOWN]:
        first, *others = each["differences"]
        where = f"task {inert(each['task_id'])}, trial {each['trial']}"
        more = f" (and {len(others)} more)" if others else ""
        yield f"  [red]differs[/red] {where}: {inert(shorten_line(first, 120))}{more}"
    if len(disagreements) > _SHOWN:
        yield f"  and {len(disagreements) - _SHOWN} more; --json lists all"


def _pass_parts(score: "Recount") -> Parts:
    if split := score.over_split:
        yield (
            f"  pass^1 between {percent(split['worst'])} and {percent(split['best'])} over all "
            f"{split['tasks']} tasks of the split; on the {split['tasks'] - split['missing']} that "
            "are there:"
        )
    if score.trials_differ:
        low, high = score.trials_differ
        yield (
            f"  tasks have between {low} and {count_of(high, 'trial')} with a verdict: pass^1 is "
            "the mean over tasks, not the share of simulations that passed"
        )
    of = f"{score.verdicts} with a verdict" if score.shortfall else str(score.planned)
    yield f"  passed: {score.passes} of {of}; {score.recorded_passes} as recorded"
    yield from (f"  pass^{k} {estimate(value)}" for k, value in score.pass_hat.items())
    if score.shortfall:
        yield f"  {inert(score.shortfall)}"
    if score.open:
        yield f"  {score.open} depend on a judge (--judge-model)"


@with_examples(
    ("maseval explain last retail/12", "the first trial that failed"),
    ("maseval explain theirs.json 12 3", "trial 3 in a results file of tau2-bench"),
)
@with_scoring_options()
def explain(
    run: RunOrResultsFile,
    task: Annotated[str, TASK_OF_RUN],
    trial: int | None = argument(None, "Which trial.", show_default="first that failed"),
    as_json: AsJson = False,
    **scoring: Unpack[ScoringKeywords],
) -> None:
    """Explain a verdict: what decided it, who failed, and what would have changed it."""
    found = commands.explain(run, task, trial, **scoring)
    title = styled(found.line.simulation, "bold")
    parts = [title, *map(note, found.notes), *section_parts(found.sections)]
    print_result(found, parts, as_json)


@with_examples(
    ("maseval comply last", "pass^k without breaches found, and which rules were broken"),
    ("maseval comply theirs.json", "a results file of tau2-bench, or several"),
    ("maseval comply --rules airline", "the rules of a domain"),
)
@with_scoring_options()
def comply(
    files: Annotated[list[str] | None, RUNS_OR_FILES] = None,
    rules: str | None = option(
        None,
        "Show the rules of a domain instead; yours as FILE.py:NAME.",
        metavar="DOMAIN",
        callback=load_domain,
    ),
    as_json: AsJson = False,
    **scoring: Unpack[ScoringKeywords],
) -> None:
    """Check conversations against the rules of the policy.

    A pass says that the database ended right. The number without breaches found counts only passes
    in which no rule was found broken on the way: an upper bound, as rules go by records alone and
    do not read what was said.
    """
    if rules is not None:
        book = commands.tau2.rule_book(rules)
        print_result(book, _rule_parts(book), as_json)
        return
    # Files are optional only because --rules needs none.
    if not files:
        raise typer.BadParameter("name a run or a results file, such as `last`, or --rules DOMAIN")
    with counting("checked") as count:
        found = commands.comply(files, on_progress=count, **scoring)
    print_files(found, _review_parts, as_json)


def _review_parts(run: "ReviewedRun") -> Parts:
    """Yield the numbers of a run, the rules that found something, and where."""
    yield styled(here(run.path), "bold")
    yield from map(note, run.notes)
    yield from measure_parts(run.scores)
    if not run.found:
        return
    if not run.rules:
        yield "No findings."
        return
    table = Table(Column("rule", overflow="fold"), "found", *number_columns("in passes", "in all"))
    for each in run.rules:
        table.add_row(inert(each.rule), each.kind, str(each.passes), str(each.simulations))
    yield table
    shown = []
    # Passes first: only there a breach changes a number.
    for one, findings in sorted(run.found.items(), key=lambda each: each[0] not in run.passes):
        if told := [each for each in findings if each.is_breach]:
            outcome = "passed" if one in run.passes else "did not pass"
            shown.append((f"{styled(f'{one.task}, trial {one.trial}', 'bold')}, {outcome}", told))
    for title, told in shown[:_SHOWN]:
        yield title
        yield from (f"  {inert(line)}" for line in lines_of(told))
    if len(shown) > _SHOWN:
        yield f"and {len(shown) - _SHOWN} more; --json lists all"


def _rule_parts(book: "RuleBook") -> Parts:
    if not book.rules:
        yield f"The domain {inert(book.domain)} has no rules."
        return
    for each in book.rules:
        yield f"{styled(each.id, 'bold')} [dim]{each.kind.value}[/dim]"
        yield indent(f"{inert(each.text)} ({inert(each.place)})", 2)


@with_examples(
    ("maseval tau2 certify theirs.json", "are the recorded rewards right, is anything odd?"),
    ("maseval tau2 certify last --output cert.json", "write the certificate to a file"),
    ("maseval tau2 certify theirs.json --fail-on-suspicion", "exit code 1 if anything looks odd"),
    ("maseval tau2 certify theirs.json --json", "the certificate itself, for scripts"),
)
def certify(
    file: RunOrFile,
    output: Path | None = option(None, "File of the certificate.", "--output", "-o"),
    domain: str | None = SCORING["domain"],
    partial: bool = flag("Expect the listed tasks, not every task of their split.", "--partial"),
    data_version: str | None = SCORING["data_version"],
    fail_on_suspicion: bool = flag(
        "Exit code 1 if anything looks odd, such as times out of order.", "--fail-on-suspicion"
    ),
    overwrite: Overwrite = False,
    as_json: bool = flag("Print the certificate.", "--json"),
) -> None:
    """Recompute every reward, and write a record of what was recomputed.

    Exit code 1 if the numbers cannot be trusted: rewards that are not confirmed, missing trials,
    foreign or edited tasks, relabelled simulations.
    """
    found = commands.tau2.certify(
        file,
        output,
        domain=domain,
        partial=partial,
        data_version=data_version,
        overwrite=overwrite,
    )
    if as_json:
        # The text ends with a line break already, as it does in the file of --output.
        typer.echo(found.to_json(), nl=False)
    else:
        stdout().print(inert(found.text()), soft_wrap=True)
    if output is not None:
        stderr().print(f"Saved: {inert(str(output))}", soft_wrap=True)
    if not found.is_sound or (fail_on_suspicion and not found.is_clean):
        raise typer.Exit(FAILED)


@with_examples(
    ("maseval tau2 verify cert.json theirs.json", "is the file what was certified?"),
    ("maseval tau2 verify cert.json last --json", "for scripts"),
)
def verify(
    certificate: Annotated[Path, typer.Argument(help="What `maseval tau2 certify` wrote.")],
    file: RunOrFile,
    domain: str | None = SCORING["domain"],
    as_json: AsJson = False,
) -> None:
    """Recompute what a certificate says, and list what differs; exit code 1 if anything does.

    A certificate that was made to fit an edited file goes undetected: make one of your own.
    """
    found = commands.tau2.verify(certificate, file, domain=domain)
    if as_json:
        print_json({"holds": not found, "differences": found})
    else:
        console = stdout()
        for difference in found:
            console.print(f"[red]differs[/red] {inert(shorten_line(difference, 300))}")
        holds = "[green]The certificate holds.[/green]"
        console.print("The certificate does not hold." if found else holds, soft_wrap=True)
    if found:
        raise typer.Exit(FAILED)
