"""``maseval reliability``: consistency, harm, robustness and predictability on one sheet."""

from pathlib import Path
from typing import Unpack

from maseval import commands
from maseval.cli.command_line import with_examples
from maseval.cli.console import block_parts, chosen_stream, counting, print_json, print_parts
from maseval.cli.options import AsJson, option, runs_argument, with_scoring_options
from maseval.core.scoring_options import ScoringKeywords, ScoringOptions


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
