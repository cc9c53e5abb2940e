"""The answers of judge models about a run: flagged, clear, or undecided, by question and judge.

They stand in the record of judgements in the run's folder, or beside a results file. An answer is
about one conversation: if the simulation was run again since, it does not count. Whatever is no
answer stays undecided, also one whose claims were all dropped because their evidence is not true:
a judge that invents a breach has not said that there is none.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from maseval.app.results.calibrated import judge_in_words
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
    """Return the key of a judgement about a simulation."""
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
class JudgedBy:
    """The answers of one judge to one question about the simulations of a run."""

    question: str
    model: str
    params: Mapping[str, object] = field(default_factory=dict)
    version: str = ""
    judgements: Mapping[Simulation, Judgement] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The model, with its options if it has any."""
        options = ", ".join(f"{key} {value}" for key, value in self.params.items())
        return f"{self.model} ({options})" if options else self.model

    def simulations(
        self, status: Status, weights: Collection[str] | None = None
    ) -> list[Simulation]:
        """Return the simulations of which it says this."""
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
            if one in recorded and key.get(CONTENT) == self.folder.content_key(one):
                yield one, each

    @cached_property
    def judges(self) -> list[JudgedBy]:
        """The judges that were asked, each with its answers to one version of a question."""
        found: dict[str, JudgedBy] = {}
        for one, each in self._current():
            who, version = each.judge, str(each.key.get(VERSION, ""))
            params = mapping(who, "params")
            name = json.dumps([each.question, who, version], sort_keys=True, default=str)
            if name not in found:
                model = str(who.get("model"))
                found[name] = JudgedBy(each.question, model, params, version, {})
            known = found[name].judgements
            assert isinstance(known, dict)
            known[one] = each
        return [*found.values()]

    def about(self, question: str) -> list[JudgedBy]:
        """Return the judges that answered this question."""
        return [each for each in self.judges if each.question == question]


def judged_findings(
    folder: Recording, findings_of: Callable[[Judgement], Sequence[Finding]]
) -> dict[Simulation, list[Finding]]:
    """Return what all judges of a run claim, with the name of each and how often it was right."""
    found: dict[Simulation, list[Finding]] = {}
    for judge in RunJudgements(folder).judges:
        by = judge_in_words(judge.question, judge.name, judge.model, judge.params, judge.version)
        for one, judgement in judge.judgements.items():
            for each in findings_of(judgement):
                found.setdefault(one, []).append(replace(each, by=by))
    return found
