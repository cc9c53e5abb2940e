"""A cause why a record is not what the benchmark would have written, and its words."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from maseval.benchmark.tau2.rescoring.rescore import RescoredRecord
from maseval.benchmark.tau2.rescoring.verdict import RescoredSimulation

_LISTED = 5


@dataclass(frozen=True)
class Cause:
    """One reason in a sentence; ``remedy`` says what to try.

    ``fatal`` if numbers of such a record cannot be certified. A ``caution`` is a sign that deserves
    a look, and no fault.
    """

    kind: str
    text: str
    remedy: str | None = None
    fatal: bool = True
    caution: bool = False

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}" + (f"; {self.remedy}" if self.remedy else "")

    @property
    def scoring(self) -> tuple[str, str] | None:
        """The scoring options that the remedy names, as the query of an address, and what they do.

        ``("remap-tasks", "judges each by the task it is")``.
        """
        found = re.match(r"--([a-z-]{1,20})(?: (\S{1,60}))? (judges .*)", self.remedy or "")
        return found and (f"{found[1]}={found[2]}" if found[2] else found[1], found[3])

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


def share_of(several: Sequence[RescoredSimulation], found: RescoredRecord) -> str:
    return f"{len(several)} of {len(found.simulations)} simulations"


def some_of(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - _LISTED} more" if len(every) > _LISTED else ""
    return ", ".join(every[:_LISTED]) + more
