"""``maseval judge ask``, ``calibrate``, and ``label``, by which people answer the same."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.table import Column, Table

from maseval import commands
from maseval.cli.command_line import INCOMPLETE, with_examples
from maseval.cli.console import (
    Parts,
    counting,
    ended_by_signals,
    here,
    inert,
    note,
    number_columns,
    print_json,
    print_result,
    stdout,
    styled,
)
from maseval.cli.options import AsJson, RunOrResultsFile, domain_option, load_domain, option
from maseval.cli.running import arguments
from maseval.cli.show import print_conversation
from maseval.core.exceptions import ConfigurationError
from maseval.core.words import count_of, duration, money

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.app.judging.ask import AskedRun
    from maseval.app.judging.asking import Price
    from maseval.app.judging.calibrate import CalibratedJudge
    from maseval.app.judging.label import Labelling
    from maseval.core.outcome import Simulation

Judge = Annotated[
    str, typer.Option("--judge", help="A model like openai/gpt-4.1, or your own: FILE.py:NAME.")
]
About = Annotated[str, typer.Option("--about", help="The question: policy, or cause (who failed).")]
JudgeArgs = Annotated[
    list[str] | None,
    typer.Option("--judge-args", help="JSON or key=value for the judge: temperature=0"),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        "--base-url", help="URL of an OpenAI-compatible server.", envvar="MASEVAL_BASE_URL"
    ),
]
PriceFile = Annotated[
    Path | None,
    typer.Option("--prices", help="JSON or TOML file of prices in USD per million tokens."),
]
Concurrency = Annotated[int, typer.Option("--concurrency", "-j", help="Questions at once.")]
Only = Literal["all", "passed", "failed"]
Budget = Annotated[
    str | None,
    typer.Option("--budget", help="Ask no more once 5usd or '2M tokens' are spent."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Ask nothing; estimate the cost.")]


@with_examples(
    ("maseval judge ask last --judge openai/gpt-4.1", "did the agent keep the policy?"),
    ("maseval judge ask last --judge openai/gpt-4.1 --about cause", "who failed?"),
    ("maseval judge ask theirs.json --judge openai/gpt-4.1 --dry-run", "what it would cost"),
    (
        "maseval judge ask last --judge mine --base-url http://localhost:8000/v1 -j 64",
        "a model on a server of your own, 64 questions at once",
    ),
)
def ask(
    run: RunOrResultsFile,
    judge: Judge,
    about: About = "policy",
    only: Only | None = option(
        None, "Only simulations that passed, or failed.", show_default="cause: failed"
    ),
    numbers: int | None = option(None, "Only this many, drawn at random."),
    domain: str | None = domain_option("Only this domain.", callback=load_domain),
    judge_args: JudgeArgs = None,
    base_url: BaseUrl = None,
    prices: PriceFile = None,
    concurrency: Concurrency = 4,
    budget: Budget = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Ask a judge about the simulations of a run; the answers are kept in its folder.

    A claim counts only with true evidence: the number of the message, its words and a sentence of
    the policy, letter by letter. What was answered is not asked again.
    """
    with counting("judged") as count, ended_by_signals():
        found = commands.judge.ask(
            run,
            judge,
            about=about,
            only=only,
            numbers=numbers,
            domain=domain,
            args=arguments(judge_args),
            base_url=base_url,
            prices=prices,
            concurrency=concurrency,
            budget=budget,
            dry_run=dry_run,
            on_progress=count,
        )
    print_result(found, _asked_parts(found), as_json)
    if not found.is_complete:
        raise typer.Exit(INCOMPLETE)


def _asked_parts(found: "AskedRun") -> Parts:
    yield styled(here(found.path), "bold")
    yield f"Judged by {inert(found.judge)}"
    if found.price is not None:
        yield from _price_parts(found.price)
        return
    if found.judged is not None:
        counts, dropped = found.counts, found.judged.dropped
        if found.about == "policy":
            weights = ", ".join(f"{name} {number}" for name, number in found.weights.items())
            of = f" ({weights})" if weights else ""
            yield f"  flagged {counts['flagged']}{of}, clear {counts['clear']}"
        for party, number in found.parties.items():
            yield f"  {number:>5}  {party}"
        if counts["undecided"]:
            yield f"  {counts['undecided']} undecided: no answer that can be read, or no evidence"
        if dropped:
            yield f"  {count_of(dropped, 'claim')} dropped: the evidence does not hold"
    took = found.took
    if took.skipped:
        yield f"  {took.skipped} skipped: no conversation, no failure, or a task unknown here"
    yield _spent(took.sent, took.cost, took.seconds)
    yield from _open_parts(found.unanswered, took.stopped)
    yield f"`maseval show {inert(here(found.path))} TASK` shows the quotes."


