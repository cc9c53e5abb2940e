"""How help shows options: a flag is a flag, and takes no ``<bool>``."""

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


class PlainCommand(TyperCommand):
    """A command whose flags are shown as flags."""

    def get_params(self, ctx: typer.Context) -> list[Any]:  # type: ignore[override]  # its Context
        return _plain(super().get_params(ctx))


class PlainGroup(TyperGroup):
    """A group whose flags are shown as flags."""

    def get_params(self, ctx: typer.Context) -> list[Any]:  # type: ignore[override]  # its Context
        return _plain(super().get_params(ctx))


def _plain(parameters: list[Any]) -> list[Any]:
    for each in parameters:
        if getattr(each, "is_flag", False) and each.metavar is None:
            each.metavar = ""
    return parameters
