"""The answers of judge models about a run: flagged, clear, or undecided, by question and judge.

They stand in the record of judgements in the run's folder, or beside a results file. An answer is
about one conversation: if the simulation was run again since, it does not count. Whatever is no
answer stays undecided, also one whose claims were all dropped because their evidence is not true:
a judge that invents a breach has not said that there is none.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from maseval.app.results.calibrated import AskedJudge
from maseval.core.finding import Finding
from maseval.core.judge import Question
from maseval.core.judge_record import Judgement, JudgeRecord, record_path
from maseval.core.outcome import Simulation
from maseval.core.recorded import mapping
from maseval.runs.recording import Recording

Status = Literal["flagged", "clear", "undecided"]

CONTENT, VERSION = "content", "version"
"""Parts of a judgement's key: the content of the report it is about, the question's version."""


def question_version(question: Question[Any]) -> str:
    """Return a short hash of the question's words and form, without what fills them."""
    return short_hash([question.template, question.form.schema])[:12]


def short_hash(value: object) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def simulation_key(one: Simulation, content: str, version: str) -> dict[str, object]:
    return {**one._asdict(), CONTENT: content, VERSION: version}


def status_of(judgement: Judgement, weights: Collection[str] | None = None) -> Status:
    """Return what a judgement says, by its claims of these weights (of all, if None are named)."""
    if judgement.unanswered or judgement.answer is None:
        return "undecided"
    claims = judgement.answer.get("claims") or ()
    if not claims:
        return "undecided" if judgement.dropped else "clear"
    weighed = weights is None or any(each.get("weight") in weights for each in claims)
    return "flagged" if weighed else "clear"


@dataclass(frozen=True)
class JudgedBy(AskedJudge):
    """The answers of one judge to one question about the simulations of a run."""

    judgements: dict[Simulation, Judgement] = field(default_factory=dict)

    def simulations(
        self, status: Status, weights: Collection[str] | None = None
    ) -> list[Simulation]:
        return [one for one, e in self.judgements.items() if status_of(e, weights) == status]

    @property
    def dropped(self) -> int:
        """The number of claims without true evidence, which do not count."""
        return sum(len(each.dropped) for each in self.judgements.values())


class RunJudgements:
    """All judgements about a run, without those about conversations that were run again."""

    def __init__(self, folder: Recording) -> None:
        self.folder = folder
        self.record = JudgeRecord(record_path(folder.path))

    def _current(self) -> Iterator[tuple[Simulation, Judgement]]:
        recorded = dict.fromkeys(self.folder.recorded)
        for each in self.record.judgements():
            key = each.key
            one = Simulation(str(key.get("domain")), str(key.get("task_id")), key.get("trial", 0))
            # An answer about a conversation that was run again says nothing of the new one.
            if one in recorded and key.get(CONTENT) == self.folder.content_key(one):
                yield one, each

    @cached_property
    def judges(self) -> list[JudgedBy]:
        """The judges that were asked, each with its answers to one version of a question."""
        found: dict[str, JudgedBy] = {}
        for one, each in self._current():
            model, params = str(each.judge.get("model")), mapping(each.judge, "params")
            judge = JudgedBy(each.question, model, params, str(each.key.get(VERSION, "")))
            found.setdefault(judge.key, judge).judgements[one] = each
        return [*found.values()]

    def about(self, question: str) -> list[JudgedBy]:
        return [each for each in self.judges if each.question == question]


def judged_findings(
    folder: Recording, findings_of: Callable[[Judgement], Sequence[Finding]]
) -> dict[Simulation, list[Finding]]:
    """Return what all judges of a run claim, with the name of each and how often it was right."""
    found: dict[Simulation, list[Finding]] = {}
    for judge in RunJudgements(folder).judges:
        by = judge.measured_name
        for one, judgement in judge.judgements.items():
            for each in findings_of(judgement):
                found.setdefault(one, []).append(replace(each, by=by))
    return found
