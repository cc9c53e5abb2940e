"""``maseval chaos-server``."""

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from maseval import commands
from maseval.cli.console import inert, stdout
from maseval.cli.options import Host, KeyVariable, Port, examples
from maseval.cli.signals import ended_by_signals

if TYPE_CHECKING:  # help must not load a server
    from maseval.testing.chaos import ChaosServer, Played

EXAMPLES = examples(
    (
        "maseval chaos-server --faults 429,cut,slow,malformed",
        "three of ten requests are spoiled, the others are answered",
    ),
    (
        "maseval tau2 run --domain library --user scripted --agent-model openai/any "
        "--base-url http://127.0.0.1:8766/v1",
        "a run that asks this server, in another terminal",
    ),
    (
        "maseval chaos-server --faults 500,drop --upstream https://api.openai.com/v1",
        "a real provider answers what is not spoiled",
    ),
    ("maseval chaos-server --list", "every fault that it can play"),
)

_DEFAULT = "429,cut,slow,malformed"


def chaos_server(
    faults: Annotated[
        str, typer.Option(help="What may go wrong: names of faults, separated by commas.")
    ] = _DEFAULT,
    rate: Annotated[
        float, typer.Option(help="Share of requests that are spoiled, from 0 to 1.")
    ] = 0.3,
    seed: Annotated[
        int, typer.Option(help="The same seed spoils the same requests in the same way.")
    ] = 0,
    text: Annotated[str, typer.Option(help="Answer to all other requests.")] = "All is well.",
    upstream: Annotated[
        str | None, typer.Option(help="Base URL of a provider that answers all other requests.")
    ] = None,
    key_env: KeyVariable = "OPENAI_API_KEY",
    host: Host = "127.0.0.1",
    port: Port = 8766,
    listed: Annotated[bool, typer.Option("--list", help="List the faults, and exit.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Do not print a line for every spoiled request.")
    ] = False,
) -> None:
    """Serve a model that misbehaves, over OpenAI's protocol, to see how an agent copes.

    Ctrl-C stops it and prints what was played.
    """
    if listed:
        _list()
        return
    server = commands.chaos_server(
        [name.strip() for name in faults.split(",") if name.strip()],
        seed=seed,
        rate=rate,
        text=text,
        upstream=upstream,
        key_env=key_env,
        host=host,
        port=port,
        on_request=(lambda played: None) if quiet else _report,
    )
    _serve(server)


def _list() -> None:
    from maseval.testing.faults import FAULTS

    table = Table("fault", "what the server does", box=None)
    for fault in FAULTS.values():
        table.add_row(fault.name, fault.text)
    stdout().print(table)


def _say(words: str) -> None:
    stdout().print(words, highlight=False, soft_wrap=True)


def _report(played: "Played") -> None:
    if not played.is_good:
        _say(f"[yellow]request {played.number}:[/] {inert(played.fault)}")


def _serve(server: "ChaosServer") -> None:
    from maseval.testing.provider_server import serving

    with ended_by_signals(), serving(server):
        _say(f"Serving at [bold]{inert(server.base_url)}[/] (Ctrl-C ends it)")
        _say(f"OPENAI_BASE_URL={inert(server.base_url)} OPENAI_API_KEY=no-key-needed")
        with suppress(KeyboardInterrupt):
            server.closing.wait()
    played = (f"{count} {inert(name)}" for name, count in server.played.items())
    _say(", ".join(played) or "no requests")
