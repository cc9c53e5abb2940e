"""Results files with values that no run has: a clear error or a named fault, and little memory."""

import copy
import gzip
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maseval.commands import compare, plan, report, show, tau2
from maseval.core.exceptions import MASEvalError
from tests.cli.commandline import maseval

HUGE = 10**400
NUMBERS = [HUGE, 10**7, -5, float("inf"), float("nan"), 0.5, True, "x", [1]]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with one task of two trials."""
    folder = tmp_path_factory.mktemp("absurd")
    run = tau2.run(domain="library", agent="gold", num_tasks=1, trials=2, output=folder / "run")
    tau2.export(run.folder, folder / "honest.json")
    return folder


@pytest.fixture
def changed(home: Path, tmp_path: Path) -> Callable[..., Any]:
    honest = json.loads((home / "honest.json").read_text())

    def write(change):
        document = copy.deepcopy(honest)
        change(document)
        (tmp_path / "absurd.json").write_text(json.dumps(document))
        return tmp_path / "absurd.json"

    return write


def outcomes_of_commands(path: Path, home: Path) -> dict[str, Any]:
    """What each command does with a file: nothing is raised but errors that say what to do."""
    commands = {
        "score": lambda: tau2.score([path]),
        "certify": lambda: tau2.certify(path),
        "show": lambda: str(show(path).summary) and show(path),
        "plan": lambda: plan([path]),
        "compare": lambda: compare([home / "honest.json", path]),
        "report": lambda: report(path, path.with_suffix(".html"), explain=False),
    }
    found = {}
    for name, command in commands.items():
        try:
            found[name] = command()
        except MASEvalError as error:
            found[name] = str(error)
    return found


@pytest.mark.parametrize("value", NUMBERS, ids=lambda value: str(value)[:8])
def test_absurd_numbers_are_refused_or_left_out(value, changed, home):
    def numbers(document):
        document["info"].update(num_trials=value, max_steps=value, seed=value)

    for change in (
        numbers,
        lambda document: document["simulations"][0].update(trial=value),
        lambda document: document["simulations"][0].update(seed=value, duration=value),
        lambda document: document["simulations"][0].update(agent_cost=value, user_cost=value),
    ):
        tracemalloc.start()
        outcomes_of_commands(changed(change), home)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert most < 100 << 20


def test_a_plan_that_cannot_be_is_refused_with_the_way_out(changed):
    path = changed(lambda document: document["info"].update(num_trials=10**7))
    for command in (["score"], ["tau2", "certify"]):
        found = maseval(*command, path)
        assert found.exit_code != 0
        assert "more than 200,000 simulations" in found.stderr
        assert "look at its num_trials" in found.stderr


@pytest.mark.parametrize("trial", [-1, 10**8, HUGE], ids=["negative", "large", "huge"])
def test_a_trial_that_cannot_be_is_an_unreadable_simulation(trial, changed):
    def renumber(document):
        next(each for each in document["simulations"] if each["trial"] == 0)["trial"] = trial

    path = changed(renumber)

    (found,) = tau2.score([path])

    (cause,) = (each for each in found.findings if each.kind == "unreadable simulations")
    assert "trial: should be from 0 to 199,999" in cause.text
    assert (found.planned, found.passes) == (2, 1)


@pytest.mark.parametrize("messages", [None, [], [None], 3], ids=str)
def test_a_simulation_without_messages_costs_its_own_verdict_only(messages, changed, home):
    path = changed(lambda document: document["simulations"][0].update(messages=messages))

    found = outcomes_of_commands(path, home)

    assert (found["score"][0].planned, found["score"][0].passes) == (2, 1)
    assert not isinstance(found["show"], str)


@pytest.mark.parametrize("side", ["agent_info", "user_info", "environment_info"])
@pytest.mark.parametrize("value", ["some model", 3, ["x"], None], ids=str)
def test_info_of_another_kind_is_read_as_not_recorded(side, value, changed, home):
    path = changed(lambda document: document["info"].update({side: value}))

    found = outcomes_of_commands(path, home)

    if side != "environment_info":
        assert found["score"][0].compared == 2
    else:
        assert "--domain" in found["score"]


def test_a_packed_file_that_unpacks_to_too_much_is_refused(tmp_path):
    bomb = tmp_path / "bomb.json"
    with gzip.open(bomb, "wb", compresslevel=1) as file:
        file.write(b'{"info": {"policy": "')
        for _ in range(80):
            file.write(b" " * (1 << 20))
        file.write(b'"}, "tasks": [], "simulations": []}')
    assert bomb.stat().st_size < 1 << 20

    tracemalloc.start()
    found = maseval("score", bomb)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert found.exit_code == 1
    assert "a value of more than 64 MB, which must be removed or split" in found.output
    assert most < 400 << 20


@pytest.mark.parametrize("depth", [101, 330, 900])
def test_what_is_nested_deeper_than_the_documented_limit_is_refused_by_name(depth, changed, home):
    deep = json.loads("[" * depth + "]" * depth)

    found = outcomes_of_commands(changed(lambda document: document["info"].update(x=deep)), home)

    assert {str(each).partition(", ")[2] for each in found.values()} == {
        "info: nested more than 100 levels deep"
    }
