"""The simulated user's own report: in how many conversations it did not keep to its task.

The share is that of conversations with a fault, over passes and failures; each task counts once,
and the interval is over tasks, as those of pass^k are.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from maseval.app.results.explained import MISFIT
from maseval.app.results.variants import Findings
from maseval.core.figures import percent
from maseval.core.finding import NOT_READ, Finding
from maseval.core.outcome import Outcome, Simulation
from maseval.stats import Estimate
from maseval.stats.summary import estimate
from maseval.stats.trials import count_trials


@dataclass(frozen=True)
class UserScore:
    """The faults of a user model: in how many conversations, of how many that were read.

    ``kinds`` has the number of conversations with each kind of fault.
    """

    model: str
    conversations: int
    read: int
    faulty: int
    share: Estimate
    kinds: Mapping[str, int]

    def __str__(self) -> str:
        low, high = percent(self.share.low), percent(self.share.high)
        told = (
            f"{self.model}: a fault in {self.faulty} of {self.read} conversations "
            f"({percent(self.share.value or 0.0)} [{low}, {high}])"
        )
        kinds = ", ".join(f"{kind} {number}" for kind, number in self.kinds.items())
        return f"{told}: {kinds}" if kinds else told

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "share": self.share.in_brief()}


def user_findings(
    lines: Iterable[Outcome], findings: Findings
) -> dict[Simulation, Sequence[Finding]]:
    """Return what was found about the users of the conversations that came to their end."""
    found: dict[Simulation, Sequence[Finding]] = {}
    for line in lines:
        every = findings.get(line.simulation)
        if line.kind == "error" or every is None or any(each.kind == MISFIT for each in every):
            continue
        found[line.simulation] = [each for each in every if each.source == "user"]
    return found


def user_score(model: str, found: Findings) -> UserScore:
    """Count the faults of the model that played the user, over passes and failures."""
    kinds = {
        one: {each.kind for each in findings if each.kind != NOT_READ}
        for one, findings in found.items()
    }
    # It counts if a fault was found, or one could have been.
    read = [one for one in found if kinds[one] or not found[one]]
    tasks = count_trials((one[:2], bool(kinds[one])) for one in read)
    return UserScore(
        model,
        len(found),
        len(read),
        sum(bool(kinds[one]) for one in read),
        estimate([*tasks.values()]),
        dict(Counter(kind for one in read for kind in sorted(kinds[one])).most_common()),
    )
