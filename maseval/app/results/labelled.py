"""Numbers that a judge counted, as it counted them, and corrected by people's labels.

A label question divides conversations by what a judge answered; people labelled a random sample
inside each part. Only labels that were drawn by the same judge's answers count for it, as others
are no random sample of its parts. Where labellers contradict each other, or are unsure, the
conversation may count or not, and the interval is wider for it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from maseval.app.benchmarks import JudgeAnswers, JudgedShareKind, LabelQuestion, support_for
from maseval.app.results.measured import MeasuredScore
from maseval.core.outcome import Outcome, Simulation
from maseval.core.storage.files import path_about
from maseval.core.words import between, count_of, percent
from maseval.runs.labels import LABELS, Label, LabelFile
from maseval.runs.recording import Recording
from maseval.stats import (
    Agreement,
    CorrectedShare,
    Estimate,
    Measure,
    Stratum,
    agreement,
    corrected_share,
)

LABELS_ALONE = ""
"""Stands for the judge where labels are drawn among all conversations."""

UNSURE = "unsure"
CORRECTED_AT_LEAST = 2
"""Labels in each part from which a corrected number is printed."""


def label_file(folder: Recording) -> LabelFile:
    return LabelFile(path_about(folder.path, LABELS))


@dataclass(frozen=True)
class JudgedShare:
    """One number as a judge counts it, and corrected.

    Of ``total`` conversations the judge counts ``raw``; ``undecided`` are those it says nothing of.
    ``calibration`` says how far the judge was right where that was measured. ``judge`` is empty for
    labels alone. The conversations are of so many ``tasks``.
    """

    name: str
    judge: str
    total: int
    tasks: int
    raw: int
    undecided: int
    labels: int = 0
    corrected: CorrectedShare | None = None
    calibration: str | None = None

    def __str__(self) -> str:
        words = [self._raw_words()] if self.judge else []
        if self.corrected is not None:
            found = self.corrected
            here = f"{percent(found.share)} {between(found.here.low, found.here.high)}"
            by = f"by {count_of(self.labels, 'label')}"
            words.append(f"{'corrected ' * bool(self.judge)}{by}: {here} for these conversations")
            if (like := found.like_these) is not None:
                words.append(f"{between(like.low, like.high)} for conversations like these")
        elif self.labels:
            words.append(f"{count_of(self.labels, 'label')} so far, too few to correct it")
        return f"{self.name}: {'; '.join(words)}"

    def _raw_words(self) -> str:
        undecided = f", {self.undecided} undecided or not asked" if self.undecided else ""
        measured = f", {self.calibration}" if self.calibration else ", its error is not measured"
        counted = f"{self.raw} of {self.total} ({percent(self.raw / self.total)})"
        return f"judged by {self.judge} {counted}{undecided}{measured}"

    def to_dict(self) -> dict[str, Any]:
        corrected = None if self.corrected is None else self.corrected.to_dict()
        return {**vars(self), "judge": self.judge or None, "corrected": corrected}


def corrected_scores(shares: Iterable[JudgedShare], domain: str) -> list[MeasuredScore]:
    """Return the shares that labels corrected as numbers beside the official one."""
    found = []
    for share in shares:
        if share.corrected is not None:
            by = f"judged by {share.judge} and corrected" if share.judge else "by labels"
            meaning = f"{count_of(share.labels, 'label')}, interval for conversations like these"
            measure = Measure(f"{share.name}, {by}", meaning, kind="share")
            number = Estimate(1, share.corrected.share, share.corrected.like_these)
            found.append(MeasuredScore(domain, measure, share.tasks, share.total, {1: number}))
    return found


def judged_shares(folder: Recording, lines: Sequence[Outcome]) -> list[JudgedShare]:
    """Return every number of a run that judges or labels give, by question and judge."""
    support, shares = support_for(folder), list[JudgedShare]()
    if not (questions := support.label_questions(folder)):
        return shares
    for question in questions:
        judges = support.judges(folder, question.name)
        drawn = labels_by_draw(folder, question.name)
        # Labels that were drawn among all conversations give a number without any judge.
        if LABELS_ALONE in drawn:
            judges = {**judges, LABELS_ALONE: {}}
        for judge, answers in judges.items():
            mine = drawn.get(judge, {})
            measured = support.calibration(folder, question.name, judge) if judge else None
            for kind in question.shares:
                share = share_of(question, kind, lines, answers, mine, judge, measured)
                shares += [] if share is None else [share]
    return shares


def share_of(
    question: LabelQuestion,
    kind: JudgedShareKind,
    lines: Iterable[Outcome],
    answers: JudgeAnswers,
    labels: Mapping[Simulation, str],
    judge: str = LABELS_ALONE,
    calibration: str | None = None,
) -> JudgedShare | None:
    """Return one number; None if there is no conversation that it is about.

    ``labels`` has one answer for each labelled conversation, ``unsure`` where people differ.
    """
    parts: dict[str | None, list[Outcome]] = defaultdict(list)
    others: list[Outcome] = []
    for line in lines:
        if question.asked_of(line):
            parts[answers.get(line.simulation)].append(line)
        elif kind.of_all and line.passed is not None:
            others.append(line)
    asked = sum(map(len, parts.values()))
    if not asked:
        return None
    strata = [_stratum(kind, part, labels) for part in parts.values()]
    # Whoever was not asked about does not count, and nobody has to say so.
    strata.append(Stratum(len(others), len(others), 0))
    # Cases of one cluster fail together, so clusters are drawn and not tasks.
    tasks = [[line.place.cluster for line in part] for part in (*parts.values(), others)]
    # One label of a part says nearly nothing, and would count for all of its conversations.
    enough = all(
        stratum.labelled - stratum.unsure >= min(CORRECTED_AT_LEAST, stratum.total)
        for stratum in strata
    )
    return JudgedShare(
        kind.name,
        judge,
        asked + len(others),
        len({line.key for part in (*parts.values(), others) for line in part}),
        sum(len(part) for answer, part in parts.items() if answer in kind.counts),
        # Without a judge every conversation lies in the part None, and none is undecided.
        len(parts.get(None, ())) if judge else 0,
        # The last stratum counts as labelled, but nobody labelled it.
        sum(stratum.labelled for stratum in strata[:-1]),
        corrected_share(strata, tasks) if enough else None,
        calibration,
    )


def _stratum(
    kind: JudgedShareKind, part: Sequence[Outcome], labels: Mapping[Simulation, str]
) -> Stratum:
    said = [labels[line.simulation] for line in part if line.simulation in labels]
    counts = sum(answer in kind.counts for answer in said)
    return Stratum(len(part), len(said), counts, said.count(UNSURE))


def labels_by_draw(folder: Recording, question: str) -> dict[str, dict[Simulation, str]]:
    """Return one answer for each conversation, by the judge whose answers it was drawn by."""
    drawn: dict[str, dict[Simulation, str]] = defaultdict(dict)
    for label in current_labels(folder, question, label_file(folder).labels):
        mine = drawn[label.drawn_by]
        known = mine.setdefault(label.simulation, label.answer)
        if known != label.answer:
            mine[label.simulation] = UNSURE
    return drawn


def current_labels(folder: Recording, question: str, labels: Iterable[Label]) -> list[Label]:
    """Return the labels on a question whose conversations are still the ones that were read."""
    recorded = folder.recorded
    return [
        label
        for label in labels
        if label.question == question
        and label.simulation in recorded
        and folder.content_key(label.simulation) == label.content
    ]


def agreement_of(
    labels: Iterable[Label], counts: Sequence[str]
) -> dict[tuple[str, str], Agreement]:
    """Return the agreement of each two labellers who labelled the same conversations."""
    by_labeller: dict[str, dict[Simulation, bool]] = defaultdict(dict)
    for label in labels:
        if label.answer != UNSURE:
            by_labeller[label.by][label.simulation] = label.answer in counts
    names = sorted(by_labeller)
    found = {}
    for at, first in enumerate(names):
        for second in names[at + 1 :]:
            both = sorted(by_labeller[first].keys() & by_labeller[second].keys())
            pairs = [(by_labeller[first][one], by_labeller[second][one]) for one in both]
            if pairs:
                found[first, second] = agreement(pairs)
    return found


def agreement_in_words(names: tuple[str, str], found: Agreement) -> str:
    same = f"{' and '.join(names)} agree on {found.equal} of {found.both}"
    if found.kappa is None or found.interval is None:
        return f"{same}; all labels are equal, so chance would agree as well"
    span = found.interval
    return f"{same}, kappa {found.kappa:.2f} [{span.low:.2f}, {span.high:.2f}]"
