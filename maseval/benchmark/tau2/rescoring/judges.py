"""Judges of natural-language assertions: the first decides, the others show agreement."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

from maseval.benchmark.tau2.formats.simulation import RewardInfo
from maseval.benchmark.tau2.scoring.judge import RememberingJudge
from maseval.core.outcome import is_successful
from maseval.stats.agreement import Agreement, agreement


@dataclass(frozen=True)
class JudgesAgreement:
    """The agreement of two judges, on single assertions and on whole simulations."""

    first: str
    second: str
    assertions: Agreement
    verdicts: Agreement

    def to_dict(self) -> dict[str, object]:
        return {
            "first": self.first,
            "second": self.second,
            "assertions": self.assertions.to_dict(),
            "verdicts": self.verdicts.to_dict(),
        }


@dataclass
class JudgePanel:
    """One judge or more, and the verdicts that each of them led to."""

    judges: Sequence[RememberingJudge]
    _verdicts: list[Sequence[RewardInfo | None]] = field(default_factory=list)

    def add(self, verdicts: Sequence[RewardInfo | None]) -> None:
        """Note the verdicts on one simulation, one of each judge; None if one could not be read."""
        self._verdicts.append(verdicts)

    @property
    def names(self) -> list[str]:
        return [each.model_id for each in self.judges]

    @property
    def agreements(self) -> list[JudgesAgreement]:
        """The first judge beside each of the others."""
        return [self._agreement(number) for number in range(1, len(self.judges))]

    def _agreement(self, number: int) -> JudgesAgreement:
        rows = ((row[0], row[number]) for row in self._verdicts)
        both = [(one, other) for one, other in rows if one is not None and other is not None]
        answers = (zip(_answers(one), _answers(other), strict=False) for one, other in both)
        outcomes = ((is_successful(a["reward"]), is_successful(b["reward"])) for a, b in both)
        return JudgesAgreement(
            self.names[0],
            self.names[number],
            agreement(chain.from_iterable(answers)),
            agreement(outcomes),
        )

    def to_dict(self) -> dict[str, object]:
        """Return the JSON form; empty without a judge."""
        if not self.judges:
            return {}
        return {
            "judges": [
                {"model": each.model_id, "asked": each.asked, "remembered": each.remembered}
                for each in self.judges
            ],
            "judges_agree": [each.to_dict() for each in self.agreements],
        }


def _answers(verdict: RewardInfo) -> list[bool]:
    return [each["met"] for each in verdict["nl_assertions"] or ()]
