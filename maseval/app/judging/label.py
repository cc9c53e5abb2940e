"""``maseval judge label``: people answer what a judge was asked, about a random sample of a run."""

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from maseval.app.benchmarks import JudgeAnswers, LabelQuestion, support_for
from maseval.app.results.examined import examine_run
from maseval.app.results.labelled import (
    LABELS_ALONE,
    UNSURE,
    JudgedShare,
    agreement_in_words,
    agreement_of,
    current_labels,
    judged_shares,
    label_file,
)
from maseval.app.results.names import open_recording
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Outcome, Simulation
from maseval.core.storage.records import iter_records
from maseval.runs.labels import Label, LabelFile, check_labeller
from maseval.runs.recording import Recording
from maseval.stats import share_labels

USUAL_NUMBER = 60
WITHOUT_JUDGE = "none"
"""Given as the judge, labels are drawn among all conversations."""


@dataclass(frozen=True)
class OpenedQuestion:
    """A run, a question about it and what a judge answered, by which ``parts`` are made."""

    folder: Recording
    lines: Sequence[Outcome]
    question: LabelQuestion
    judge: str
    answers: JudgeAnswers
    parts: Mapping[str | None, Sequence[Simulation]]


@dataclass(frozen=True)
class Labelling(OpenedQuestion):
    """One person's labels on one question about one run.

    ``chosen`` are the conversations to label, in the random order in which they are shown.
    """

    by: str
    file: LabelFile
    chosen: Sequence[Simulation]

    @property
    def labelled(self) -> dict[Simulation, Label]:
        """This person's labels on the chosen conversations."""
        mine = current_labels(self.folder, self.question.name, self.file.labels)
        chosen = set(self.chosen)
        return {
            each.simulation: each
            for each in mine
            # What another judge's answers drew is no random sample of the parts of this one.
            if (each.by, each.drawn_by) == (self.by, self.judge) and each.simulation in chosen
        }

    @property
    def remaining(self) -> list[Simulation]:
        done = self.labelled
        return [one for one in self.chosen if one not in done]

    def add(self, one: Simulation, answer: str, note: str | None = None) -> Label:
        """Keep a label; it is on disk when this returns."""
        label = Label(
            self.question.name,
            one,
            self.by,
            read_answer(self.question, answer),
            self.folder.content_key(one),
            self.judge,
            note or None,
        )
        return self.file.add(label)

    def add_all(self, path: str | os.PathLike[str]) -> int:
        """Keep the labels in a file of JSON lines; returns how many are about other conversations.

        Each line has ``task_id``, ``answer``, and where needed ``domain``, ``trial`` and ``note``.
        Nothing is kept unless all of it can be read.
        """
        # A file may have more labels than were drawn: those would be no random sample.
        chosen = set(self.remaining)
        labels = []
        others = 0
        for number, record in enumerate(iter_records(path), 1):
            try:
                one = self._simulation_in(record)
                answer = read_answer(self.question, str(record["answer"]))
            except (KeyError, ValueError, TypeError) as error:
                raise ConfigurationError(f"{path}, line {number}: {error!s}") from error
            if one in chosen:
                labels.append((one, answer, record.get("note")))
            else:
                others += 1
        for label in labels:
            self.add(*label)
        return others

    def _simulation_in(self, record: Mapping[str, Any]) -> Simulation:
        task, trial = str(record["task_id"]), int(record.get("trial", 0))
        domains = {one.domain for one in self.folder.recorded}
        domain = record.get("domain")
        if domain is None and len(domains) == 1:
            [domain] = domains
        found = Simulation(str(domain), task, trial)
        if found not in self.folder.recorded:
            raise ConfigurationError(f"the run has no {found}")
        return found

    def judge_in_words(self, one: Simulation) -> str | None:
        """Return what the judge answered, to be shown after the label; None without a judge."""
        if self.judge == LABELS_ALONE:
            return None
        return f"{self.judge} answered: {self.answers.get(one) or 'undecided'}"

    @property
    def shares(self) -> list[JudgedShare]:
        shares = judged_shares(self.folder, self.lines)
        names = {kind.name for kind in self.question.shares}
        return [each for each in shares if each.name in names and each.judge == self.judge]

    @property
    def agreements(self) -> list[str]:
        labels = current_labels(self.folder, self.question.name, self.file.labels)
        return [
            f"{agreement_in_words(names, found)} ({kind.name})"
            for kind in self.question.shares
            for names, found in agreement_of(labels, kind.counts).items()
        ]

    def to_dict(self) -> dict[str, Any]:
        labelled = self.labelled
        return {
            "path": str(self.folder.path),
            "about": self.question.name,
            "question": self.question.text,
            "answers": [*self.question.answers, UNSURE],
            "by": self.by,
            "judge": self.judge or None,
            "chosen": [
                {**one._asdict(), "answer": labelled[one].answer if one in labelled else None}
                for one in self.chosen
            ],
            "shares": [each.to_dict() for each in self.shares],
            "agreement": self.agreements,
        }


