"""The command line as it was typed, for a run to remember."""

from typing import Any

import typer

from maseval.cli.help import PlainGroup
from maseval.core.storage.redaction import redact_command

_WORDS = "maseval.words"


class RememberingGroup(PlainGroup):
    """Keeps the words of the command line, which are parsed and gone when a command runs."""

    def make_context(
        self, info_name: str | None, args: list[str], *rest: Any, **more: Any
    ) -> typer.Context:
        words = list(args)
        context: Any = super().make_context(info_name, args, *rest, **more)
        context.meta.setdefault(_WORDS, [str(info_name), *words])
        return context  # type: ignore[no-any-return]


def command_line(context: typer.Context) -> str:
    """What was typed, without secrets."""
    return redact_command(context.meta[_WORDS])
