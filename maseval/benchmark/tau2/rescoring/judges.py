"""The judges of a recount: the first decides, and the others say whether they agree."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

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
        """The judges' models."""
        return [each.model_id for each in self.judges]

    @property
    def agreements(self) -> list[JudgesAgreement]:
        """The first judge beside each of the others."""
        return [
            JudgesAgreement(
                self.judges[0].model_id,
                judge.model_id,
                agreement(self._assertions(number)),
                agreement(self._outcomes(number)),
            )
            for number, judge in enumerate(self.judges)
            if number
        ]

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

    def _pairs(self, number: int) -> Iterator[tuple[RewardInfo, RewardInfo]]:
        for verdicts in self._verdicts:
            one, other = verdicts[0], verdicts[number]
            if one is not None and other is not None:
                yield one, other

    def _assertions(self, number: int) -> Iterator[tuple[bool, bool]]:
        for one, other in self._pairs(number):
            answers = ([each["met"] for each in v["nl_assertions"] or ()] for v in (one, other))
            yield from zip(*answers, strict=False)

    def _outcomes(self, number: int) -> Iterator[tuple[bool, bool]]:
        for one, other in self._pairs(number):
            yield is_successful(one["reward"]), is_successful(other["reward"])
