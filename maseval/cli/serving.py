"""A server in the foreground: what it says when it starts, meanwhile, and in the end."""

import signal
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from types import FrameType
from typing import NoReturn

from maseval.cli.console import stderr, stdout
from maseval.cli.text import inert
from maseval.core.engine.process import signal_handlers
from maseval.server import ReplayServer, ScriptServer, Served
from maseval.server.secrets import PLACEHOLDER

_COLOURS = {"played": "dim", "recorded": "green", "missed": "red", "refused": "yellow"}
_LISTED = 10


class Teller:
    """Prints what a server does, one line at a time."""

    def __init__(self, *, verbose: bool = False) -> None:
        self.verbose = verbose
        self._console = stdout()

    def say(self, words: str) -> None:
        """A line, which may have markup."""
        self._console.print(words, highlight=False, soft_wrap=True)

    def tell(self, served: Served) -> None:
        """One request; without ``verbose`` only if it got no answer."""
        if not (self.verbose or served.words):
            return
        colour = _COLOURS[served.outcome]
        line = f", line {served.line}" if served.line is not None else ""
        words = f": {inert(served.words)}" if served.words else ""
        asked = f"{inert(served.model)}, {served.messages} messages"
        self.say(f"[{colour}]{served.outcome}[/] {asked}{line}{words}")

    @contextmanager
    def warnings(self) -> Iterator[None]:
        """Warnings within become lines for people."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        for one in caught:
            words = f"[yellow]Warning:[/] {inert(str(one.message))}"
            stderr().print(words, highlight=False, soft_wrap=True)


def serve(server: ReplayServer | ScriptServer, teller: Teller) -> None:
    """Serve until Ctrl-C or SIGTERM, and sum up."""
    with _ended_by_signals():
        try:
            with suppress(KeyboardInterrupt):
                teller.say(f"Serving at [bold]{inert(server.url)}[/]; Ctrl-C ends it.")
                teller.say(f"OPENAI_BASE_URL={inert(server.url)} OPENAI_API_KEY={PLACEHOLDER}")
                server.serve()
        finally:
            _close(server, teller)
    _sum_up(server, teller)


def _close(server: ReplayServer | ScriptServer, teller: Teller) -> None:
    try:
        if under_way := server.under_way:
            teller.say(f"Waiting for what is being recorded ({under_way}); Ctrl-C gives it up.")
        server.close()
    except KeyboardInterrupt:
        server.patience = 0.0
        server.close()


def _sum_up(server: ReplayServer | ScriptServer, teller: Teller) -> None:
    colour = "red" if server.misses else "green"
    unused = server.unused
    teller.say(
        f"{server.played} played, {server.recorded} recorded, "
        f"[{colour}]{server.misses} missed[/], {len(unused)} never asked for{_lines(unused)}"
    )


def _lines(numbers: Sequence[int]) -> str:
    if not numbers:
        return ""
    more = ", …" if len(numbers) > _LISTED else ""
    word = "line" if len(numbers) == 1 else "lines"
    return f" ({word} {', '.join(map(str, numbers[:_LISTED]))}{more})"


def _ended_by_signals() -> AbstractContextManager[None]:
    """Both signals raise, also in a background job, where a shell has Ctrl-C ignored."""

    def end(number: int, frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    return signal_handlers({signal.SIGINT: end, signal.SIGTERM: end})