def _spent(sent: int, cost: float, seconds: float) -> str:
    price = f", {money(cost)}" if cost else ""
    return f"  {count_of(sent, 'request')}{price}, {duration(seconds)}"


def _open_parts(unanswered: int, stopped: str | None) -> Parts:
    if unanswered:
        failed = count_of(unanswered, "request")
        yield styled(f"{failed} failed; the same command sends them again", "yellow")
    if stopped:
        yield styled(f"Stopped: {stopped}", "yellow")


def _price_parts(price: "Price") -> Parts:
    tokens = f"about {price.input_tokens:,} tokens in and {price.output_tokens:,} out"
    cost = "the model's price is not known" if price.cost is None else f"about {money(price.cost)}"
    yield f"  {count_of(price.requests, 'conversation')} to ask about, {tokens}: {cost}"
    yield "Nothing was asked: leave out --dry-run to start."


@with_examples(
    ("maseval judge calibrate --judge openai/gpt-4.1", "60 pairs of the package"),
    ("maseval judge calibrate --judge openai/gpt-4.1 --dry-run", "what it would cost"),
    ("maseval judge calibrate --judge mine --domain retail --pairs 200", "one domain, more pairs"),
    ("maseval judge calibrate --judge mine --file pairs.jsonl", "conversations of your own"),
)
def calibrate(
    judge: Judge,
    about: About = "policy",
    pairs: int = option(60, "Pairs to draw; 0 for all."),
    domain: list[str] | None = option(None, "Only this domain (repeatable).", "--domain", "-d"),
    file: Path | None = option(None, "Labelled conversations of your own, a JSON object a line."),
    conversations: list[str] | None = option(
        None, "For cause: results files with the public conversations that were read (repeatable)."
    ),
    judge_args: JudgeArgs = None,
    base_url: BaseUrl = None,
    prices: PriceFile = None,
    concurrency: Concurrency = 4,
    budget: Budget = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Measure a judge on conversations with known answers.

    Half of them break a rule of the policy, and each has a twin that keeps it. The result is kept,
    and shown wherever findings of this judge are shown. Measured again, it is compared.
    """
    with counting("judged", "conversations") as count, ended_by_signals():
        found = commands.judge.calibrate(
            judge,
            about=about,
            # 0 is typed for all pairs, which is None in Python.
            pairs=pairs or None,
            domain=domain or (),
            file=file,
            conversations=conversations or (),
            args=arguments(judge_args),
            base_url=base_url,
            prices=prices,
            concurrency=concurrency,
            budget=budget,
            dry_run=dry_run,
            on_progress=count,
        )
    print_result(found, _calibrated_parts(found), as_json)
    if found.calibration is None and found.price is None:
        raise typer.Exit(INCOMPLETE)


_AT_THE_MESSAGE = "breaches were found at the message that shows them"


def _calibrated_parts(found: "CalibratedJudge") -> Parts:
    yield f"{styled(found.judge, 'bold')} about the {inert(found.about)}"
    yield from map(note, found.notes)
    if found.price is not None:
        yield from _price_parts(found.price)
        return
    measured = found.calibration
    if measured is None:
        yield from _open_parts(found.unanswered, found.stopped)
        return
    is_cause = found.about == "cause"
    names = ["names a reader's party"] if is_cause else ["found", "falsely flagged"]
    table = Table(Column("", overflow="fold"), *number_columns(*names, "undecided", no_wrap=True))
    for row in measured.rows:
        rates = [row.found] if is_cause else [row.found, row.flagged]
        table.add_row(inert(row.name), *map(str, rates), str(row.undecided or ""))
    yield table
    yield "[dim]In brackets: exact 95% limits, in percent.[/dim]"
    exact, of = measured.exact
    if of:
        meant = "name the party that the reader names first" if is_cause else _AT_THE_MESSAGE
        yield f"  {exact} of {of} {meant}"
    yield f"  {count_of(measured.dropped, 'claim')} dropped: the evidence does not hold"
    yield _spent(measured.requests, measured.cost, measured.seconds)
    if found.change is not None:
        yield styled(found.change, "yellow" if "changed" in str(found.change) else "dim")


_QUIT = ("q", "quit")


@with_examples(
    ("maseval judge label last --by kim", "label 60 conversations, half of them flagged"),
    ("maseval judge label last --by kim --about cause --judge openai/gpt-4.1", "who failed"),
    ("maseval judge label last --by kim --judge none", "draw among all, whatever a judge says"),
    ("maseval judge label last --by kim --labels mine.jsonl", "labels that were made elsewhere"),
    ("maseval judge label last --by kim --json", "the conversations that are drawn, for a script"),
)
def label(
    run: RunOrResultsFile,
    by: str = option(..., "Your name; labels are kept under it."),
    about: str | None = option(None, "The question: policy, cause, or one of your benchmark."),
    judge: str | None = option(
        None,
        "The judge whose answers guide the draw; none draws among all.",
        show_default="the one asked",
    ),
    numbers: int = option(60, "How many conversations to label.", "--numbers", "-n"),
    labels: Path | None = option(
        None, "Take labels from a file of JSON lines: domain, task_id, trial, answer, note."
    ),
    as_json: AsJson = False,
) -> None:
    """Label a random sample of a run, half of it flagged by a judge; corrects the judge's number.

    Each conversation is shown without the judge's answer. Ctrl-C or q stops; the same command
    resumes where it stopped. Labels stand in the run's folder, or beside a results file.
    """
    labelling = commands.begin_labelling(run, by, about=about, judge=judge, numbers=numbers)
    console = stdout()
    if labels is not None:
        others = labelling.add_all(labels)
        if others and not as_json:
            were = f"{count_of(others, 'line')} of {labels} not needed"
            console.print(f"{inert(were)}: not drawn for this judge, or labelled already")
    elif not as_json:
        with ended_by_signals():
            _ask_all(labelling, console)
    if as_json:
        print_json(labelling.to_dict())
        return
    left = len(labelling.remaining)
    total = len(labelling.chosen)
    resumes = "; the same command resumes" if left else ""
    console.print(f"{total - left} of {count_of(total, 'conversation')} labelled{resumes}.")
    for line in (*map(str, labelling.shares), *labelling.agreements):
        console.print(inert(line), soft_wrap=True)


def _ask_all(labelling: "Labelling", console: Console) -> None:
    # The count goes on from what earlier sessions labelled.
    todo, done = labelling.remaining, len(labelling.labelled)
    total = len(labelling.chosen)
    words = [*labelling.question.answers, "unsure"]
    try:
        for number, one in enumerate(todo, done + 1):
            console.rule(f"{number} of {total}")
            print_conversation(labelling.folder, one, console)
            console.print(styled(labelling.question.text, "bold"), soft_wrap=True)
            answer = _ask_until_valid(labelling, one, words, console)
            if answer is None:
                return
            # Only now: before the label it would lead whoever gives it.
            if (said := labelling.judge_in_words(one)) is not None:
                console.print(styled(said, "dim"), soft_wrap=True)
    # Nothing is lost: each label was on disk before the next conversation was shown.
    except (KeyboardInterrupt, EOFError):
        console.print()


def _ask_until_valid(
    labelling: "Labelling", one: "Simulation", words: list[str], console: Console
) -> str | None:
    """Return the answer that was kept; None if the labeller stops."""
    for given in _typed(f"{', '.join(words)} (or the first letter); q stops: ", console):
        if given.lower() in _QUIT:
            return None
        try:
            from maseval.app.judging.label import read_answer  # help must not load it

            answer = read_answer(labelling.question, given)
        except ConfigurationError as error:
            console.print(styled(str(error), "yellow"), soft_wrap=True)
            continue
        note = next(_typed("Note (Enter for none): ", console))
        labelling.add(one, answer, note)
        return answer
    return None


def _typed(question: str, console: Console) -> Iterator[str]:
    while True:
        console.print(inert(question), end="", soft_wrap=True)
        line = sys.stdin.readline()
        # The end of a pipe, or Ctrl-D: an empty line would still have its line break.
        if not line:
            raise EOFError
        yield line.strip()
