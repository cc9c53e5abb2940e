"""Commands of other packages: ``maseval NAME run`` for a benchmark that is offered as NAME.

An entry point of the group ``maseval.commands`` names a subclass of ``Benchmark``, whose run
command has an option for each of its parameters, or a group of commands made with Typer.
"""

import inspect
from typing import TYPE_CHECKING

import typer

from maseval.cli.command_line import PlainCommand, with_examples
from maseval.core.exceptions import ConfigurationError
from maseval.core.lazy import find_entry_points

if TYPE_CHECKING:  # help of our own commands must not load it
    from importlib.metadata import EntryPoint

    from maseval.core.benchmark import Benchmark

GROUP = "maseval.commands"


def offered_commands() -> dict[str, "EntryPoint"]:
    return {each.name: each for each in find_entry_points(GROUP)}


def load_offered(offered: "EntryPoint") -> typer.Typer:
    """Return the commands that an entry point names; raise if they cannot be loaded."""
    where = f"the commands {offered.name!r} ({offered.value}, an entry point of {GROUP})"
    try:
        found = offered.load()
    except Exception as error:  # code of another package, which may fail in any way
        raise ConfigurationError(
            f"{where} cannot be loaded: {type(error).__name__}: {error}; repair or uninstall the "
            "package"
        ) from error
    from maseval.core.benchmark import Benchmark

    if isinstance(found, type) and issubclass(found, Benchmark):
        return _commands_of(offered.name, found)
    if isinstance(found, typer.Typer):
        return found
    raise ConfigurationError(
        f"{where} are {found!r}; they must be a subclass of maseval.Benchmark or a typer.Typer"
    )


def _commands_of(name: str, benchmark: type["Benchmark"]) -> typer.Typer:
    # The list of commands, which names these, must not load what runs them.
    from maseval.app.running.named_options import named_options
    from maseval.cli.options import AsJson, flag, option
    from maseval.cli.running import command_with, run_or_plan

    @with_examples(
        (f"maseval {name} run --num-tasks 2", "two tasks of each domain"),
        (f"maseval {name} run --dry-run", "what would run"),
        ("maseval show last", "the latest run: its numbers and tasks"),
    )
    @command_with(named_options(benchmark), "maseval.app.running.run")
    def run(
        context: typer.Context,
        as_json: AsJson = False,
        dry_run: bool = flag("Show what would run; ask no model, write nothing.", "--dry-run"),
        rehearse: str | None = option(
            None, "Let a scripted model of the benchmark play the model of --agent."
        ),
    ) -> None:
        """Run tasks, and save every finished simulation in a run folder."""
        run_or_plan(context, as_json=as_json, dry_run=dry_run)

    # The first paragraph alone; what follows describes arguments, which are options here.
    group = typer.Typer(
        help=inspect.cleandoc(benchmark.__doc__ or "").partition("\n\n")[0], no_args_is_help=True
    )
    # Without a callback Typer would turn a group with one command into that command.
    group.callback()(lambda: None)
    group.command("run", cls=PlainCommand, **vars(run)["more"])(run)
    return group
