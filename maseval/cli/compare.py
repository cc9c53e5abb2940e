"""``maseval compare``, ``gate``, ``plan``, ``reliability``: runs against each other, by numbers."""

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import typer
from rich.table import Table

from maseval import commands
from maseval.cli.command_line import FAILED, WRONG_USE, with_examples
from maseval.cli.console import (
    Parts,
    block_parts,
    chosen_stream,
    counting,
    duration,
    format_score,
    inert,
    natural_width,
    note,
    print_json,
    print_parts,
    print_result,
    stdout,
    styled,
)
from maseval.cli.options import (
    AsJson,
    ByMeasure,
    Explain,
    RunOrResultsFile,
    flag,
    option,
    runs_argument,
    with_scoring_options,
)
from maseval.cli.run_file import read_run_file
from maseval.core.scoring_options import ScoringKeywords, ScoringOptions
from maseval.core.words import between, count_of, in_percent, in_points, money, p_is, percent

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.app.comparing.gate import Gate
    from maseval.stats.forecast import Forecast


@with_examples(
    ("maseval compare careful hurried", "two runs below ./runs: which is better, how sure"),
    ("maseval compare last theirs.json -k 4", "a run and a results file, by pass^4"),
    ("maseval compare a b c", "every pair of several"),
    ("maseval compare a b --json", "for scripts"),
)
@with_scoring_options()
def compare(
    runs: list[str] = runs_argument("Runs or results files, two or more."),
    k: int = option(1, "The pass^k that is compared.", "-k"),
    measure: ByMeasure = None,
    anyway: bool = flag(
        "Compare runs even if judged differently or under different rules.", "--anyway"
    ),
    explain: Explain = True,
    as_json: AsJson = False,
    **scoring: Unpack[ScoringKeywords],
) -> None:
    """Compare runs, paired by task: the difference, how sure it is, and what would decide it.

    Every reward is recomputed first.
    """
    with counting("judged") as count:
        found = commands.compare(
            runs,
            k=k,
            options=ScoringOptions(**scoring),
            anyway=anyway,
            explain=explain,
            measure=measure,
            on_progress=count,
        )
    from maseval.app.comparing.blocks import comparison_blocks  # help must not load it

    print_parts(block_parts(comparison_blocks(found)), chosen_stream(as_json))
    if as_json:
        print_json(found.to_dict())


