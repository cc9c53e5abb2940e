"""What the examples share: their arguments, and how results are printed.

An example is a function that makes an agent. ``main`` runs it on a few tasks and keeps the run in a
folder; the runs of two functions are compared. With ``--scripted`` the agent's model is a script
behind a local server that knows the solution, and the user is a script too: no key is needed,
nothing is paid, and every task should be solved.
"""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from maseval import MASEvalError, commands
from maseval.benchmark.tau2 import MakeAgent
from maseval.interface.extras import how_to_install


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Around imports: a missing library is reported with the way to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise SystemExit(f"{error.name} is not installed. {how_to_install(extra)}") from None


def main(*agents: MakeAgent) -> None:
    """Run each of the agents as the command line says, and compare them if there are several."""
    arguments = _arguments()
    try:
        folders = [_run(agent, arguments) for agent in agents]
    except MASEvalError as error:  # such as a library that is not installed
        raise SystemExit(str(error)) from None
    if len(folders) == 2:
        found = commands.compare(folders).two
        assert found is not None
        difference, interval = found.main.difference, found.main.interval
        margin = f", 95% CI {interval.low:+.2f} to {interval.high:+.2f}" if interval else ""
        print(f"{agents[1].__name__} - {agents[0].__name__}: {difference:+.2f}{margin}")
        print(f"maseval compare {folders[0]} {folders[1]}")


def _run(agent: MakeAgent, arguments: argparse.Namespace) -> Path:
    result = commands.tau2.run(
        domain=arguments.domain,
        num_tasks=arguments.num_tasks,
        agent=agent,
        agent_model=arguments.model,
        user_model=arguments.user_model,
        base_url=arguments.base_url,
        rehearse="gold" if arguments.scripted else None,
    )
    overall = result.summary.overall
    if not result.complete:
        why = result.stopped or f"{overall.failed} of {overall.planned} tasks failed"
        raise SystemExit(f"{agent.__name__}: {why}; maseval show {result.folder}")
    print(f"{agent.__name__}: {overall.passed} of {overall.recorded} tasks solved, {result.folder}")
    return result.folder


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--scripted", action="store_true", help="no key, no cost: a scripted model")
    parser.add_argument("--model", help="the agent's model, such as gpt-4.1")
    parser.add_argument("--user-model", help="the model that plays the customer")
    parser.add_argument("--base-url", help="an OpenAI-compatible server, for both models")
    parser.add_argument("--domain", default="retail")
    parser.add_argument("--num-tasks", type=int, default=3)
    arguments = parser.parse_args()
    if not arguments.scripted and not arguments.model:
        parser.error("name a model with --model, or take a scripted one with --scripted")
    return arguments
