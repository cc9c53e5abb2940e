"""The question of a run, as its options ask it: ``--until`` and ``--question``."""

import os
import re
from typing import NamedTuple, Protocol

from maseval.core.exceptions import ConfigurationError

USUAL_TRIALS = 4
_COMPARISON = re.compile(r"(?P<how>better|not-worse)-than[ =](?P<run>.+)")
_WIDTH = re.compile(
    r"(?:±|\+/?-|within )\s*(?P<points>\d{1,3}(?:\.\d+)?)\s*(?:points?|pp|%)?"
    r"(?P<wide> on tasks like these)?(?: on these tasks)?"
)
_PASS_HAT = re.compile(r"pass\^(?P<k>[1-9]\d{0,2})")
SPENDING = ("obrien-fleming", "pocock")
FORMS = "better-than RUN, not-worse-than RUN with --margin 5, or '±4'"


class QuestionOptions(Protocol):
    """The options of a run that ask its question."""

    @property
    def trials(self) -> int: ...
    @property
    def until(self) -> str | None: ...
    @property
    def margin(self) -> float | None: ...
    @property
    def spending(self) -> str: ...
    @property
    def question(self) -> str | None: ...
    @property
    def screening(self) -> str | os.PathLike[str] | None: ...


class AskedQuestion(NamedTuple):
    """An ``--until`` as it was typed: a comparison with a run, or a half-width in points."""

    how: str = ""
    run: str = ""
    points: float = 0.0
    wide: bool = False


def read_until(text: str) -> AskedQuestion:
    """Read ``better-than RUN``, ``not-worse-than RUN`` or ``±4``; raise for anything else."""
    if found := _COMPARISON.fullmatch(text.strip()):
        return AskedQuestion(found["how"], found["run"].strip())
    if (found := _WIDTH.fullmatch(text.strip())) and 0 < float(found["points"]) < 100:
        return AskedQuestion(points=float(found["points"]), wide=bool(found["wide"]))
    if "equal" in text or "same" in text:
        from maseval.stats.first_failures import EQUAL_OUTCOMES_REFUSED  # rarely needed

        raise ConfigurationError(f"until is {text!r}: {EQUAL_OUTCOMES_REFUSED} (question='pass^4')")
    raise ConfigurationError(f"until is {text!r}; give {FORMS}")


def read_question(text: str) -> int:
    """Return the k of ``pass^k``; raise for anything else."""
    if found := _PASS_HAT.fullmatch(text.strip()):
        return int(found["k"])
    raise ConfigurationError(f"question is {text!r}; give pass^4, or another k")


def check_question(options: QuestionOptions) -> int:
    """Return how many trials the options mean; raise for a question that makes no sense."""
    trials, until, question = options.trials, options.until, options.question
    if options.spending not in SPENDING:
        raise ConfigurationError(
            f"spending is {options.spending!r}; choose one of: {', '.join(SPENDING)}"
        )
    if until is not None and question is not None:
        raise ConfigurationError("a run answers one question; give until or question, not both")
    if question is not None:
        k = read_question(question)
        if trials not in (1, k):
            raise ConfigurationError(
                f"trials is {trials}, but tasks stop at their first failure only where {question} "
                f"is asked of {k} trials; leave out --trials, or --question"
            )
        return k
    asked = read_until(until) if until is not None else AskedQuestion()
    if (asked.how == "not-worse") != (options.margin is not None):
        raise ConfigurationError(
            "margin is the loss in points that not-worse-than tolerates; give both, such as "
            "--until 'not-worse-than RUN' --margin 5"
        )
    if options.margin is not None and not 0 < options.margin < 100:
        raise ConfigurationError(f"margin is {options.margin:g}; give points, such as 5")
    return USUAL_TRIALS if until is not None and trials == 1 else trials