@with_examples(
    ("maseval gate last --baseline runs/main", "exit code 1 if the run is worse beyond chance"),
    ("maseval gate last --baseline main.json --margin 2", "a loss of two points is tolerated"),
    ("maseval gate last --baseline main --junit gate.xml --markdown gate.md", "for a CI service"),
)
@with_scoring_options()
def gate(
    run: RunOrResultsFile,
    baseline: str | None = option(
        None,
        "Baseline to compare with: a run or a results file.",
    ),
    at_least: float | None = option(
        None, "The pass^1 that the run must be shown to reach, in percent; needs no baseline."
    ),
    k: int = option(1, "The pass^k that decides.", "-k"),
    measure: ByMeasure = None,
    margin: float = option(0.0, "Loss that is tolerated, in percentage points."),
    alpha: float = option(0.05, "Accepted risk of calling a run worse when it is not."),
    allow_incomplete: bool = flag(
        "Judge an incomplete run by the verdicts it has.", "--allow-incomplete"
    ),
    min_comparable: float = option(80.0, "Share of the tasks that must be comparable, in percent."),
    allow_undecidable: bool = flag("Accept a result that is not decided.", "--allow-undecidable"),
    junit: Path | None = option(None, "Write JUnit XML to this file: a test for each task."),
    markdown: Path | None = option(None, "Write a summary in Markdown to this file."),
    anyway: bool = flag(
        "Compare runs even if judged differently or under different rules.", "--anyway"
    ),
    explain: Explain = True,
    as_json: AsJson = False,
    **scoring: Unpack[ScoringKeywords],
) -> None:
    """Fail if a run is worse than its baseline beyond what chance explains.

    The exit code is 0 if it is not shown to be worse, 1 if it is, and 2 if the two cannot be
    compared, or are too small to show any loss. With --at-least it is also 1 if the floor is
    missed, and 2 if that is not decided. Files are written wherever they are compared.
    """
    from maseval.app.comparing.gate import Floor, Gate, floor_of  # help must not load it
    from maseval.core.storage.files import write_bytes

    floor = None if at_least is None else at_least / 100
    found: Gate | Floor
    with counting("judged") as count:
        if baseline is None:
            if floor is None:
                raise typer.BadParameter("give a --baseline, or a floor with --at-least")
            found = floor_of(
                run,
                floor,
                alpha=alpha,
                allow_incomplete=allow_incomplete,
                options=ScoringOptions(**scoring),
                measure=measure,
            )
        else:
            found = commands.gate(
                run,
                baseline,
                k=k,
                margin=margin / 100,
                alpha=alpha,
                allow_incomplete=allow_incomplete,
                min_comparable=min_comparable / 100,
                at_least=floor,
                anyway=anyway,
                explain=explain,
                options=ScoringOptions(**scoring),
                measure=measure,
                on_progress=count,
            )
    # Files are written before the exit code is decided: a failed gate needs them most.
    if junit is not None:
        write_bytes(junit, found.to_junit(allow_undecidable))
    if markdown is not None:
        write_bytes(markdown, found.to_markdown().encode())
    whole, held = (found, found.floor) if isinstance(found, Gate) else (None, found)
    if whole:
        print_parts(_gate_parts(whole, allow_undecidable), chosen_stream(as_json))
    if held:
        print_parts([inert(str(held))], chosen_stream(as_json))
    if as_json:
        print_json(found.to_dict())
    # Floor and comparison are judged together, and the worse of the two decides.
    verdicts = {whole and whole.verdict, held and held.requirement.verdict}
    if verdicts & {"worse", "missed"}:
        raise typer.Exit(FAILED)
    if verdicts & {"undecidable", "undecided"} and not allow_undecidable:
        raise typer.Exit(WRONG_USE)


def _gate_parts(found: "Gate", allow_undecidable: bool) -> Parts:
    yield from map(note, found.cautions)
    main, span = found.main, found.main.interval
    reach = f"{between(span.low, span.high)} ({percent(span.level, 0)} interval)"
    yield (
        f"{main.name}: {percent(main.first)} before, {percent(main.second)} now, "
        f"[bold]{in_points(main.difference)}[/bold] percentage points {reach}, "
        f"{p_is(main.test.p_value)} (two-sided); {count_of(len(found.fell), 'task')} fell, "
        f"{len(found.rose)} rose"
    )
    question = "" if found.open_question is None else f": {found.open_question}"
    if found.verdict == "worse":
        yield "[red]worse[/red]"
    elif found.verdict == "not worse":
        yield f"[green]not shown to be worse[/green]{inert(question)}"
    else:
        flag = "--allow-undecidable"
        way = f"passed, as {flag} says" if allow_undecidable else f"{flag} accepts it"
        yield styled(f"not decided{question}; {way}", "yellow")


