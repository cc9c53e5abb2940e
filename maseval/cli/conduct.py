"""``maseval comply`` and ``users``: did the agent keep the policy, and the user its task?"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Unpack

import typer
from rich.table import Column, Table

from maseval import commands
from maseval.app.results.explained import lines_of
from maseval.cli.command_line import FAILED, with_examples
from maseval.cli.console import (
    Parts,
    chosen_stream,
    counting,
    here,
    indent,
    inert,
    note,
    number_columns,
    print_files,
    print_parts,
    print_result,
    styled,
)
from maseval.cli.options import (
    RUNS_OR_FILES,
    AsJson,
    flag,
    load_domain,
    option,
    with_scoring_options,
)
from maseval.cli.results import estimate, variant_parts
from maseval.cli.show import check_parts
from maseval.core.scoring_options import ScoringKeywords

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.app.results.questions import CompliedRun, UsersOfRun
    from maseval.app.results.users import UserScore
    from maseval.benchmark.tau2.app.results.audit import RuleBook
    from maseval.core.outcome import Simulation


_SHOWN = 12
_OUTCOMES = {True: "passed", False: "did not pass"}


@with_examples(
    ("maseval comply last", "pass^k without breaches found, and which rules were broken"),
    ("maseval comply theirs.json", "a results file of tau2-bench, or several"),
    ("maseval comply last --all", "every conversation in which something was found"),
    ("maseval comply --rules airline", "the rules of a domain, and what they do not cover"),
    ("maseval comply last --json", "for scripts"),
)
@with_scoring_options()
def comply(
    files: Annotated[list[str] | None, RUNS_OR_FILES] = None,
    every: bool = flag("List every conversation and all that was found in it.", "--all"),
    rules: str | None = option(
        None,
        "Show the rules of a domain instead; yours as FILE.py:NAME.",
        metavar="DOMAIN",
        callback=load_domain,
    ),
    as_json: AsJson = False,
    **scoring: Unpack[ScoringKeywords],
) -> None:
    """Check conversations against the rules of the policy.

    A pass says that the database ended right. The number without breaches found counts only passes
    in which no rule was found broken on the way: an upper bound, as rules do not find everything.
    """
    if rules is not None:
        book = commands.tau2.rule_book(rules)
        print_result(book, _rule_parts(book), as_json)
        return
    if not files:
        raise typer.BadParameter("name a run or a results file, such as `last`, or --rules DOMAIN")
    with counting("checked") as count:
        found = commands.comply(files, on_progress=count, **scoring)
    print_files(found, partial(_compliance_parts, every=every), as_json)
    if found.unreadable:
        raise typer.Exit(FAILED)


def _compliance_parts(run: "CompliedRun", *, every: bool) -> Parts:
    yield styled(here(run.path), "bold")
    yield from check_parts(run.check)
    yield from map(note, run.notes)
    if run.estimate:
        yield styled(run.estimate, "yellow")
    for name in run.without_rules:
        yield note(f"the domain {name} has no rules: its passes cannot be checked")
    if not run.found:
        return
    yield from variant_parts(run.scores)
    if not run.rules:
        yield "No rule found anything."
        return
    table = Table(Column("rule", overflow="fold"), "found", *number_columns("in passes", "in all"))
    for each in run.rules:
        table.add_row(inert(each.rule), each.kind, str(each.passes), str(each.simulations))
    yield table
    shown = []
    for one, findings in sorted(run.found.items(), key=lambda each: each[0] not in run.passes):
        told = findings if every else [each for each in findings if each.counts]
        if told:
            shown.append((one, _OUTCOMES[one in run.passes], lines_of(told)))
    yield from _simulation_parts(shown, every=every)


def _simulation_parts(
    shown: "Sequence[tuple[Simulation, str, Iterable[str]]]", *, every: bool
) -> Parts:
    """Yield the names of simulations, how they ended, and what was found in each."""
    for one, outcome, lines in shown if every else shown[:_SHOWN]:
        yield f"{styled(f'{one.task}, trial {one.trial}', 'bold')}, {outcome}"
        yield from (f"  {inert(line)}" for line in lines)
    if len(shown) > _SHOWN and not every:
        yield f"and {len(shown) - _SHOWN} more; --all lists them"


def _rule_parts(book: "RuleBook") -> Parts:
    if not book.rules:
        yield f"The domain {inert(book.domain)} has no rules."
        return
    for each in book.rules:
        yield f"{styled(each.id, 'bold')} [dim]{each.kind.value}[/dim]"
        yield indent(f"{inert(each.text)} ({inert(each.place)})", 2)
    names = {"records": "by the records", "words": "by words", "no": "by neither"}
    for kind, (covered, total) in book.coverage.items():
        yield f"{total} statements decidable {names[kind]}: {covered} with a rule"
    for one in book.statements:
        if not one.get("rules"):
            words = f"{inert(one['statement'])}: {inert(one.get('reason') or '')}"
            yield indent(f"  {styled(one['id'], 'dim')} {words}")


@with_examples(
    ("maseval users last", "faults of the simulated user, by kind and user model"),
    ("maseval users theirs.json mine", "several runs and results files together"),
    ("maseval users last --all", "every fault, with its message and words"),
    ("maseval users last --json", "for scripts"),
)
@with_scoring_options()
def users(
    files: Annotated[list[str], RUNS_OR_FILES],
    every: bool = flag("List every fault that was found.", "--all"),
    as_json: AsJson = False,
    **scoring: Unpack[ScoringKeywords],
) -> None:
    """Look for faults of the simulated user, in passes and failures.

    Only what the record shows is found, so that a share is a lower bound. Shares are over tasks, as
    pass^1 is.
    """
    with counting("checked") as count:
        found = commands.users(files, on_progress=count, **scoring)
    console, scores = chosen_stream(as_json), [each.to_dict() for each in found.scores]
    print_parts(map(indent, filter(None, [found.looked_for])), console)
    numbers = {"looked_for": found.looked_for, "users": scores}
    print_files(found, partial(_user_parts, every=every), as_json, numbers)
    print_parts([_scores(found.scores) if scores else "No model played the user."], console)
    if found.unreadable:
        raise typer.Exit(FAILED)


def _user_parts(run: "UsersOfRun", *, every: bool) -> Parts:
    yield styled(here(run.path), "bold")
    yield from map(note, run.notes)
    shown = [
        (each.simulation, _OUTCOMES[each.passed], lines_of(each.findings))
        for each in run.played
        if each.kinds or (every and each.findings)
    ]
    yield from _simulation_parts(shown, every=every)


def _scores(scores: "list[UserScore]") -> Table:
    counted = number_columns("in passes", "in all", "share of conversations")
    table = Table(Column("user model", overflow="fold"), "fault", *counted)
    for score in scores:
        counts = (f"{score.faulty_passes} of {score.passes}", f"{score.faulty} of {score.read}")
        table.add_row(inert(score.model), "any", *counts, estimate(score.share))
        for each in score.kinds:
            counts = (str(each.passes), str(each.conversations))
            table.add_row("", inert(each.kind), *counts, estimate(each.share))
        table.add_section()
        if unread := score.conversations - score.read:
            table.add_row("", "not read", "", str(unread), "")
            table.add_section()
    return table
