"""The simulated user's own report: in how many conversations it did not keep to its task.

A benchmark that can check its simulated users says for each simulation what was found
(``UserCheck``), whether it passed or failed. The shares are those of conversations with a fault,
by the model that played the user; each task counts once, and the intervals are over tasks, as those
of pass^k are.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from maseval.core.figures import percent
from maseval.core.words import excerpt
from maseval.runs import Simulation
from maseval.stats import Estimate
from maseval.stats.estimation import estimate
from maseval.stats.trials import count_trials

LABEL = "simulated user: "
"""The beginning of a label that says what was found about the user."""
NO_FAULT = f"{LABEL}no fault found"
NOT_READ = f"{LABEL}not read"
UNKNOWN_MODEL = "not recorded"
_LONGEST_QUOTE = 160
SCRIPTED = "a script played the user"


@dataclass(frozen=True)
class UserFinding:
    """One fault of the user: its kind, what is wrong, the message, and the words that show it."""

    kind: str
    text: str
    message_index: int
    quote: str = ""

    def __str__(self) -> str:
        said = f": “{excerpt(self.quote, _LONGEST_QUOTE)}”" if self.quote else ""
        return f"message {self.message_index}: {self.text}{said} [{self.kind}]"


@dataclass(frozen=True)
class UserCheck:
    """All faults of the user in one simulation; ``obstacle`` says why nobody could look for them.

    ``model`` played the user; None if that is not recorded.
    """

    findings: tuple[UserFinding, ...] = ()
    obstacle: str | None = None
    model: str | None = None

    @property
    def is_scripted(self) -> bool:
        """True if a script played the user, which has no faults to look for."""
        return self.obstacle == SCRIPTED

    @property
    def kinds(self) -> list[str]:
        """The kinds of faults that were found, each once."""
        return [*dict.fromkeys(each.kind for each in self.findings)]

    @property
    def is_read(self) -> bool:
        """True if it counts: a fault was found, or one could have been."""
        return bool(self.findings) or self.obstacle is None

    @property
    def labels(self) -> list[str]:
        """The result in short, by which simulations can be filtered."""
        return [f"{LABEL}{kind}" for kind in self.kinds] or [NO_FAULT if self.is_read else NOT_READ]

    def lines(self) -> list[str]:
        """Return what was found in sentences."""
        return [*map(str, self.findings), *filter(None, [self.obstacle])]

    def to_dict(self) -> dict[str, Any]:
        """Return the check as JSON values."""
        return asdict(self)


class PlayedUser(NamedTuple):
    """A simulation with the check of its user, and whether it passed."""

    simulation: Simulation
    passed: bool
    check: UserCheck


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

    @property
    def in_words(self) -> str:
        """A phrase with the share, its interval and the kinds."""
        if not self.read:
            return f"{self.model}: no conversation could be read"
        low, high = percent(self.share.low), percent(self.share.high)
        told = (
            f"{self.model}: a fault in {self.faulty} of {self.read} conversations "
            f"({percent(self.share.value or 0.0)} [{low}, {high}])"
        )
        kinds = ", ".join(f"{each.kind} {each.conversations}" for each in self.kinds)
        return f"{told}: {kinds}" if kinds else told

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as JSON values."""
        counts = ("model", "conversations", "read", "passes", "faulty", "faulty_passes")
        return {
            **{name: getattr(self, name) for name in counts},
            "share": self.share.in_brief(),
            "kinds": [{**asdict(each), "share": each.share.in_brief()} for each in self.kinds],
        }


def user_scores(played: Iterable[PlayedUser]) -> list[UserScore]:
    """Count the faults of each user model, over passes and failures."""
    by_model: dict[str, list[PlayedUser]] = {}
    for each in played:
        by_model.setdefault(each.check.model or UNKNOWN_MODEL, []).append(each)
    return [_score(model, mine) for model, mine in by_model.items()]


def _score(model: str, mine: Sequence[PlayedUser]) -> UserScore:
    read = [each for each in mine if each.check.is_read]
    faulty = [each for each in read if each.check.findings]
    counts = Counter(kind for each in read for kind in each.check.kinds)
    return UserScore(
        model,
        len(mine),
        len(read),
        sum(each.passed for each in read),
        len(faulty),
        sum(each.passed for each in faulty),
        _share(read, None),
        [
            FaultCount(
                kind,
                sum(each.passed for each in read if kind in each.check.kinds),
                number,
                _share(read, kind),
            )
            for kind, number in counts.most_common()
        ],
    )


def _share(read: Sequence[PlayedUser], kind: str | None) -> Estimate:
    """Estimate the share of conversations with a kind of fault, or with any."""
    found = (
        (
            each.simulation[:2],
            bool(each.check.findings) if kind is None else kind in each.check.kinds,
        )
        for each in read
    )
    return estimate([*count_trials(found).values()])


def played_users(
    checks: Mapping[Simulation, UserCheck], passes: Iterable[Simulation]
) -> list[PlayedUser]:
    """Put each check together with whether its simulation passed."""
    passed = set(passes)
    return [PlayedUser(one, one in passed, check) for one, check in checks.items()]


def users_note(scores: Sequence[UserScore]) -> str | None:
    """Say in a sentence how the simulated users did; None if none was checked."""
    told = [each.in_words for each in scores if each.read]
    return f"The simulated user, checked by rules: {'; '.join(told)}." if told else None


def checks_by_labels(
    labelled: Iterable[tuple[Simulation, Sequence[str]]], model: str | None
) -> dict[Simulation, UserCheck]:
    """Return the checks that labels tell of, without words and messages."""
    found = {}
    for one, labels in labelled:
        mine = [each.removeprefix(LABEL) for each in labels if each.startswith(LABEL)]
        if not mine:
            continue
        kinds = [] if {NO_FAULT, NOT_READ} & set(labels) else mine
        obstacle = NOT_READ if NOT_READ in labels else None
        findings = tuple(UserFinding(kind, "", -1) for kind in kinds)
        found[one] = UserCheck(findings, obstacle, model)
    return found
