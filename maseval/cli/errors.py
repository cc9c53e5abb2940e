"""How a command fails: one message and an exit code, and a traceback only if asked for."""

import os
import sys
from typing import Any

import typer

from maseval.cli.command_line import RememberingGroup
from maseval.cli.console import inert, stderr
from maseval.core.exceptions import MASEvalError, ResultFileError
from maseval.core.storage.redaction import Secrets, redact_text

FAILED = 1
WRONG_USE = 2
INCOMPLETE = 3

# A CI service takes their code 1 for a verdict, so no error may have it.
_JUDGING = frozenset({"gate"})


class ExplainingGroup(RememberingGroup):
    """Turns the errors that maseval names into messages."""

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]  # its own Context
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            _forget_output()
            raise typer.Exit(_code(FAILED, ctx)) from None
        except (MASEvalError, OSError) as error:
            if is_debugging(ctx):
                raise
            words = f"[bold red]Error:[/] {inert(_words(error))}"
            stderr().print(words, highlight=False, soft_wrap=True)
            raise typer.Exit(_code(exit_code(error), ctx)) from None


def _code(code: int, context: typer.Context) -> int:
    return WRONG_USE if context.invoked_subcommand in _JUDGING else code


def is_debugging(context: typer.Context) -> bool:
    """Whether ``--debug`` was given."""
    return bool((context.find_root().obj or {}).get("debug"))


def exit_code(error: Exception) -> int:
    """2 for what the caller can put right by asking differently, else 1."""
    asked_wrongly = isinstance(error, ValueError | LookupError | TypeError)
    return WRONG_USE if asked_wrongly and not isinstance(error, ResultFileError) else FAILED


def _words(error: Exception) -> str:
    words = redact_text(_plain(error) or type(error).__name__)
    return Secrets.of({}).removed_from_text(words)


def _plain(error: Exception) -> str:
    """Its text; that of the operating system without the number of the error."""
    if isinstance(error, MASEvalError) or not isinstance(error, OSError) or not error.strerror:
        return str(error)
    names = [os.fsdecode(name) for name in (error.filename, error.filename2) if name is not None]
    return ": ".join([*names, error.strerror])


def _forget_output() -> None:
    """Whoever read our output has gone; nothing may be written while Python shuts down."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
