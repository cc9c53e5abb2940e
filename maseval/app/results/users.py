"""The simulated user's own report: in how many conversations it did not keep to its task.

The shares are those of conversations with a fault, by the model that played the user, over passes
and failures; each task counts once, and the intervals are over tasks, as those of pass^k are.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from maseval.app.results.explained import MISFIT
from maseval.app.results.variants import Findings
from maseval.core.figures import percent
from maseval.core.finding import NOT_READ, Finding
from maseval.core.outcome import Outcome, Simulation
from maseval.stats import Estimate
from maseval.stats.summary import estimate
from maseval.stats.trials import count_trials


class PlayedUser(NamedTuple):
    """A simulation whose user a model played, and what was found about that user."""

    model: str
    simulation: Simulation
    passed: bool
    findings: Sequence[Finding]

    @property
    def kinds(self) -> list[str]:
        """The kinds of faults that were found, each once."""
        return [*dict.fromkeys(each.kind for each in self.findings if each.kind != NOT_READ)]

    @property
    def is_read(self) -> bool:
        """True if it counts: a fault was found, or one could have been."""
        return bool(self.kinds) or not self.findings


@dataclass(frozen=True)
class FaultCount:
    """The number of passes, and of all conversations, with one kind of fault, and their share."""

    kind: str
    passes: int
    conversations: int
    share: Estimate


@dataclass(frozen=True)
class UserScore:
    """The faults of one user model: in how many conversations, of how many that were read."""

    model: str
    conversations: int
    read: int
    passes: int
    faulty: int
    faulty_passes: int
    share: Estimate
    kinds: Sequence[FaultCount] = ()

    def __str__(self) -> str:
        low, high = percent(self.share.low), percent(self.share.high)
        told = (
            f"{self.model}: a fault in {self.faulty} of {self.read} conversations "
            f"({percent(self.share.value or 0.0)} [{low}, {high}])"
        )
        kinds = ", ".join(f"{each.kind} {each.conversations}" for each in self.kinds)
        return f"{told}: {kinds}" if kinds else told

    def to_dict(self) -> dict[str, Any]:
        kinds = [{**asdict(each), "share": each.share.in_brief()} for each in self.kinds]
        return {**asdict(self), "share": self.share.in_brief(), "kinds": kinds}


def played_users(
    lines: Iterable[Outcome], findings: Findings, model: str | None
) -> list[PlayedUser]:
    """Return the conversations of a run, in which this ``model`` played the user, to their end."""
    if model is None:
        return []
    played = []
    for line in lines:
        every = findings.get(one := line.simulation)
        if line.kind == "error" or every is None or any(each.kind == MISFIT for each in every):
            continue
        mine = [each for each in every if each.source == "user"]
        played.append(PlayedUser(model, one, bool(line.passed), mine))
    return played


def user_scores(played: Iterable[PlayedUser]) -> list[UserScore]:
    """Count the faults of each user model, over passes and failures."""
    by_model: dict[str, list[PlayedUser]] = {}
    for each in played:
        by_model.setdefault(each.model, []).append(each)
    scores = []
    for model, mine in by_model.items():
        read = [each for each in mine if each.is_read]
        kinds = Counter(kind for each in read for kind in each.kinds).most_common()
        every = _count(read)
        scores.append(
            UserScore(
                *(model, len(mine), len(read), sum(each.passed for each in read)),
                *(every.conversations, every.passes, every.share),
                [_count(read, kind) for kind, _ in kinds],
            )
        )
    return scores


def _count(read: Sequence[PlayedUser], kind: str | None = None) -> FaultCount:
    """Count a kind of fault in conversations, or any; each task counts once in the share."""
    faulty = [bool(each.kinds) if kind is None else kind in each.kinds for each in read]
    tasks = count_trials(zip((each.simulation[:2] for each in read), faulty, strict=True))
    passes = sum(each.passed and is_so for each, is_so in zip(read, faulty, strict=True))
    return FaultCount(kind or "any", passes, sum(faulty), estimate([*tasks.values()]))