@with_examples(
    ("maseval plan last --difference 5", "what it takes to show a gain of 5 points over a run"),
    ("maseval plan last --precision 4", "or to know its pass^1 to within 4 points"),
    ("maseval plan --tasks 50 --rate 60 --difference 10", "no run yet: stated rates"),
    (
        "maseval plan grid.toml --between system=react,team --difference 5",
        "two levels of a grid, by the cells that have run; with --rate 60 before any has",
    ),
    ("maseval plan last --labels", "how many conversations to label, for which interval"),
)
def plan(
    context: typer.Context,
    runs: list[str] | None = runs_argument(
        "A pilot or earlier run; or the folder or FILE.toml of a grid.",
        default=None,
    ),
    difference: float | None = option(None, "The difference to show, in percentage points."),
    precision: float | None = option(
        None, "Target half-width of the interval, in percentage points."
    ),
    tasks: int | None = option(None, "Number of tasks, if no run is given."),
    rate: float | None = option(None, "The pass rate, in percent."),
    between: str | None = option(
        None, "Two levels of a factor of a grid: system=react,team.", "--between"
    ),
    measure: ByMeasure = None,
    labels: bool = flag(
        "Plan labels: how many narrow a number that a judge counted in RUN, and how far.",
        "--labels",
    ),
    about: str | None = option(None, "With --labels: the question, such as policy."),
    judge: str | None = option(None, "With --labels: the judge; none for labels alone."),
    as_json: AsJson = False,
) -> None:
    """Say what a question costs before it is run: trials, simulations, money and time."""
    if labels:
        if runs is None or len(runs) != 1 or any((difference, precision, tasks, rate, between)):
            raise typer.BadParameter("--labels takes one run, and only --about and --judge")
        planned = commands.plan_labels(runs[0], about=about, judge=judge)
        return print_result(planned, map(inert, planned.lines), as_json)
    cells = 1.0
    if runs and runs[0].endswith(".toml"):
        from maseval.cli.run_set import RunSet  # loads what runs need

        path = Path(runs[0])
        grid = RunSet.of(path, read_run_file(path, context), context)
        # With a stated rate no cell needs to have run: they are only counted.
        runs = [] if rate is not None else [str(grid.folder)]
        if rate is not None:
            tasks, cells = grid.compared_tasks(between or "")
    found = commands.plan(
        runs or (),
        tasks=tasks,
        rate=None if rate is None else rate / 100,
        difference=None if difference is None else difference / 100,
        precision=None if precision is None else precision / 100,
        between=between,
        cells=cells,
        measure=measure,
    )
    print_result(found, _forecast_parts(found), as_json)


def _forecast_parts(found: "Forecast") -> Parts:
    planned, table = found.about, _table(found)
    # A rate that was stated has no interval.
    known = percent(planned.rate) if planned.score is None else format_score(planned.score)
    yield f"{count_of(planned.tasks, 'task')}, {planned.measure} {known}"
    if natural_width(table) > stdout().width:  # no number is cut as long as there is any room
        table.box, table.padding = None, (0, 1, 0, 0)
    yield table
    yield from (styled(line, "bold") for line in found.answers)
    yield from (styled(line, "dim") for line in found.notes)


_WHICH_TASKS = ("these\ntasks", "tasks\nlike\nthese")


def _table(found: "Forecast") -> Table:
    about = found.about
    table = Table(
        title="Smallest difference that is found in 4 of 5 cases, and half-width (±), in points",
        title_justify="left",
    )
    # Broken so that all of it fits into 80 columns.
    names = ["trials", "simula-\ntions"]
    names += [f"{of}\n{on}" for of in ("differ-\nence on", "± on") for on in _WHICH_TASKS]
    names += ["cost"] * (about.cost is not None) + ["time"] * (about.seconds is not None)
    for name in names:
        table.add_column(name, justify="right")
    for row in found.rows:
        figures = (row.detectable, row.detectable_like, row.half_width, row.half_width_like)
        cells = [str(row.trials), str(row.simulations)]
        cells += ["none" if each is None else in_percent(each) for each in figures]
        cells += [money(row.cost)] * (about.cost is not None)
        cells += [duration(row.seconds)] * (about.seconds is not None)
        table.add_row(*cells)
    return table


@with_examples(
    ("maseval reliability last", "consistency and harm, from the trials that are there"),
    ("maseval reliability plain faulty", "a run, and the same with --perturb faults=0.2"),
    ("maseval reliability a b --page sheet.html", "two systems side by side, also as a page"),
)
@with_scoring_options()
def reliability(
    runs: list[str] = runs_argument("Runs, results files, or the folder of a grid."),
    page: Path | None = option(None, "Write the sheet to this file as an HTML page."),
    as_json: AsJson = False,
    **scoring: Unpack[ScoringKeywords],
) -> None:
    """Show how reliable a system is: consistent, harmless, robust, and sure of the right things.

    A run with --perturb belongs to the run of the same agent without it; any other run is a system
    of its own.
    """
    with counting("read") as count:
        found = commands.reliability(runs, options=ScoringOptions(**scoring), on_progress=count)
    from maseval.app.comparing.reliability_blocks import (  # help must not load it
        sheet_blocks,
        sheet_page,
    )

    if page is not None:
        from maseval.core.storage.files import write_bytes  # few write a page

        write_bytes(page, sheet_page(found).encode())
    print_parts(block_parts(sheet_blocks(found)), chosen_stream(as_json))
    if as_json:
        print_json(found.to_dict())
