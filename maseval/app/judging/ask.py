"""``maseval judge ask``: ask a judge about the simulations of a run or results file."""

import os
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from maseval.app.benchmarks import BenchmarkSupport, JudgeRequest, support_that_answers
from maseval.app.judging.asking import (
    Answers,
    Asked,
    JudgeModel,
    JudgeSettings,
    OnProgress,
    Price,
    ask_all,
)
from maseval.app.results.calibrated import AskedJudge
from maseval.app.results.examined import examine_run
from maseval.app.results.judged import (
    JudgedBy,
    RunJudgements,
    Status,
    question_version,
    simulation_key,
)
from maseval.app.results.names import open_recording
from maseval.core.exceptions import ConfigurationError
from maseval.core.judge import Question
from maseval.core.judge_record import JudgeRecord, record_path
from maseval.core.outcome import Simulation
from maseval.core.recorded import mapping
from maseval.core.scoring_options import ScoringOptions
from maseval.runs.recording import Recording

Only = Literal["all", "passed", "failed"]
_KINDS: Mapping[str, Sequence[str]] = {
    "all": ("pass", "fail"),
    "passed": ("pass",),
    "failed": ("fail",),
}


@dataclass(frozen=True)
class AskedRun:
    """The answers of a judge about a run; with ``price``, nothing was asked, only priced.

    ``chosen`` simulations were to be asked about. ``judge`` names the model, and how often it was
    right when measured. ``took`` says what asking took, and whether it came to its end.
    """

    path: Path
    about: str
    judge: str
    chosen: int
    judged: JudgedBy | None = None
    took: Answers = field(default_factory=Answers)
    price: Price | None = None

    @property
    def unanswered(self) -> int:
        """The requests that failed; the same command sends them again."""
        every = self.judged.judgements.values() if self.judged else ()
        return sum(each.unanswered for each in every)

    @property
    def counts(self) -> dict[str, int]:
        """The simulations that are flagged, clear and undecided."""
        if self.judged is None:
            return {}
        every: Sequence[Status] = ("flagged", "clear", "undecided")
        found: dict[str, int] = {status: len(self.judged.simulations(status)) for status in every}
        # A failed request has the status undecided as well, and is counted by itself.
        return {**found, "undecided": found["undecided"] - self.unanswered}

    @property
    def _answers(self) -> list[Mapping[str, Any]]:
        every = self.judged.judgements.values() if self.judged else ()
        return [each.answer or {} for each in every]

    @property
    def weights(self) -> dict[str, int]:
        """The simulations with a claim of each weight."""
        found = Counter[str]()
        for answer in self._answers:
            found.update({each.get("weight") for each in answer.get("claims") or ()} - {None})
        return dict(found)

    @property
    def parties(self) -> dict[str, int]:
        """The simulations by the party that is said to have failed."""
        answers = self._answers
        return dict(Counter(e["first"] for e in answers if e.get("claims") and "first" in e))

    @property
    def is_complete(self) -> bool:
        return self.price is not None or not (self.unanswered or self.took.stopped)

    def to_dict(self) -> dict[str, object]:
        took = self.took
        return {
            "path": str(self.path),
            "about": self.about,
            "judge": self.judge,
            "chosen": self.chosen,
            "skipped": took.skipped,
            "unanswered": self.unanswered,
            "sent": took.sent,
            "cost": took.cost,
            "tokens": took.tokens,
            "seconds": took.seconds,
            "stopped": took.stopped,
            "judged": self.counts,
            "weights": self.weights,
            "parties": self.parties,
            "dropped": self.judged.dropped if self.judged else 0,
            "price": self.price and self.price._asdict(),
        }


