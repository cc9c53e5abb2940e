"""``maseval compare`` and ``maseval gate``."""

from pathlib import Path
from typing import Annotated, Unpack

import typer

from maseval import commands
from maseval.app.results.variants import Metric
from maseval.cli import completion
from maseval.cli.command_line import FAILED, WRONG_USE
from maseval.cli.console import counting, inert, print_blocks, print_json, stderr, stdout
from maseval.cli.groups import examples
from maseval.cli.options import (
    AsJson,
    Explain,
    RunOrResultsFile,
    flag,
    option,
    runs_argument,
    with_scoring_options,
)
from maseval.core.figures import between, in_points, p_is, percent
from maseval.core.scoring_options import ScoringKeywords, ScoringOptions
from maseval.core.words import count_of

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
    runs: list[str] = runs_argument("Runs or results files, two or more."),
    k: int = option(1, "The pass^k that is compared.", "-k"),
    metric: MetricOption = "pass",
    sound: bool = flag("The same as --metric sound.", "--sound"),
    plot: Path | None = option(None, "Draw pass^k against k into this file: SVG, PNG, PDF."),
    plot_cost: Path | None = option(
        None, "Draw cost against pass^k into this file: SVG, PNG, PDF."
    ),
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
    from maseval.app.comparing.blocks import comparison_blocks  # help must not load it

    console = stderr() if as_json else stdout()
    print_blocks(comparison_blocks(found), console)
    for drawn in found.drawn:
        console.print(f"Saved: {inert(str(drawn))}", soft_wrap=True)
    if as_json:
        print_json(found.to_dict())


GATE_EXAMPLES = examples(
    ("maseval gate last --baseline runs/main", "exit code 1 if the run is worse beyond chance"),
    ("maseval gate last --baseline main.json --margin 2", "a loss of two points is tolerated"),
    ("maseval gate last --baseline main --junit gate.xml --markdown gate.md", "for a CI service"),
)


@with_scoring_options()
def gate(
    run: RunOrResultsFile,
    baseline: str = option(
        ...,
        "The run to hold it against: a run or a results file.",
        autocompletion=completion.runs_or_files,
    ),
    k: int = option(1, "The pass^k that decides.", "-k"),
    metric: MetricOption = "pass",
    margin: float = option(0.0, "Loss that is tolerated, in percentage points."),
    alpha: float = option(0.05, "Accepted risk of calling a run worse when it is not."),
    allow_incomplete: bool = flag("Judge what has a verdict.", "--allow-incomplete"),
    min_comparable: float = option(80.0, "Share of the tasks that must be comparable, in percent."),
    allow_undecidable: bool = flag(
        "Pass where there are too few tasks to fail.", "--allow-undecidable"
    ),
    junit: Path | None = option(None, "Write JUnit XML to this file: a test for each task."),
    markdown: Path | None = option(None, "Write a summary in Markdown to this file."),
    report_url: str | None = option(
        None, "Where the run's HTML report is, for links in the summary."
    ),
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
