"""Evaluation of an agent inside a test: options checked, agent run, result held against them."""

import hashlib
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import pytest

from maseval.app.comparing.gate import Floor, floor_under
from maseval.app.results.checklist import check_allowed
from maseval.app.results.examined import outcomes_by
from maseval.app.results.measured import IF_UNDECIDED, SOUND, WITHOUT_BREACHES, measure_named
from maseval.app.results.run_summary import INTERRUPTED, RunResult
from maseval.app.running.options import list_options
from maseval.benchmark.tau2.app.running.options import RunOptions
from maseval.commands import tau2
from maseval.core.agent_brief import MakeAgent
from maseval.core.exceptions import ConfigurationError, MASEvalError
from maseval.core.words import percent
from maseval.runs import RunFolder
from maseval.stats import Requirement, outcomes_of
from maseval.stats.planning import ALPHA, check_alpha, check_at_least
from pytest_maseval import MARK, RUNS

_VERDICTS = {"met": "reached", "missed": "missed", "undecided": "not decided"}


@contextmanager
def without_traceback() -> Iterator[None]:
    """Fail a test with the words of an error alone, where none of its own lines is reached."""
    __tracebackhide__ = True
    try:
        yield
    except MASEvalError as error:
        pytest.fail(str(error), pytrace=False)


@dataclass(frozen=True)
class Evaluation:
    """The result of an agent's run, and of the pass rate that was asked for."""

    result: RunResult
    floor: Floor

    @property
    def requirement(self) -> Requirement:
        return self.floor.requirement

    @property
    def pass_1(self) -> float:
        """The share of trials that passed, or what the measure is of them, mean over tasks."""
        return self.requirement.value

    @property
    def folder(self) -> Path:
        """The run folder, which ``maseval show`` and ``maseval report`` take."""
        return self.result.folder

    def __str__(self) -> str:
        found, overall = self.requirement, self.floor.counted
        low, high = found.interval.low, found.interval.high
        within = f"[{percent(low)}, {percent(high)}] ({percent(found.interval.level, 0)} interval)"
        counted = f"{overall.passed} of {overall.verdicts} simulations, tasks: {overall.tasks}"
        subset = self.result.summary.subset
        measure = self.floor.measure
        name = measure if subset is None else f"{subset}: {measure}"
        score = f"{name} {percent(found.value)} {within}, {counted}"
        if not found.at_least:
            return score
        advice = f"; {found.advice}" if found.advice else ""
        return f"{score}; at least {percent(found.at_least)}: {_VERDICTS[found.verdict]}{advice}"


@dataclass
class AgentEvaluation:
    """The fixture ``maseval``: runs an agent with the options of the test's mark."""

    folder: Path
    kept: bool
    options: Mapping[str, Any]
    notes: list[tuple[str, object]] = field(default_factory=list)
    _runs: int = field(default=0, init=False, repr=False)

    @classmethod
    def of(cls, request: pytest.FixtureRequest) -> "AgentEvaluation":
        """Read the marks of a test, those of its class and module included."""
        marks = list(request.node.iter_markers(MARK))
        if any(mark.args for mark in marks):
            raise ConfigurationError(
                "the mark maseval takes its options by name: "
                "@pytest.mark.maseval(domain='retail', at_least=0.8)"
            )
        # The nearest comes first and has the last word.
        asked = {name: value for mark in reversed(marks) for name, value in mark.kwargs.items()}
        kept = request.config.getoption(RUNS)
        folder = Path(kept) if kept else request.getfixturevalue("tmp_path")
        notes = request.node.user_properties
        return cls(folder / _folder_name(request.node.nodeid), bool(kept), asked, notes)

    def run(self, agent: str | MakeAgent, **options: object) -> Evaluation:
        """Run an agent, whatever its score; ``options`` stand before those of the mark.

        ``agent`` is what ``maseval tau2 run --agent`` takes, or a function of an ``AgentBrief``.
        A rate that was asked for and is not reached is a warning: only ``check`` fails.
        """
        __tracebackhide__ = True
        try:
            found = self._run(agent, options)
        except MASEvalError as error:
            raise error.with_traceback(None) from None  # the lines of the test are enough
        if found.requirement.at_least and found.requirement.verdict != "met":
            words = f"maseval.run() only evaluates, maseval.check() would have failed: {found}"
            warnings.warn(pytest.PytestWarning(words), stacklevel=2)
        return found

    def _run(self, agent: str | MakeAgent, options: Mapping[str, object]) -> Evaluation:
        asked = EvaluationOptions.of({**self.options, **options})
        self._runs += 1
        output = self.folder / str(self._runs)
        # What was kept for other code stays as it is.
        result = tau2.run(agent=agent, output=output, fork=self.kept, **asked.of_run)
        if result.stopped and result.stopped.startswith(INTERRUPTED):
            pytest.exit(f"{result.stopped}; maseval show {result.folder}", returncode=2)
        _check_complete(result)
        run = RunFolder.read(result.folder)
        measure = None if asked.measure is None else measure_named(run, asked.measure)
        outcomes = outcomes_by(run, outcomes_of(run.reports()), measure)
        found = floor_under(outcomes, asked.at_least, asked.alpha, measure)
        evaluation = Evaluation(result, found)
        self.notes.append((MARK, str(evaluation)))
        return evaluation

    def check(self, agent: str | MakeAgent, **options: object) -> Evaluation:
        """Run an agent, and fail the test unless it is shown to reach the pass rate asked for.

        With ``allow_undecided`` only an agent that is shown to miss it fails. A rehearsal fails if
        it misses an item of its checklist that is not in ``allow``, and needs no rate.
        """
        __tracebackhide__ = True
        asked = {**self.options, **options}
        try:
            EvaluationOptions.of(asked)
            if "at_least" not in asked and not asked.get("rehearse"):
                raise ConfigurationError(
                    "check has no pass rate to hold the agent to; give at_least=0.8 in the mark, "
                    "or only evaluate with maseval.run(agent)"
                )
            found = self._run(agent, options)
        except MASEvalError as error:
            raise error.with_traceback(None) from None
        if checklist := found.result.checklist:
            allow = asked.get("allow", ())
            missed = checklist.missed([allow] if isinstance(allow, str) else allow)
            if missed or checklist.refused:
                told = "\n".join([checklist.refused or "", *checklist.lines()]).strip()
                pytest.fail(f"{told}\nmaseval show {found.folder}", pytrace=False)
        verdict = found.requirement.verdict
        allowed = asked.get("allow_undecided", False)
        if verdict == "missed" or (verdict == "undecided" and not allowed):
            way = "" if verdict == "missed" else "\nallow_undecided=True passes all the same"
            pytest.fail(f"{found}{way}\nmaseval show {found.folder}", pytrace=False)
        return found


