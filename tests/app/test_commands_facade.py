"""Commands are found by their names."""

from maseval import commands
from maseval.commands import tau2


def test_every_command_is_there_under_its_name():
    functions = {name: getattr(tau2, name) for name in tau2.__all__ if name.islower()}
    del functions["data"]

    assert {name: each.__name__ for name, each in functions.items()} == dict(
        zip(functions, functions, strict=True)
    )
    assert set(commands.__all__) <= set(dir(commands))


def test_a_test_may_put_something_else_in_the_place_of_a_command(monkeypatch):
    original = commands.show
    with monkeypatch.context() as patch:
        patch.setattr(commands, "show", None)
        assert commands.show is None

    assert commands.show is original
