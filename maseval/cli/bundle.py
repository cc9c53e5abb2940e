"""``maseval bundle``."""

from pathlib import Path
from typing import Annotated

import typer

from maseval import commands
from maseval.cli.console import inert, print_json, stderr
from maseval.cli.options import AsJson, RunName, examples

EXAMPLES = examples(
    ("maseval bundle last", "NAME.maseval.zip here, for others to check"),
    ("maseval bundle runs/mine --output paper/mine.zip", "elsewhere"),
)


def bundle(
    run: RunName,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "--out", "-o", help="The archive.", show_default="NAME.maseval.zip here"
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", "--force", help="Replace an existing file.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write a run as one archive that others can check and open with `maseval unbundle`.

    It holds the configuration, the log, the certificate, the report, the fingerprint of the data
    and the versions of all packages. The same run always gives the same bytes.
    """
    made = commands.bundle(run, output, overwrite=overwrite)
    for note in made.manifest["notes"]:
        stderr().print(f"[yellow]Note:[/yellow] {inert(note)}", highlight=False, soft_wrap=True)
    if as_json:
        print_json(made.to_dict())
    else:
        typer.echo(made.path)
