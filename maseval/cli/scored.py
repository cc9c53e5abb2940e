"""What judging again found, in the terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

from maseval.cli.tables import estimate
from maseval.cli.text import inert, shortened
from maseval.commands.tau2.agreement import FileScore

_SHOWN = 20


@contextmanager
def counter(console: Console) -> Iterator[Callable[[FileScore], None] | None]:
    """On a terminal, how many simulations are judged already."""
    if not console.is_terminal:
        yield None
        return
    with console.status("judging") as status:

        def tell(score: FileScore) -> None:
            if score.simulations % 10 == 0:
                status.update(f"{inert(score.path.name)}: {score.simulations} simulations judged")

        yield tell


def print_score(score: FileScore, console: Console) -> None:
    """Agreement, disagreements, and the numbers that follow from the new verdicts."""
    console.print(f"[bold]{inert(str(score.path))}[/bold]", soft_wrap=True)
    share = score.agreeing / score.compared if score.compared else 1.0
    console.print(
        f"  {score.simulations} simulations, {score.compared} compared: "
        f"{score.agreeing} agree ({share:.2%}), {len(score.disagreements)} differ"
    )
    for reason, number in score.skipped.items():
        console.print(f"  {number} not compared: {inert(reason)}")
    if score.not_replayable:
        console.print(f"  {score.not_replayable} cannot be replayed, and count as failures")
    console.print(f"  passed: {score.passes} now, {score.recorded_passes} as recorded")
    for k, value in score.pass_hat.items():
        console.print(f"  pass^{k} {estimate(value)}", highlight=False)
    for one in score.disagreements[:_SHOWN]:
        console.print(f"  [red]differs[/red] task {inert(one.task_id)}, trial {one.trial}")
        for difference in one.differences:
            console.print(f"    {inert(shortened(difference, 300))}", highlight=False)
    if len(score.disagreements) > _SHOWN:
        console.print(f"  and {len(score.disagreements) - _SHOWN} more; --json lists all")
