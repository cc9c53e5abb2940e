"""Commands are found by their names, whatever has been imported before."""

import subprocess
import sys

import pytest

from maseval import commands
from maseval.commands import tau2


@pytest.mark.parametrize(
    "first", ["maseval.commands.tau2.run", "maseval.commands.show", "maseval.commands.tau2.mcp"]
)
def test_a_command_stays_a_function_once_the_module_of_its_name_is_imported(first):
    package, _, name = first.rpartition(".")
    code = f"import {first}, sys; print(callable(getattr(sys.modules[{package!r}], {name!r})))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "True\n"


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
