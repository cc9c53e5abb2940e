"""Commands are found by their names."""

import pytest

from maseval import commands
from maseval.commands import tau2


def test_every_command_is_there_under_its_name():
    functions = {name: getattr(tau2, name) for name in tau2.__all__ if name.islower()}
    del functions["data"]

    assert {name: each.__name__ for name, each in functions.items()} == dict(
        zip(functions, functions, strict=True)
    )
    assert set(commands.__all__) <= set(dir(commands))


def test_a_command_cannot_be_replaced_by_accident():
    with pytest.raises(AttributeError, match="cannot be replaced"):
        commands.show = None
