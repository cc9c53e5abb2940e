"""One reason why a record is not what the benchmark would have written, and words for it."""

from collections.abc import Iterable, Sequence, Sized
from dataclasses import asdict, dataclass

from maseval.benchmark.tau2.recount.judged import Judged
from maseval.benchmark.tau2.recount.recount import Recount

_LISTED = 5


@dataclass(frozen=True)
class Cause:
    """One reason, told in a sentence; ``remedy`` is what to try.

    ``fatal`` if numbers of such a record cannot be certified.
    """

    kind: str
    text: str
    remedy: str | None = None
    fatal: bool = True

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}" + (f"; {self.remedy}" if self.remedy else "")

    def to_dict(self) -> dict[str, object]:
        """In JSON's terms."""
        return asdict(self)


def share_of(several: Sequence[Judged], found: Recount) -> str:
    """How many of all simulations these are."""
    return f"{len(several)} of {len(found.judged)} simulations"


def count_of(several: Sized, what: str) -> str:
    """A number with its noun."""
    return f"{len(several)} {what}{'' if len(several) == 1 else 's'}"


def some_of(names: Iterable[str]) -> str:
    """The first few names, and how many more there are."""
    every = list(names)
    more = f" and {len(every) - _LISTED} more" if len(every) > _LISTED else ""
    return ", ".join(every[:_LISTED]) + more
