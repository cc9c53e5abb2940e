"""``maseval plan RUN --labels``: how narrow a number becomes by so many labels, before they are."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from maseval.app.judging.label import open_question
from maseval.app.results.labelled import labels_by_draw
from maseval.core.words import count_of, in_percent, percent
from maseval.stats import LabelForecast, forecast_labels

NUMBERS = (10, 20, 30, 60, 100, 200)
USUAL_SHARES = {True: 0.9, False: 0.1}
"""The shares that count among what a judge counts, and among the others, until labels say."""
HALF = 0.5


@dataclass(frozen=True)
class LabelPlan:
    """The widths to expect for the first number of a question, by how many labels are made.

    ``counted`` has the conversations that the judge counts, and the others. ``shares`` are those of
    conversations that count among either; ``assumed`` if no label says so yet.
    """

    about: str
    share: str
    judge: str
    counted: Mapping[bool, int]
    shares: Mapping[bool, float]
    assumed: bool
    rows: list[LabelForecast]

    @property
    def lines(self) -> list[str]:
        total = count_of(sum(self.counted.values()), "conversation")
        source = "assumed" if self.assumed else "by the labels so far"
        right, missed = percent(self.shares[True], 0), percent(self.shares[False], 0)
        if not self.judge:
            return [
                f"{self.share}: {total}; {source}: {missed} of them count",
                *(
                    f"{each.labels} labels: an interval {_points(each.alone)} wide"
                    for each in self.rows
                ),
            ]
        lines = [
            f"{self.share}: {self.judge} counts {self.counted[True]} of {total}",
            f"{source}: {right} of these do count, and {missed} of the others",
        ]
        for each in self.rows:
            better = "; draw them without the judge: --judge none" * each.alone_is_better
            width = "none" if each.with_judge is None else _points(each.with_judge)
            lines.append(
                f"{each.labels} labels: an interval {width} wide, by labels alone "
                f"{_points(each.alone)}{better}"
            )
        return lines

    def to_dict(self) -> dict[str, Any]:
        return {
            "about": self.about,
            "share": self.share,
            "judge": self.judge or None,
            "counted": self.counted[True],
            "conversations": sum(self.counted.values()),
            "assumed": self.assumed,
            "right_of_counted": self.shares[True],
            "missed_of_others": self.shares[False],
            "rows": [
                {**row.to_dict(), "alone_is_better": row.alone_is_better} for row in self.rows
            ],
        }


def _scaled(row: LabelForecast, scale: float) -> LabelForecast:
    width = None if row.with_judge is None else row.with_judge * scale
    return LabelForecast(row.labels, width, row.alone * scale)


def _points(width: float) -> str:
    return f"{in_percent(width)} points"


def plan_labels(
    run: str | os.PathLike[str], *, about: str | None = None, judge: str | None = None
) -> LabelPlan:
    """Say how narrow the first number of a question becomes by labels; writes nothing."""
    asked = open_question(run, about, judge)
    kind = asked.question.shares[0]
    counted = {key: 0 for key in USUAL_SHARES}
    said: dict[bool, list[bool]] = {key: [] for key in USUAL_SHARES}
    labels = labels_by_draw(asked.folder, asked.question.name).get(asked.judge, {})
    for answer, part in asked.parts.items():
        key = answer in kind.counts
        counted[key] += len(part)
        said[key] += [labels[one] in kind.counts for one in part if one in labels]
    # A part without any label has no share of its own, so the usual ones stand for both.
    known = all(said[key] for key in counted if counted[key] and asked.judge)
    assumed = not known or not any(said.values())
    shares = {
        key: sum(said[key]) / len(said[key]) if said[key] and not assumed else usual
        for key, usual in USUAL_SHARES.items()
    }
    totals, rates = [counted[True], counted[False]], [shares[True], shares[False]]
    if not asked.judge:
        # Where nobody knows anything, half is the widest.
        shares[False] = HALF if assumed else shares[False]
        totals, rates = [counted[False]], [shares[False]]
    # No more labels can be made than there are conversations.
    numbers = [number for number in NUMBERS if number < sum(totals)] or [sum(totals)]
    # A share of all conversations is known of those that are not asked about.
    others = sum(
        line.passed is not None and not asked.question.asked_of(line) for line in asked.lines
    )
    scale = sum(totals) / (sum(totals) + others) if kind.of_all else 1.0
    rows = [_scaled(forecast_labels(totals, rates, number), scale) for number in numbers]
    return LabelPlan(asked.question.name, kind.name, asked.judge, counted, shares, assumed, rows)