def begin_labelling(
    run: str | os.PathLike[str] | Recording,
    by: str,
    *,
    about: str | None = None,
    judge: str | None = None,
    numbers: int = USUAL_NUMBER,
) -> Labelling:
    """Draw the conversations of a run that a person labels: half flagged by a judge, half not.

    The same call later draws the same ones, and with more ``numbers`` the same and more. Without
    ``judge`` it is the only one that was asked; ``none`` draws among all conversations.
    """
    by = check_labeller(by)
    if numbers < 1:
        raise ConfigurationError(f"numbers is {numbers}; draw at least 1 conversation")
    asked = open_question(run, about, judge)
    file = label_file(asked.folder)
    groups = [file.order(part) for part in asked.parts.values()]
    shares = share_labels([len(each) for each in groups], numbers)
    some = [one for group, size in zip(groups, shares, strict=True) for one in group[:size]]
    # Ordered at random once more: part after part, the place would tell what the judge answered.
    return Labelling(**vars(asked), by=by, file=file, chosen=file.order(some))


def open_question(
    run: str | os.PathLike[str] | Recording, about: str | None, judge: str | None
) -> OpenedQuestion:
    """Open a run for a question that can be labelled; raise if it is about nothing there."""
    recording = open_recording(run) if isinstance(run, str | os.PathLike) else run
    found = examine_run(recording, ())
    folder = found.folder
    question = find_label_question(folder, about)
    chosen, answers = find_judge(folder, question.name, judge)
    parts: dict[str | None, list[Simulation]] = defaultdict(list)
    for line in found.lines:
        if question.asked_of(line):
            parts[answers.get(line.simulation)].append(line.simulation)
    if not parts:
        raise ConfigurationError(
            f"{folder.path} has no conversation that the question {question.name!r} is about: "
            f"{question.text}"
        )
    return OpenedQuestion(folder, found.lines, question, chosen, answers, parts)


def find_label_question(folder: Recording, about: str | None) -> LabelQuestion:
    questions = support_for(folder).label_questions(folder)
    if not questions:
        raise ConfigurationError(
            f"{folder.path} is a run of {folder.config.values.get('benchmark')}, which has no "
            "question to label"
        )
    for question in questions:
        if about in (None, question.name):
            return question
    names = ", ".join(each.name for each in questions)
    raise ConfigurationError(f"there is no question {about!r} to label; choose one of {names}")


def find_judge(folder: Recording, about: str, judge: str | None) -> tuple[str, JudgeAnswers]:
    judges = support_for(folder).judges(folder, about)
    if judge == WITHOUT_JUDGE or (judge is None and not judges):
        return LABELS_ALONE, {}
    if judge is None and len(judges) == 1:
        [judge] = judges
    listed = ", ".join(judges) or "none yet"
    if judge is None:
        raise ConfigurationError(
            f"{len(judges)} judges were asked about {about}: {listed}; choose one with --judge, or "
            f"--judge {WITHOUT_JUDGE} to draw among all conversations"
        )
    if judge not in judges:
        raise ConfigurationError(
            f"{judge!r} was not asked about {about} in {folder.path}; asked were: {listed}"
        )
    return judge, judges[judge]


def read_answer(question: LabelQuestion, given: str) -> str:
    """Return the answer that a word or its beginning stands for."""
    answers = (*question.answers, UNSURE)
    word = given.strip().lower()
    fitting = [each for each in answers if word and each.startswith(word)]
    # A whole answer is meant even where another answer begins with it.
    if word in answers or len(fitting) == 1:
        return word if word in answers else fitting[0]
    raise ConfigurationError(f"{given!r} is no answer; give one of {', '.join(answers)}")
