"""How help shows parameters: arguments in capitals; a flag is a flag, and takes no ``<bool>``."""

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


class PlainCommand(TyperCommand):
    """A command whose help shows its parameters plainly."""

    def get_params(self, ctx: typer.Context) -> list[Any]:  # type: ignore[override]  # its Context
        return _plain(super().get_params(ctx))


class PlainGroup(TyperGroup):
    """A group whose help shows its parameters plainly."""

    def get_params(self, ctx: typer.Context) -> list[Any]:  # type: ignore[override]  # its Context
        return _plain(super().get_params(ctx))


def _plain(parameters: list[Any]) -> list[Any]:
    for each in parameters:
        if each.metavar is None and each.param_type_name == "argument":
            each.metavar = each.name.upper()
        elif each.metavar is None and getattr(each, "is_flag", False):
            each.metavar = ""
    return parameters
