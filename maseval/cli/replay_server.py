"""``maseval replay-server``."""

from pathlib import Path
from typing import Annotated

import typer

from maseval import commands
from maseval.cli.errors import FAILED
from maseval.cli.examples import examples

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


def replay_server(
    tape: Annotated[Path | None, typer.Argument(help="The tape.", show_default=False)] = None,
    record: Annotated[
        bool, typer.Option("--record", help="Ask --upstream what the tape does not answer.")
    ] = False,
    upstream: Annotated[
        str | None, typer.Option(help="The base URL of the provider to record.")
    ] = None,
    key_env: Annotated[
        str, typer.Option(help="The variable with its key, for clients that send none.")
    ] = "OPENAI_API_KEY",
    script: Annotated[
        Path | None, typer.Option(help="Play this JSON list of replies instead of a tape.")
    ] = None,
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", "-p", help="0 is any that is free.")] = 8765,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="One line for every request.")
    ] = False,
) -> None:
    """Serve recorded answers of a model by OpenAI's protocol, or record them.

    The same question gets the same answer; one that is not on the tape is refused.

    Ctrl-C ends it, with exit code 1 if anything was missed.
    """
    # Asking for help must not load a server.
    from maseval.cli.serving import Teller, serve

    teller = Teller(verbose=verbose)
    with teller.warnings():
        server = commands.replay_server(
            tape,
            record=record,
            upstream=upstream,
            key_env=key_env,
            script=script,
            host=host,
            port=port,
            on_request=teller.tell,
        )
    serve(server, teller)
    if server.misses:
        raise typer.Exit(FAILED)
