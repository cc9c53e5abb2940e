"""``maseval judge label``: people read conversations and answer what a judge was asked."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from maseval import commands
from maseval.cli.command_line import with_examples
from maseval.cli.console import ended_by_signals, inert, print_json, stdout, styled
from maseval.cli.options import AsJson, RunOrResultsFile, option
from maseval.cli.show import print_conversation
from maseval.core.exceptions import ConfigurationError
from maseval.core.words import count_of

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.app.judging.label import Labelling
    from maseval.core.outcome import Simulation

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
        if not line:
            raise EOFError
        yield line.strip()
