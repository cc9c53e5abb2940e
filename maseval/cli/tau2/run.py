"""``maseval tau2 run``, and with ``--dry-run`` the plan of a run."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import typer
from rich.table import Table

from maseval.app.results.checklist import check_allowed
from maseval.app.results.run_summary import RunResult
from maseval.app.running.options import EXECUTION
from maseval.benchmark.tau2.app.running.options import RunOptions
from maseval.cli.command_line import FAILED, NOT_REHEARSED, is_debugging, with_examples
from maseval.cli.console import (
    Parts,
    chosen_stream,
    count,
    here,
    indent,
    inert,
    number_columns,
    print_json,
    print_parts,
    stdout,
    styled,
)
from maseval.cli.options import AsJson, flag, option
from maseval.cli.results import finish
from maseval.cli.running import command_with, prepare_run
from maseval.core.storage.files import write_bytes
from maseval.core.words import count_of

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.benchmark.tau2.app.running.plan import RunPlan
    from maseval.benchmark.tau2.app.running.run import Tau2Run


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
@command_with(RunOptions, "maseval.benchmark.tau2.app.running.run")
def run(
    context: typer.Context,
    as_json: AsJson = False,
    dry_run: bool = flag(
        "Show what would run and its estimated cost; ask no model, write nothing.",
        "--dry-run",
        rich_help_panel=EXECUTION,
    ),
    junit_xml: Path | None = option(
        None,
        "Write the checklist of a rehearsal to this file as JUnit XML.",
        "--junit",
        rich_help_panel=EXECUTION,
    ),
    allow: list[str] | None = option(
        None,
        "Exit with 0 although a rehearsal missed this item of its checklist, such as tasks.",
        metavar="ITEM",
        rich_help_panel=EXECUTION,
    ),
) -> None:
    """Run tasks, and save every finished simulation in a run folder.

    Exit code 1 if a rehearsal missed an item of its checklist, or if nothing got a verdict; 3 if
    verdicts are missing; 4 if an agent cannot be rehearsed. The options of tau2-bench
    (--num-trials, --agent-llm, ...) work as well.
    """
    if allow:
        # Before the run, which would be for nothing if the item is misspelt.
        check_allowed(allow)
    prepared = cast("Tau2Run", prepare_run(context))
    if dry_run:
        from maseval.benchmark.tau2.app.running.plan import plan_run  # help must not load it

        show_plan(plan_run(prepared), as_json=as_json)
        return
    result = prepared.execute()
    code = rehearsal_code(result, allow or ())
    # Before `finish`, which leaves with an exit code where verdicts are missing.
    if junit_xml is not None and result.checklist:
        from maseval.app.results.junit import checklist_suite  # few runs write XML

        write_bytes(junit_xml, checklist_suite(result.checklist, allow or ()))
    try:
        finish(result, chosen_stream(as_json), as_json=as_json, debug=is_debugging(context))
    except typer.Exit:
        # An agent that cannot be rehearsed has no verdicts either; its own code says more.
        if code != NOT_REHEARSED:
            raise
    if code:
        raise typer.Exit(code)


def rehearsal_code(result: RunResult, allowed: Sequence[str]) -> int:
    """Return the exit code for a rehearsal that was refused, or missed what is not allowed."""
    if result.checklist is None:
        return 0
    if result.checklist.refused:
        return NOT_REHEARSED
    return FAILED if result.checklist.missed(allowed) else 0


def show_plan(plan: "RunPlan", *, as_json: bool) -> None:
    if as_json:
        print_json(plan.to_dict())
    else:
        print_parts(_plan_parts(plan), stdout())


def _plan_parts(plan: "RunPlan") -> Parts:
    total = sum(map(len, plan.tasks.values())) * plan.trials
    left = "" if plan.left == total else f", {plan.left} left to run"
    yield f"[bold]{count_of(total, 'simulation')}{left}[/bold], into {inert(here(plan.folder))}"
    for domain, ids in plan.tasks.items():
        tasks, trials = count_of(len(ids), "task"), count_of(plan.trials, "trial")
        yield f"  {inert(domain)}: {tasks} x {trials}"
    if plan.models:
        table = Table(
            "asked", "model", *number_columns("calls", "input tokens", "output tokens", "cost")
        )
        for each in plan.models:
            # Two digits are more than is known.
            numbers = (f"{n:.2g}" for n in (each.calls, each.input_tokens, each.output_tokens))
            used = (count(int(float(number))) for number in numbers)
            table.add_row(each.role, inert(each.model), *used, about_money(each.cost))
        yield table
        known = plan.cost is not None
        yield f"About {about_money(plan.cost)} in all." if known else "The cost is not known."
        yield indent(styled(plan.basis, "dim"))
    yield from (styled(words, "yellow") for words in plan.warnings)
    for problem in plan.problems:
        yield styled(f"This run would be refused: {problem}", "yellow")
    yield "Nothing was run: leave out --dry-run to start."


def about_money(cost: float | None) -> str:
    if cost is None:
        return "not known"
    # The actual cost may be half or double, so more digits would say nothing.
    rounded = float(f"{cost:.2g}")
    return f"${rounded:,.0f}" if rounded >= 10 else f"${rounded:g}"