def _folder_name(nodeid: str) -> str:
    # The hash keeps tests apart whose names differ only in other characters.
    readable = re.sub(r"[^\w.]+", "-", nodeid).strip("-")[:100]
    return f"{readable}-{hashlib.sha256(nodeid.encode()).hexdigest()[:8]}"


def _check_complete(result: RunResult) -> None:
    __tracebackhide__ = True
    overall, waiting = result.summary.overall, result.summary.unjudged
    if result.complete:
        return
    if result.checklist and result.checklist.refused:
        pytest.fail(result.checklist.refused, pytrace=False)
    if result.resumable:
        missing = overall.planned - overall.verdicts
        why = next((line.error for line in result.errors if line.error), result.stopped)
        pytest.fail(
            f"the agent could not be evaluated: {missing} of {overall.planned} simulations have no "
            f"verdict{f', the first because: {why}' if why else ''}\nmaseval show {result.folder}",
            pytrace=False,
        )
    pytest.fail(
        f"the agent could not be evaluated: {waiting} of {overall.planned} simulations wait for a "
        "judge; give judge_model='...' in the mark",
        pytrace=False,
    )


# The agent is what a test gives, and the place of the run what --maseval-runs says.
_NOT_ASKED = frozenset({"agent", "output", "fork"})
_OWN = ("tasks", "at_least", "alpha", "measure", "allow_undecided", "allow")
_MEASURES = (WITHOUT_BREACHES.name, IF_UNDECIDED.name, SOUND.name)


@dataclass(frozen=True)
class EvaluationOptions:
    """The pass rate asked for, the accepted chance to fail a good agent, and how to run it.

    The rate is that of the ``measure``, if one is named.
    """

    at_least: float
    alpha: float
    measure: str | None
    of_run: Mapping[str, Any]

    @classmethod
    def of(cls, asked: Mapping[str, Any]) -> "EvaluationOptions":
        """Check the options; raise ``ConfigurationError`` for one that cannot be asked."""
        settings = dict(asked)
        _check_names(settings)
        at_least, alpha = settings.pop("at_least", 0.0), settings.pop("alpha", ALPHA)
        check_at_least(at_least)
        check_alpha(alpha)
        measure = settings.pop("measure", None)
        # Before anything is run; whether the domain has it, only its run can tell.
        if measure is not None and measure not in _MEASURES:
            known = ", ".join(_MEASURES)
            raise ConfigurationError(f"there is no measure {measure!r}; choose among {known}")
        settings.pop("allow_undecided", None)  # a question of ``check``, not of the run
        allow = settings.pop("allow", ())
        check_allowed([allow] if isinstance(allow, str) else allow)
        if "domain" not in settings:
            raise ConfigurationError(
                "no domain to evaluate in; mark the test with @pytest.mark.maseval(domain='retail')"
            )
        tasks = settings.pop("tasks", None)
        if tasks is not None and not tasks:
            raise ConfigurationError(
                f"tasks is {tasks!r}, which names no task; name some, or leave it out for all"
            )
        tasks = tasks or ()
        settings.setdefault("task_id", [tasks] if isinstance(tasks, str) else tasks)
        return cls(at_least, alpha, measure, settings)


def _check_names(asked: Mapping[str, Any]) -> None:
    names = [option.name for option in list_options(RunOptions)]
    known = [*_OWN, *(name for name in names if name not in _NOT_ASKED)]
    unknown = next((name for name in asked if name not in known), None)
    if unknown is None:
        return
    alike = get_close_matches(unknown, known, n=1)
    hint = f"did you mean {alike[0]!r}?" if alike else f"choose among {', '.join(known)}"
    raise ConfigurationError(f"maseval evaluates agents without an option {unknown!r}; {hint}")
