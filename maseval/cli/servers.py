"""``maseval view`` and ``replay-server``: what serves until Ctrl-C."""

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from maseval import commands
from maseval.cli.command_line import FAILED, print_error, with_examples
from maseval.cli.console import ended_by_signals, inert, stdout, telling
from maseval.cli.options import argument, flag, option
from maseval.core.words import count_of

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.server import ReplayServer, Served


@with_examples(
    ("maseval view", "all runs below ./runs, in the browser"),
    ("maseval view last", "the latest run, live while it is running"),
    ("maseval view theirs.json", "a results file of tau2-bench, its rewards recomputed"),
    ("maseval view /data/runs", "another folder"),
    ("maseval view last --write", "label its conversations, to correct what a judge counted"),
    ("maseval view --host 0.0.0.0 --no-browser", "for other machines, which need the token"),
    ("maseval view --export site", "all runs as a folder of pages that needs no server"),
)
def view(
    folder: Path | None = argument(
        None, "A folder of runs, or a run or results file to begin with.", show_default="./runs"
    ),
    port: int = option(8766, "Port to listen on; 0 picks a free one.", "--port", "-p"),
    host: str = option("127.0.0.1", "Where to listen; other machines need the token it prints."),
    browser: bool = option(True, "Open the page in the browser.", "--browser/--no-browser"),
    write: bool = flag("Let the page write labels and notes (default: read only).", "--write"),
    export: Path | None = option(
        None, "Write a folder of pages that need no server, and serve nothing."
    ),
) -> None:
    """Browse all runs of a folder in the browser; running ones are live.

    The page only reads, and is served on this machine only, unless --host says otherwise.

    Ctrl-C ends it.
    """
    if export is not None:
        return _write_site(export, folder)
    server, address, root = commands.view(folder, host=host, port=port, writes=write)
    # The server comes last, so that it has closed before the Ctrl-C that ends it is dropped.
    with ended_by_signals(), suppress(KeyboardInterrupt), server:
        _say(f"Viewing {inert(str(root))} at [bold]{inert(address)}[/]; Ctrl-C ends it.")
        if browser:
            import webbrowser

            webbrowser.open(address)
        server.wait()


def _write_site(target: Path, folder: Path | None) -> None:
    with ended_by_signals(), telling() as show:
        site = commands.export_site(target, folder, on_progress=show)
    for name, why in site.unreadable.items():
        print_error(f"{name}: {why}")
    _say(
        f"Wrote {count_of(site.runs, 'run')} with {count_of(site.simulations, 'simulation')} "
        f"({site.bytes / 1e6:.1f} MB); open [bold]{inert(str(site.folder / 'index.html'))}[/]"
    )


_COLOURS = {"played": "dim", "recorded": "green", "missed": "red", "refused": "yellow"}


@with_examples(
    (
        "maseval replay-server answers --record --upstream https://api.openai.com/v1",
        "pass requests on to a provider, and keep every answer",
    ),
    ("maseval replay-server answers", "play them: no network, no key, no cost"),
    (
        "maseval tau2 run --domain retail --base-url http://127.0.0.1:8765/v1 "
        "--agent-model openai/gpt-4.1 --user-model openai/gpt-4.1",
        "a run that asks this server, in another terminal",
    ),
)
def replay_server(
    folder: Path = argument(..., "Folder of recorded answers."),
    record: bool = flag("Ask --upstream what was not recorded yet, and record it.", "--record"),
    upstream: str | None = option(None, "Base URL of the provider to record."),
    key_env: str = option(
        "OPENAI_API_KEY",
        "Environment variable with the provider's key; without one, the client's is passed on.",
    ),
    host: str = option("127.0.0.1", "Address to listen on."),
    port: int = option(8765, "Port to listen on; 0 picks a free one.", "--port", "-p"),
) -> None:
    """Serve recorded answers of a model over OpenAI's protocol, or record them.

    The same request gets the same answer; one that was not recorded is refused.

    Ctrl-C stops it, with exit code 1 if a request was not recorded.
    """
    from maseval.server import ReplayServer  # help must not load it

    server = ReplayServer(
        folder,
        record=record,
        upstream=upstream,
        # An empty variable is no key: the client's own is then passed on.
        upstream_key=os.environ.get(key_env) or None,
        host=host,
        port=port,
        on_request=_report_request,
    )
    with ended_by_signals():
        try:
            with suppress(KeyboardInterrupt):
                _say(f"Serving at [bold]{inert(server.url)}[/] (Ctrl-C ends it)")
                _say(f"OPENAI_BASE_URL={inert(server.url)} OPENAI_API_KEY=no-key-needed")
                server.serve()
        finally:
            _close(server)
    colour = "red" if server.misses else "green"
    _say(
        f"{server.played} played, {server.recorded} recorded, "
        f"[{colour}]{server.misses} missed[/], {len(server.unused)} never asked for"
    )
    if server.misses:
        raise typer.Exit(FAILED)


def _say(words: str) -> None:
    stdout().print(words, soft_wrap=True)


def _report_request(served: "Served") -> None:
    """Print a request that got no answer."""
    if served.words:
        asked = f"{inert(served.model)}, {count_of(served.messages, 'message')}"
        _say(f"[{_COLOURS[served.outcome]}]{served.outcome}[/] {asked}: {inert(served.words)}")


def _close(server: "ReplayServer") -> None:
    try:
        if under_way := server.under_way:
            _say(f"Still recording ({under_way}); Ctrl-C stops without waiting.")
        server.close()
    except KeyboardInterrupt:
        # Whoever presses Ctrl-C again does not want to wait.
        server.patience = 0.0
        server.close()
