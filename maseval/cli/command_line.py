"""The command line as a whole: the words that were typed, and errors.

A run remembers the command that
started it. An error that maseval names becomes one message and an exit code; its traceback is shown
with ``--debug`` only.
"""

import os
import re
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from maseval.cli.console import inert, release_stream, stderr
from maseval.cli.groups import CommandGroup
from maseval.core.exceptions import ConfigurationError, MASEvalError, ResultFileError
from maseval.core.storage.redaction import Secrets, redact_command, redact_text

FAILED = 1
WRONG_USE = 2
INCOMPLETE = 3

_WORDS = "maseval.words"
# A CI service takes their code 1 for a verdict, so no error may have it.
_JUDGING = frozenset({"gate"})


class RootGroup(CommandGroup):
    """The group of all commands: keeps the words typed, and turns errors into messages."""

    def make_context(
        self, info_name: str | None, args: list[str], *rest: Any, **more: Any
    ) -> typer.Context:
        words = list(args)
        context: Any = super().make_context(info_name, _ours_first(words), *rest, **more)
        context.meta.setdefault(_WORDS, [str(info_name), *words])
        return context  # type: ignore[no-any-return]

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]  # its own Context
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # Whoever read our output has gone; nothing may be written while Python shuts down.
            release_stream(sys.stdout)
            raise typer.Exit(_code(FAILED, ctx)) from None
        except KeyboardInterrupt:
            stderr().print("Interrupted.")
            raise  # Typer leaves with exit code 130
        except (MASEvalError, OSError) as error:
            if is_debugging(ctx):
                raise
            print_error(error)
            raise typer.Exit(_code(exit_code(error), ctx)) from None


class InterruptedRun(typer.Exit):
    """A run was ended by a signal: whatever was to follow is not wanted either."""


def print_error(error: Exception) -> None:
    """Print an error as one message."""
    words = f"[bold red]Error:[/] {inert(_message(error))}"
    stderr().print(words, soft_wrap=True)


def invoke_words(context: typer.Context, words: Sequence[str]) -> int:
    """Run a command of this command line, whose errors are printed, and return its exit code."""
    context.meta[_WORDS] = [str(context.find_root().info_name), *words]
    try:
        with _context_of(context, words) as own:
            own.command.invoke(own)
    except InterruptedRun:
        raise
    except typer.Exit as done:
        return done.exit_code
    except (MASEvalError, OSError) as error:
        print_error(error)
        return exit_code(error)
    return 0


def check_words(context: typer.Context, words: Sequence[str]) -> None:
    """Raise what is wrong with the options of a command, and run nothing."""
    _context_of(context, words).close()


def _context_of(context: typer.Context, words: Sequence[str]) -> Any:
    command: Any = context.find_root().command
    rest, name = list(words), []
    while isinstance(command, TyperGroup):
        name.append(rest.pop(0))
        command = command.commands[name[-1]]
    return command.make_context(" ".join(name), rest, parent=context.find_root())


def _ours_first(words: Sequence[str]) -> list[str]:
    """Put our own options first: whoever repeats a command to see more adds them at its end."""
    first, others = [], list[str]()
    every = iter(words)
    for word in every:
        if word == "--debug" or word.startswith(f"{_ENV_FILE}="):
            first.append(word)
        elif word == _ENV_FILE:
            first += [word, *islice(every, 1)]
        else:
            others.append(word)
    return [*first, *others]


def read_env_file(path: Path) -> None:
    """Set the variables of a file of NAME=VALUE lines, except those that are set already."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path} is no text in UTF-8") from None
    for number, line in enumerate(map(str.strip, lines), start=1):
        if not line or line.startswith("#"):
            continue
        found = _VARIABLE.fullmatch(line)
        if found is None:
            # The line itself is not repeated: it may hold a key.
            raise ConfigurationError(f"{path}, line {number} is not NAME=VALUE")
        quoted, plain = found["quoted"], found["plain"]
        os.environ.setdefault(found["name"], plain if quoted is None else quoted)


_ENV_FILE = "--env-file"
_VARIABLE = re.compile(
    r"""(export\s+)?(?P<name>[A-Za-z_]\w*)\s*=\s*"""
    r"""((?P<quote>["'])(?P<quoted>((?!(?P=quote)).)*)(?P=quote)(\s+\#.*)?|(?P<plain>[^"'\s]*)(\s+\#.*)?)""",
    re.ASCII,
)


def command_line(context: typer.Context) -> str:
    """Return the command as it was typed, without secrets."""
    return redact_command(context.meta[_WORDS])


def is_debugging(context: typer.Context) -> bool:
    """Return True if ``--debug`` was given."""
    return bool((context.find_root().obj or {}).get("debug"))


def exit_code(error: Exception) -> int:
    """Return 2 for what the caller can put right by asking differently, else 1."""
    asked_wrongly = isinstance(error, ValueError | LookupError | TypeError)
    return WRONG_USE if asked_wrongly and not isinstance(error, ResultFileError) else FAILED


def _code(code: int, context: typer.Context) -> int:
    return WRONG_USE if context.invoked_subcommand in _JUDGING else code


def _message(error: Exception) -> str:
    """Return the error's text without secrets; the system's without the number of the error."""
    words = str(error)
    if isinstance(error, OSError) and not isinstance(error, MASEvalError) and error.strerror:
        names = [os.fsdecode(each) for each in (error.filename, error.filename2) if each]
        words = ": ".join([*names, error.strerror])
    return Secrets.of({}).removed_from_text(redact_text(words or type(error).__name__))
