"""``maseval runs``, ``tag``, ``report``, ``export``, ``bundle``, ``sync``: runs and their files."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import typer
from rich.table import Table

from maseval import commands
from maseval.cli.command_line import FAILED, with_examples
from maseval.cli.console import (
    counting,
    format_score,
    here,
    inert,
    note,
    number_columns,
    print_json,
    print_parts,
    shorten_line,
    stderr,
    stdout,
    styled,
)
from maseval.cli.options import (
    AsJson,
    ByMeasure,
    Explain,
    RunOrResultsFile,
    argument,
    flag,
    option,
    runs_argument,
    with_scoring_options,
)
from maseval.core.recorded import mapping
from maseval.core.scoring_options import ScoringKeywords, ScoringOptions
from maseval.core.words import count_of, money, percent
from maseval.runs import RunState, default_root
from maseval.runs.config import mark_of, names_of_side

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.app.sharing.sync import SyncResult


_COLOURS = {"complete": "green", "running": "cyan", "incomplete": "yellow", "damaged": "red"}


@with_examples(
    ("maseval runs", "the runs below ./runs, the latest first"),
    ("maseval runs --tag baseline", "those with a tag"),
)
def runs(
    root: Path | None = argument(None, "The folder of runs, or one run.", show_default="./runs"),
    tag: list[str] | None = option(None, "Only runs with this tag (repeatable).", "--tag"),
    as_json: AsJson = False,
) -> None:
    """List runs: how far each has come, its score, who took part, and what it cost."""
    found = commands.runs(root, tags=tag or ())
    if as_json:
        print_json([_record(state) for state in found])
        return
    if not found:
        folder = inert(str(root or default_root()))
        way = "`maseval demo` makes one, `maseval runs FOLDER` lists those of a grid"
        way = "`maseval tag` gives tags" if tag else way
        with_tag = f" with tag {inert(', '.join(tag))}" if tag else ""
        stdout().print(f"No runs{with_tag} in {folder}; {way}.")
        return
    console = stdout()
    print_parts([_table(found)], console)
    for state in found:
        if state.unconfirmed:
            words = inert(f"{here(state.path)}: {state.unconfirmed}")
            console.print(f"[red]*[/red] {words}", soft_wrap=True)
    # The list reads no conversation: a verdict is checked once the run is shown.
    unchecked = next((each for each in found if each.pass_1 and not each.checked), None)
    if unchecked is not None:
        way = f"`maseval show {shlex.quote(here(unchecked.path))}` recomputes them"
        console.print(f"as recorded: verdicts that were not checked; {inert(way)}", soft_wrap=True)


def _table(found: Sequence[RunState]) -> Table:
    table = Table("run", "state", *number_columns("done", "pass^1"), "domains", "agent", "cost")
    if has_tags := any(state.annotations.tags for state in found):
        table.add_column("tags")
    for state in found:
        config = state.config or {}
        failed = f" [red]({state.failed} unfinished)[/red]" if state.failed else ""
        # Tasks without a domain stand under an empty name.
        domains = "+".join(filter(None, mapping(config, "tasks"))) or config.get("benchmark", "")
        table.add_row(
            inert(here(state.path)),
            styled(_state(state), _COLOURS[state.state]),
            f"{state.done}/{state.planned}{failed}",
            _score(state),
            inert(str(domains)),
            inert(_participant(config.get("agent"))),
            money(state.cost) if state.cost or state.tokens else "",
            *([inert(", ".join(state.annotations.tags))] if has_tags else []),
        )
    return table


def _state(state: RunState) -> str:
    if state.holder is not None:
        return f"running (process {state.holder.pid})"
    return f"{state.state}: {state.problem}" if state.problem else state.state


def _score(state: RunState) -> str:
    if state.pass_1 is None:
        return ""
    found = state.recomputed or state.pass_1
    shown = format_score(found)
    # Beside the number that holds, so that nobody takes the other one from the log.
    if state.recomputed:
        shown += f", [red]recorded {percent(state.pass_1['value'])}[/red]"
    if not state.checked:
        shown += " [yellow]as recorded[/yellow]"
    if mark := mark_of(state.config or {}):
        shown += f", {mark}"
    verdicts, planned = found.get("verdicts"), found.get("planned")
    if verdicts == planned:
        return shown
    return f"{shown}, {verdicts}/{count_of(planned or 0, 'verdict')}"


def _participant(given: object) -> str:
    """Name an agent or a user: its function, its model, or the script that plays it."""
    names = names_of_side(given)
    if player := mapping(given).get("rehearse"):
        names.append(f"rehearsed with {player}")
    return ", ".join(names)


_SAME = "state done failed planned started updated cost tokens problem unconfirmed checked config"


def _record(state: RunState) -> dict[str, object]:
    return {
        "path": str(state.path),
        **{name: getattr(state, name) for name in _SAME.split()},
        "pass^1": state.pass_1,
        "pass^1_recomputed": state.recomputed,
        "estimate": mark_of(state.config or {}),
        "tags": list(state.annotations.tags),
        "note": state.annotations.note,
    }


@with_examples(
    ("maseval tag last --add baseline", "a word to find the run by"),
    ("maseval tag runs/a runs/b --add paper --remove draft", "several runs, several tags"),
    ("maseval tag theirs.json --note 'from their paper, table 3'", "what to remember about it"),
    ("maseval tag last --note - < findings.txt", "a note from a file or a pipe"),
    ("maseval tag last", "print its tags and its note"),
)
def tag(
    runs: list[str] = runs_argument("Runs: folder, name or last; or results files of tau2-bench."),
    add: list[str] | None = option(None, "Add this tag (repeatable)."),
    remove: list[str] | None = option(None, "Remove this tag (repeatable)."),
    note: str | None = option(
        None, "The new note; - reads it from standard input, and '' removes it."
    ),
    as_json: AsJson = False,
) -> None:
    """Show or change the tags and the note of runs, which never change the results."""
    text = sys.stdin.read() if note == "-" else note
    found = commands.tag(runs, add or (), remove or (), note=text)
    if as_json:
        print_json(
            {str(path): {"tags": [*each.tags], "note": each.note} for path, each in found.items()}
        )
        return
    for path, each in found.items():
        tags = ", ".join(each.tags) or "no tags"
        line = f"{inert(here(path))}: {inert(tags)}"
        stdout().print(line, soft_wrap=True)
        if each.note is not None:
            stdout().print(inert(each.note), soft_wrap=True)


@with_examples(
    ("maseval report last", "report.html in the folder of the latest run"),
    ("maseval report own.jsonl", "what your own benchmark's FileResultLogger wrote"),
    ("maseval report theirs.json", "a results file of tau2-bench, its rewards recomputed"),
    ("maseval report careful hurried gold", "runs compared, in one file"),
)
@with_scoring_options()
def report(
    runs: list[str] = runs_argument(
        "A run: its folder, its name, or last; or a results file of tau2-bench. Several "
        "are compared."
    ),
    output: Path | None = option(None, "The HTML file.", "--output", "-o"),
    title: str | None = option(None, "Title of the page."),
    measure: ByMeasure = None,
    explain: Explain = True,
    **scoring: Unpack[ScoringKeywords],
) -> None:
    """Write a run, or several compared, as one HTML file that opens without server or network."""
    first, *others = runs
    with counting("explained") as count:
        page = commands.report(
            first,
            output,
            title=title,
            explain=explain,
            against=others,
            measure=measure,
            on_progress=count,
            **scoring,
        )
    typer.echo(page)


@with_examples(
    ("maseval export last --format csv", "simulations.csv: a line for each simulation"),
    ("maseval export runs --format parquet --table all --output tables", "everything below ./runs"),
    (
        "maseval export a b --format jsonl --table tool_calls --output -",
        "two runs, to standard output",
    ),
    ("maseval export theirs.json --format csv --as-recorded", "a results file, its own rewards"),
    ("maseval export last --format tau2-bench", "results files of v0.2.0, in the run's folder"),
    ("maseval export last --format atif", "a trajectory for each simulation, for other programs"),
)
@with_scoring_options()
def export(
    runs: list[str] = runs_argument(
        "Runs, folders that hold runs, results files, or files of reports."
    ),
    form: str | None = option(
        None,
        "parquet, csv or jsonl; atif (trajectories), eee (Every Eval Ever); or the files of the "
        "original: tau2-bench, macs.",
        "--format",
        show_default="by the extension of --output",
    ),
    table: list[str] | None = option(
        None,
        "runs, simulations, messages, agents, tool_calls, checks, findings, scores or all "
        "(repeatable).",
        show_default="simulations",
    ),
    output: Path | None = option(
        None,
        "The file (extension added if missing), - for standard output, or the "
        "folder for several tables.",
        "--output",
        "-o",
        show_default="TABLE.FORM here",
    ),
    single: bool = flag("With atif, all trajectories in one file, one on each line.", "--single"),
    overwrite: bool = flag("Replace existing files.", "--overwrite", "--force"),
    as_json: AsJson = False,
    **scoring: Unpack[ScoringKeywords],
) -> None:
    """Write runs as tables with typed columns, or as the files of their original benchmark.

    A table has the same columns whatever the runs. Rows are written as they are read; a file
    appears when it is complete. Parquet needs pyarrow.
    """
    from maseval.frames.export import export as write  # help must not load it

    if form in commands.export_formats():
        if table:
            raise typer.BadParameter(f"{form} has no tables; leave out --table")
        _export_files(runs, form, output, overwrite, single, ScoringOptions(**scoring), as_json)
        return
    if single:
        raise typer.BadParameter("--single is for --format atif")
    written = write(
        runs,
        to=form,
        tables=table or ["simulations"],
        output=output,
        overwrite=overwrite,
        **scoring,
    )
    if as_json:
        print_json({"tables": [each.to_dict() for each in written]})
        return
    for each in written:
        if each.path is not None:
            typer.echo(each.path)
        # Standard output has the paths alone, or with --output - the table itself.
        stderr().print(f"{inert(each.table)}: {count_of(each.rows, 'row')}")


def _export_files(
    runs: list[str],
    form: str,
    output: Path | None,
    overwrite: bool,
    single: bool,
    options: ScoringOptions,
    as_json: bool,
) -> None:
    if output is not None and len(runs) > 1:
        raise typer.BadParameter(f"several runs as {form} have no common --output; leave it out")
    written = [
        each
        for run in runs
        for each in commands.export(
            run, form, output, overwrite=overwrite, single=single, options=options
        )
    ]
    print_parts((styled(words, "yellow") for each in written for words in each.notes), stderr())
    if as_json:
        print_json({"files": [str(each.path) for each in written]})
        return
    for each in written:
        typer.echo(each.path)


@with_examples(
    ("maseval bundle last", "NAME.maseval.zip here, for others to check"),
    ("maseval bundle runs/mine --output paper/mine.zip", "elsewhere"),
    ("maseval bundle --open theirs.maseval.zip", "checked, and opened as runs/theirs"),
    ("maseval show theirs", "then use it like a run of your own"),
)
def bundle(
    run: str = argument(
        ...,
        "A run: its folder, its name, or last; with --open, an archive.",
    ),
    output: Path | None = option(
        None,
        "The archive; with --open, the folder to make.",
        "--output",
        "-o",
        show_default="NAME.maseval.zip here; its name below the runs",
    ),
    opened: bool = flag("Check an archive, and open it as a run.", "--open"),
    verify: bool = option(
        True, "With --open, recompute the rewards of the run.", "--verify/--no-verify"
    ),
    formats: list[str] | None = option(
        None, "Also carry the run as atif or eee (repeatable).", "--format"
    ),
    overwrite: bool = flag("Replace an existing file.", "--overwrite", "--force"),
    as_json: AsJson = False,
) -> None:
    """Write a run as one archive that others can check, or --open such an archive as a run.

    It holds the configuration, the log, the fingerprint of the data and the versions of all
    packages. The same run always gives the same bytes.

    An archive that holds anything else, unpacks to too much, or differs from its checksums or its
    log's seals is refused and nothing is written. Exit code 1 also if a recorded verdict does not
    hold, or the data here is not that of the run.
    """
    if opened:
        if formats:
            raise typer.BadParameter("--format is for writing a bundle; leave it out with --open")
        _open_bundle(run, output, verify, as_json)
        return
    made = commands.bundle(run, output, overwrite=overwrite, formats=formats or ())
    # Standard output has the path or the JSON, and nothing else.
    print_parts(map(note, made.manifest["notes"]), stderr())
    if as_json:
        print_json(made.to_dict())
    else:
        typer.echo(made.path)


def _open_bundle(file: str, output: Path | None, verify: bool, as_json: bool) -> None:
    found = commands.unbundle(file, output, verify=verify)
    print_parts(map(note, found.notes), stderr())
    if as_json:
        print_json(found.to_dict())
    else:
        typer.echo(found.path)
        for line in [*found.data, *filter(None, [found.verdicts])]:
            words = inert(shorten_line(line, 300))
            stderr().print(f"[red]differs[/red] {words}", soft_wrap=True)
        held = f"{count_of(found.simulations, 'simulation')}; the checksums and the log hold"
        why = "the recorded verdicts do not" if found.verdicts else "the recorded verdicts as well"
        if found.unchecked:
            why = f"the recorded verdicts were not checked: {found.unchecked}"
        stderr().print(inert(f"{held}; {why}"), soft_wrap=True)
    if not found.holds:
        raise typer.Exit(FAILED)


@with_examples(
    ("maseval sync last --to mlflow=http://localhost:5000", "the latest run, to an MLflow server"),
    ("maseval sync runs/mine --to wandb=my-project --to otel", "to two places at once"),
    ("WANDB_MODE=offline maseval sync last --to wandb", "into files for wandb sync"),
    ("maseval sync theirs.json --to langfuse --otel-content", "a results file, with all texts"),
)
def sync(
    run: RunOrResultsFile,
    to: list[str] = option(
        ..., "otel, langfuse, mlflow or wandb; =ADDRESS for another server (repeatable)."
    ),
    otel_content: bool = flag(
        "Include messages and tool arguments in the traces.", "--otel-content"
    ),
    as_json: AsJson = False,
) -> None:
    """Send a finished run to OpenTelemetry, Langfuse, MLflow or Weights & Biases.

    What was sent is noted in the run's folder: the same command again sends only what is new.
    """
    found = commands.sync(run, to, content=otel_content)
    if as_json:
        print_json([each.to_dict() for each in found])
        return
    for each in found:
        stdout().print(inert(_sync_words(each)), soft_wrap=True)


def _sync_words(each: "SyncResult") -> str:
    if each.run is None:
        return (
            f"{each.to} ({each.at}): {count_of(each.sent, 'trace')} sent, {each.before} sent before"
        )
    state = "sent" if each.sent else "unchanged since it was sent"
    return f"{each.to} ({each.at}): run {each.run} {state}"