def ask(
    run: str | os.PathLike[str],
    judge: JudgeModel,
    *,
    about: str = "policy",
    only: Only | None = None,
    numbers: int | None = None,
    dry_run: bool = False,
    on_progress: OnProgress | None = None,
    domain: str | None = None,
    **settings: Any,
) -> AskedRun:
    """Ask a judge about the simulations of a run or a results file.

    Args:
        run: The run or results file; the answers are kept in its folder, or beside it.
        judge: A model's id, ``FILE.py:NAME``, a model, or a function that makes one.
        about: The question: ``policy``, ``cause``, or one that the run's benchmark has.
        only: Ask only about simulations that ``passed`` or ``failed``.
        numbers: Ask only about so many, drawn at random; the same ones each time.
        dry_run: Estimate what it would cost, and ask nothing.
        on_progress: Called with how many are done, and of how many.
        domain: Ask only about this domain.
        settings: The other fields of ``JudgeSettings``, such as ``args`` and ``budget``.
    """
    settled = JudgeSettings(judge, **settings)
    folder = open_recording(run, ScoringOptions(domain=domain))
    support = support_that_answers(folder, "judge_request")
    question = support.judge_question(about)
    # Nobody can be the cause of a failure that did not happen.
    kinds = _kinds(only or ("failed" if about == "cause" else "all"))
    simulations = _choose(folder, kinds, numbers, domain)
    model = settled.open_for_price() if dry_run else settled.open()
    who, version = model.who(question.params), question_version(question)
    asked_judge = AskedJudge(about, str(who["model"]), mapping(who, "params"), version)
    asked = [
        Asked(
            simulation_key(one, folder.content_key(one), version),
            partial(_request, support, folder, one, about),
        )
        for one in simulations
    ]
    found = AskedRun(folder.path, about, asked_judge.measured_name, len(asked))
    if dry_run:
        known = _judged(folder, asked_judge)
        return replace(found, price=_price(asked, known, question, settled))
    record = JudgeRecord(record_path(folder.path))
    answers = ask_all(asked, question, settled, record, on_progress)
    judged = _judged(folder, asked_judge)
    return replace(found, chosen=len(asked) - answers.skipped, judged=judged, took=answers)


def _request(
    support: BenchmarkSupport, folder: Recording, one: Simulation, about: str
) -> JudgeRequest | None:
    return support.judge_request(folder.report(one), about)


def _kinds(only: str) -> Sequence[str]:
    if only not in _KINDS:
        raise ConfigurationError(f"only is {only!r}; give one of {', '.join(_KINDS)}")
    return _KINDS[only]


def _choose(
    folder: Recording, kinds: Sequence[str], numbers: int | None, domain: str | None
) -> list[Simulation]:
    """Return the simulations to ask about, in order; of a sample, more contain fewer."""
    if numbers is not None and numbers < 1:
        raise ConfigurationError(f"numbers is {numbers}; give at least 1")
    domains = list(dict.fromkeys(one.domain for one in folder.planned))
    if domain is not None and domain not in domains:
        listed = ", ".join(domains)
        raise ConfigurationError(f"{folder.path} has no domain {domain!r}; it has {listed}")
    # By the verdicts that hold, which are not those of an edited log.
    lines = examine_run(folder, ()).lines
    found = [e.simulation for e in lines if e.kind in kinds and domain in (None, e.domain)]
    if numbers is None or numbers >= len(found):
        return found
    drawn = list(found)
    # The same order each time: a larger sample contains every smaller one.
    random.Random(0).shuffle(drawn)
    chosen = set(drawn[:numbers])
    return [one for one in found if one in chosen]


def _judged(folder: Recording, judge: AskedJudge) -> JudgedBy:
    known = (e for e in RunJudgements(folder).about(judge.question) if e.key == judge.key)
    return next(known, JudgedBy(**vars(judge)))


def _price(
    asked: Sequence[Asked], known: JudgedBy, question: Question[Any], settings: JudgeSettings
) -> Price:
    # A list, as no set can hold the keys, which are dicts.
    done = [dict(e.key) for e in known.judgements.values() if not e.unanswered]
    requests = (each.request() for each in asked if dict(each.key) not in done)
    return settings.estimate(question, [each for each in requests if each is not None])
