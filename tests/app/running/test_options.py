"""Options are spelled once, and mean the same in Python, on the command line and in the record."""

import inspect
from dataclasses import dataclass

import pytest

from maseval.app.running.options import REQUIRED, list_options, option, takes
from maseval.app.running.run_options import OutputOptions
from maseval.benchmark.tau2.app.running.options import MAX_STEPS, TIMEOUT, McpOptions, RunOptions
from maseval.benchmark.tau2.benchmark import MAX_INVOCATIONS
from maseval.benchmark.tau2.data_loader import DEFAULT_TIMEOUT_SECONDS
from maseval.commands import tau2
from maseval.core.exceptions import ConfigurationError


@dataclass(frozen=True, kw_only=True)
class Shared(OutputOptions):
    seed: int = option(1, "Seed", "Execution", recorded=True)


@dataclass(frozen=True, kw_only=True)
class Brewing(Shared):
    leaves: str = option(REQUIRED, "Which tea", "Tea")
    cups: int = option(2, "How many cups", "Tea")
    watch: object = None


@takes(Brewing)
def brew(options: Brewing) -> str:
    """Make tea."""
    return f"{options.cups} cups of {options.leaves}"


def test_a_function_of_options_is_called_with_keywords():
    assert brew(leaves="assam") == "2 cups of assam"
    with pytest.raises(TypeError, match="colour"):
        brew(**{"leaves": "assam", "colour": "green"})


def test_its_signature_and_its_documentation_list_the_options_its_own_first():
    assert list(inspect.signature(brew).parameters) == [
        *("leaves", "cups", "watch", "output", "command", "seed")
    ]
    assert "Make tea." in brew.__doc__ and "    cups: How many cups" in brew.__doc__


def test_only_what_results_depend_on_is_recorded():
    assert Brewing(leaves="assam", seed=7).recorded == {"seed": 7}


@pytest.mark.parametrize(("function", "options"), [(tau2.run, RunOptions), (tau2.mcp, McpOptions)])
def test_the_functions_of_tau2_have_the_options_of_their_commands(function, options):
    names = [each.name for each in list_options(options)]

    assert list(inspect.signature(function).parameters) == names


def test_the_limits_of_a_run_are_those_of_the_benchmark():
    assert (MAX_STEPS, TIMEOUT) == (MAX_INVOCATIONS, DEFAULT_TIMEOUT_SECONDS)


@pytest.mark.parametrize(
    "asked", [{"trials": 10**9}, {"trials": 10**9, "until": "±4"}, {"trials": 100_000}]
)
def test_a_run_that_no_folder_could_record_is_refused_before_it_is_planned(asked, tmp_path):
    with pytest.raises(ConfigurationError, match="200,000 is the most; split it"):
        tau2.run(domain="library", agent="gold", output=tmp_path / "run", **asked)

    assert not (tmp_path / "run").exists()


def test_force_is_for_engines_with_processes(tmp_path):
    with pytest.raises(ConfigurationError, match="force is True, but engine is 'threads'"):
        tau2.run(domain="library", agent="gold", force=True, output=tmp_path / "run")
