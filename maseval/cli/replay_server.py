"""``maseval replay-server``."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from maseval import commands
from maseval.cli.console import inert, stderr, stdout
from maseval.cli.errors import FAILED
from maseval.cli.options import Host, KeyVariable, Port, examples
from maseval.cli.signals import ended_by_signals

if TYPE_CHECKING:  # help must not load a server
    from maseval.server import ReplayServer, ScriptServer, Served

EXAMPLES = examples(
    (
        "maseval replay-server tape.jsonl --record --upstream https://api.openai.com/v1",
        "pass requests on to a provider, and keep every answer",
    ),
    ("maseval replay-server tape.jsonl", "play them: no network, no key, no cost"),
    (
        "maseval tau2 run --domain retail --base-url http://127.0.0.1:8765/v1 "
        "--agent-model openai/gpt-4.1 --user-model openai/gpt-4.1",
        "a run that asks this server, in another terminal",
    ),
    ("maseval replay-server --script replies.json", "no tape, only a list of replies"),
)

_COLOURS = {"played": "dim", "recorded": "green", "missed": "red", "refused": "yellow"}
_LISTED = 10


def replay_server(
    tape: Annotated[Path | None, typer.Argument(help="The tape.", show_default=False)] = None,
    record: Annotated[
        bool,
        typer.Option(
            "--record", help="Ask --upstream for what the tape does not have, and record it."
        ),
    ] = False,
    upstream: Annotated[
        str | None, typer.Option(help="Base URL of the provider to record.")
    ] = None,
    key_env: KeyVariable = "OPENAI_API_KEY",
    script: Annotated[
        Path | None, typer.Option(help="Play this JSON list of replies instead of a tape.")
    ] = None,
    host: Host = "127.0.0.1",
    port: Port = 8765,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print a line for every request.")
    ] = False,
) -> None:
    """Serve recorded answers of a model over OpenAI's protocol, or record them.

    The same question gets the same answer; one that is not on the tape is refused.

    Ctrl-C stops it, with exit code 1 if a request was not on the tape.
    """
    printer = _Printer(verbose=verbose)
    with printer.warnings():
        server = commands.replay_server(
            tape,
            record=record,
            upstream=upstream,
            key_env=key_env,
            script=script,
            host=host,
            port=port,
            on_request=printer.report,
        )
    _serve(server, printer)
    if server.misses:
        raise typer.Exit(FAILED)


class _Printer:
    """Prints what a server does, one line at a time."""

    def __init__(self, *, verbose: bool = False) -> None:
        self.verbose = verbose
        self._console = stdout()

    def say(self, words: str) -> None:
        """A line, which may have markup."""
        self._console.print(words, highlight=False, soft_wrap=True)

    def report(self, served: "Served") -> None:
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


def _serve(server: "ReplayServer | ScriptServer", printer: _Printer) -> None:
    """Serve until Ctrl-C or SIGTERM, and sum up."""
    from maseval.server.secrets import PLACEHOLDER

    with ended_by_signals():
        try:
            with suppress(KeyboardInterrupt):
                printer.say(f"Serving at [bold]{inert(server.url)}[/] (Ctrl-C ends it)")
                printer.say(f"OPENAI_BASE_URL={inert(server.url)} OPENAI_API_KEY={PLACEHOLDER}")
                server.serve()
        finally:
            _close(server, printer)
    _sum_up(server, printer)


def _close(server: "ReplayServer | ScriptServer", printer: _Printer) -> None:
    try:
        if under_way := server.under_way:
            printer.say(f"Waiting for what is being recorded ({under_way}); Ctrl-C gives it up.")
        server.close()
    except KeyboardInterrupt:
        server.patience = 0.0
        server.close()


def _sum_up(server: "ReplayServer | ScriptServer", printer: _Printer) -> None:
    colour = "red" if server.misses else "green"
    unused = server.unused
    printer.say(
        f"{server.played} played, {server.recorded} recorded, "
        f"[{colour}]{server.misses} missed[/], {len(unused)} never asked for{_lines(unused)}"
    )


def _lines(numbers: Sequence[int]) -> str:
    if not numbers:
        return ""
    more = ", …" if len(numbers) > _LISTED else ""
    word = "line" if len(numbers) == 1 else "lines"
    return f" ({word} {', '.join(map(str, numbers[:_LISTED]))}{more})"
