"""How far looking through a run has come."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console


@contextmanager
def looking(console: Console) -> Iterator[Callable[[int, int], None] | None]:
    """On a terminal, how many simulations are explained already."""
    if not console.is_terminal:
        yield None
        return
    with console.status("looking") as status:

        def tell(done: int, total: int) -> None:
            if done % 10 == 0:
                status.update(f"{done} of {total} simulations looked at")

        yield tell
