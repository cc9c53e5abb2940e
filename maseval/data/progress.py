"""What the person at the terminal sees of a download."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class FetchProgress:
    """Bars and lines on standard error; ``verbose`` 0 is silent, 1 a summary, 2 names each file."""

    def __init__(self, verbose: int = 1, benchmark: str = "benchmark") -> None:
        self.verbose = verbose
        self.benchmark = benchmark

    def note(self, text: str) -> None:
        self._line(1, text)

    def detail(self, text: str) -> None:
        self._line(2, text)

    @contextmanager
    def bar(self, label: str, total: int) -> Iterator[Callable[[int], object]]:
        """Yield the function to call with each number of bytes received.

        Without a terminal to redraw on, the bar is one line that says what has begun.
        """
        if self.verbose < 1 or not sys.stderr.isatty():
            self.note(f"{label}: {total / 1e6:.1f} MB")
            yield lambda received: None
            return
        from tqdm import tqdm

        with tqdm(desc=label, total=total, unit="B", unit_scale=True, file=sys.stderr) as bar:
            yield bar.update

    def _line(self, level: int, text: str) -> None:
        if self.verbose >= level:
            print(f"{self.benchmark} data: {text}", file=sys.stderr, flush=True)
