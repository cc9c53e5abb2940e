"""``maseval tau2 run``, and with ``--dry-run`` the plan of a run."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.table import Table

from maseval.app.results.results import RunResult
from maseval.app.running.options import EXECUTION
from maseval.benchmark.tau2.app.running.options import RunOptions
from maseval.cli.command_line import FAILED, with_examples
from maseval.cli.console import (
    count,
    here,
    inert,
    number_columns,
    print_json,
    print_parts,
    shorten_line,
    stdout,
)
from maseval.cli.options import AsJson, flag
from maseval.cli.running import command_with, run_and_finish
from maseval.core.words import count_of

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.benchmark.tau2.app.running.plan import RunPlan
    from maseval.benchmark.tau2.app.running.run import Tau2Run


def _prepare(context: typer.Context, given: dict[str, Any]) -> "Tau2Run":
    from maseval.benchmark.tau2.app.running.run import Tau2Run  # help must not load it

    # tau2-bench takes all ids after one --task-ids; else what stands without an option is a domain.
    given["task_id" if given["task_id"] else "domain"] += context.args
    return Tau2Run.of(RunOptions(**{**given, "timeout": given["timeout"] or None}))


@with_examples(
    (
        "maseval tau2 run --domain retail --agent gold",
        "the reference solution of every task, no key needed",
    ),
    (
        "maseval tau2 run --domain airline --domain telecom --trials 4 --budget 20usd "
        "--agent-model openai/gpt-4.1 --user-model openai/gpt-4.1",
        "a model, four trials per task, for at most 20 dollars",
    ),
    (
        "maseval tau2 run --domain retail --agent-model openai/gpt-4.1 "
        "--user-model openai/gpt-4.1 --dry-run",
        "what that would run, and its estimated cost",
    ),
    (
        "maseval tau2 run --domain retail --num-tasks 5 --base-url http://localhost:8000/v1 "
        "--agent-model my-model --user-model my-model --agent-args temperature=0.7",
        "a model on a server of your own",
    ),
    (
        "maseval tau2 run --domain retail --agent my_agent.py:agent --rehearse gold",
        "your own agent with a scripted model: does everything arrive?",
    ),
    (
        "maseval tau2 run --domain retail --agent gold --output runs/mine --json",
        "for scripts; the same command again resumes the run",
    ),
    settings={"allow_extra_args": True},
)
@command_with(RunOptions, prepare=_prepare)
def run(
    given: dict[str, Any],
    context: typer.Context,
    as_json: AsJson = False,
    dry_run: bool = flag(
        "Show what would run and its estimated cost; ask no model, write nothing.",
        "--dry-run",
        rich_help_panel=EXECUTION,
    ),
    allow_losses: bool = flag(
        "Exit with 0 although a rehearsal with gold lost tasks.",
        "--allow-losses",
        rich_help_panel=EXECUTION,
    ),
) -> None:
    """Run tasks, and save every finished simulation in a run folder.

    Exit code 1 if a rehearsal with gold lost a task, or if nothing got a verdict; 3 if verdicts
    are missing. The options of tau2-bench (--num-trials, --agent-llm, ...) work as well.
    """
    if dry_run:
        from maseval.benchmark.tau2.app.running.plan import plan_run  # help must not load it

        show_plan(plan_run(_prepare(context, given)), stdout(), as_json=as_json)
        return
    if lost_to_gold(context, run_and_finish(context, as_json=as_json)):
        raise typer.Exit(FAILED)


def lost_to_gold(context: typer.Context, result: RunResult) -> bool:
    """Return True if a rehearsal with gold lost a task, and that is not allowed."""
    # Gold knows every solution and is the same each time: a loss is never chance.
    lost = result.summary.overall.passed < result.summary.overall.verdicts
    given = context.params
    return lost and given.get("rehearse") == "gold" and not given.get("allow_losses")


_FEW = 5


def show_plan(plan: "RunPlan", console: Console, *, as_json: bool) -> None:
    if as_json:
        print_json(plan.to_dict())
        return
    _print_tasks(plan, console)
    if plan.models:
        print_parts([_models(plan)], console)
        known = plan.cost is not None
        total = f"About {about_money(plan.cost)} in all." if known else "The cost is not known."
        console.print(total)
        console.print(f"[dim]{inert(plan.basis)}[/dim]")
    for words in plan.warnings:
        console.print(f"[yellow]{inert(words)}[/yellow]")
    for problem in plan.problems:
        console.print(f"[yellow]This run would be refused: {inert(problem)}[/yellow]")
    console.print("Nothing was run: leave out --dry-run to start.")


def _print_tasks(plan: "RunPlan", console: Console) -> None:
    total = sum(map(len, plan.tasks.values())) * plan.trials
    left = "" if plan.left == total else f", {plan.left} left to run"
    console.print(
        f"[bold]{count_of(total, 'simulation')}{left}[/bold], into {inert(here(plan.folder))}"
    )
    for domain, ids in plan.tasks.items():
        listed = ", ".join(shorten_line(each, 40) for each in ids[:_FEW])
        more = f", ... {len(ids) - _FEW} more" if len(ids) > _FEW else ""
        console.print(
            f"  {inert(domain)}: {count_of(len(ids), 'task')} x "
            f"{count_of(plan.trials, 'trial')}: {inert(listed)}{more}"
        )


def _models(plan: "RunPlan") -> Table:
    counted = ("calls", "input tokens", "output tokens", "price in/out", "cost")
    table = Table("asked", "model", *number_columns(*counted))
    prices = (plan.config.get("prices") or {}).get("models", {})
    for model in plan.models:
        table.add_row(
            model.role,
            inert(model.model),
            *(_about(number) for number in (model.calls, model.input_tokens, model.output_tokens)),
            _price(prices.get(model.model)),
            about_money(model.cost),
        )
    return table


def _price(rates: "Mapping[str, object] | None") -> str:
    return f"${rates['input']}/${rates['output']} per M" if rates else "not known"


def _about(number: int) -> str:
    # Two digits are more than is known.
    return count(int(float(f"{number:.2g}")))


def about_money(cost: float | None) -> str:
    """Format an estimate of money."""
    if cost is None:
        return "not known"
    rounded = float(f"{cost:.2g}")
    return f"${rounded:,.0f}" if rounded >= 10 else f"${rounded:g}"
