"""Measurements of how often a judge was right, kept in the cache folder of this machine.

A measurement belongs to one judge, its options, the words of the question and the set of labelled
conversations. Each is one line of a file; an earlier one stays, so that the same judge can be held
against it. The findings of a judge are shown with its latest measurement, whatever its set was.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from maseval.core.exceptions import ConfigurationError
from maseval.core.storage.records import RecordWriter, iter_records, mend
from maseval.core.words import between, p_is
from maseval.data.files import cache_dir
from maseval.stats.intervals import weighted_interval
from maseval.stats.sign_flip import sign_flip_test

FILE = "calibrations.jsonl"
ALL = "all"
_ALPHA = 0.05


class CaseResult(NamedTuple):
    """The answer about one labelled conversation.

    ``right`` is None for one that is undecided. ``exact`` says of a right answer whether it named
    the message that shows the breach, or the party that the reader names first. ``distinct`` is
    False if the same conversation stands in another pair.
    """

    id: str
    group: str
    weight: str
    broken: bool
    right: bool | None
    exact: bool | None = None
    distinct: bool = True


class Rate(NamedTuple):
    """A share of conversations, with its exact limits at 95 %."""

    seen: int
    total: int

    @property
    def limits(self) -> tuple[float, float]:
        """The exact limits of Clopper and Pearson (1934)."""
        span = weighted_interval({1.0: self.seen, 0.0: self.total - self.seen})
        return span.low, span.high

    def __str__(self) -> str:
        return f"{self.seen} of {self.total} {between(*self.limits, digits=0)}"


class RateRow(NamedTuple):
    """The number found, and falsely flagged, among the conversations of one name."""

    name: str
    found: Rate
    flagged: Rate
    undecided: int


@dataclass(frozen=True)
class AskedJudge:
    """A judge as it is asked: a model with its options, and one version of a question."""

    question: str
    model: str
    params: Mapping[str, object]
    version: str

    @property
    def name(self) -> str:
        """The model, with its options if it has any."""
        options = ", ".join(f"{key} {value}" for key, value in self.params.items())
        return f"{self.model} ({options})" if options else self.model

    @property
    def key(self) -> str:
        """A text that is the same for the same judge and question; JSON knows no tuples."""
        asked = (self.question, self.model, dict(self.params), self.version)
        return json.dumps(asked, sort_keys=True)

    @property
    def measured_name(self) -> str:
        """The name, and how often the judge was right when it was measured."""
        found = latest_calibration(self)
        return f"{self.name} ({'not measured' if found is None else found.in_words})"


@dataclass(frozen=True)
class Calibration(AskedJudge):
    """One measurement of a judge; ``dropped`` counts claims without true evidence."""

    set: str
    at: str
    cases: Sequence[CaseResult]
    dropped: int = 0
    requests: int = 0
    cost: float = 0.0
    seconds: float = 0.0

    @classmethod
    def read(cls, line: Mapping[str, Any]) -> "Calibration":
        return cls(**{**line, "cases": [CaseResult(*each) for each in line["cases"]]})

    @property
    def found(self) -> Rate:
        return self.row(ALL, self.cases).found

    @property
    def flagged(self) -> Rate:
        return self.row(ALL, self.cases).flagged

    @property
    def undecided(self) -> int:
        return sum(each.right is None for each in self.cases)

    @property
    def exact(self) -> tuple[int, int]:
        """The number of right answers that are so in detail, and of those that could be."""
        seen = [each.exact for each in self.cases if each.broken and each.right]
        return sum(map(bool, seen)), len([each for each in seen if each is not None])

    def row(self, name: str, cases: Iterable[CaseResult]) -> RateRow:
        """Count cases; those that are undecided are counted apart."""
        distinct = [each for each in cases if each.distinct]
        decided = [each for each in distinct if each.right is not None]
        broken = [each for each in decided if each.broken]
        kept = [each for each in decided if not each.broken]
        return RateRow(
            name,
            Rate(sum(bool(each.right) for each in broken), len(broken)),
            Rate(sum(not each.right for each in kept), len(kept)),
            len(distinct) - len(decided),
        )

    @property
    def rows(self) -> list[RateRow]:
        weight = "first party: " if self.question == "cause" else "weight: "
        names: list[tuple[str, Callable[[CaseResult], str]]]
        names = [("", lambda each: each.group), (weight, lambda each: each.weight)]
        found = []
        for prefix, name_of in names:
            for name in sorted({name_of(each) for each in self.cases}):
                mine = [each for each in self.cases if name_of(each) == name]
                found.append(self.row(f"{prefix}{name}", mine))
        return [*found, self.row(ALL, self.cases)]

    @property
    def in_words(self) -> str:
        """A sentence to stand where findings of the judge are shown."""
        found, flagged = self.found, self.flagged
        verb = "named a reader's party in" if self.question == "cause" else "found"
        words = f"{verb} {found.seen} of {found.total}"
        if flagged.total:
            words += f", flagged {flagged.seen} of {flagged.total}"
        undecided = f", {self.undecided} undecided" if self.undecided else ""
        return f"{words}{undecided} when measured"

    def to_dict(self) -> dict[str, Any]:
        rows = [
            {
                "name": each.name,
                "found": _rate_form(each.found),
                "flagged": _rate_form(each.flagged),
                "undecided": each.undecided,
            }
            for each in self.rows
        ]
        return {**asdict(self), "cases": [list(each) for each in self.cases], "rows": rows}


def _rate_form(rate: Rate) -> dict[str, object]:
    low, high = rate.limits
    return {"count": rate.seen, "total": rate.total, "low": low, "high": high}


class Change(NamedTuple):
    """The same judge measured twice on the same conversations."""

    before: str
    cases: int
    differing: int
    better: int
    worse: int
    p_value: float

    def __str__(self) -> str:
        when = self.before.replace("T", " ").partition(".")[0]
        same = f"{self.differing} of {self.cases} answers differ from those of {when}"
        told = f"{same}: {self.better} better, {self.worse} worse ({p_is(self.p_value)})"
        if self.p_value < _ALPHA:
            return f"{told}. The model behind this name changed, or how it is served"
        return told


def change_since(new: Calibration, old: Calibration) -> Change | None:
    """Compare two measurements by McNemar's exact test; None if they share no conversation."""
    known = {each.id: each.right for each in old.cases}
    both = [(known[each.id], each.right) for each in new.cases if each.id in known]
    if not both:
        return None
    # An undecided answer counts as one that is not right, before as after.
    steps = [Fraction(bool(now) - bool(then)) for then, now in both]
    test = sign_flip_test(steps)
    # Wrong and undecided differ as well, though neither is better than the other.
    differing = sum(then != now for then, now in both)
    better, worse = (sum(step == sign for step in steps) for sign in (1, -1))
    return Change(old.at, len(both), differing, better, worse, test.p_value)


def calibrations_path() -> Path:
    return cache_dir() / FILE


def read_calibrations() -> Iterator[Calibration]:
    """Yield the measurements on this machine, the earliest first."""
    path = calibrations_path()
    if not path.is_file():
        return
    # A last line that a kill cut off is no measurement, and the others are as good as before.
    for line in iter_records(path, on_torn=lambda _: None):
        try:
            yield Calibration.read(line)
        except (TypeError, KeyError) as error:
            raise ConfigurationError(
                f"{path} has a line that is no measurement of a judge ({error}); remove that line"
            ) from error


def keep_calibration(found: Calibration) -> None:
    path = calibrations_path()
    # A line that a kill cut off would spoil the one written after it.
    if path.exists():
        mend(path)
    with RecordWriter(path, resume=True) as file:
        file.append({**asdict(found), "cases": [list(each) for each in found.cases]})


def latest_calibration(judge: AskedJudge, set: str | None = None) -> Calibration | None:
    """Return the latest measurement of a judge, with ``set`` the latest on that set."""
    found = None
    for each in read_calibrations():
        if each.key == judge.key and set in (None, each.set):
            found = each
    return found
