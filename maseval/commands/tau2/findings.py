"""What an audit found, as it is shown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


class Remark(NamedTuple):
    """One finding, with what its kind means; ``task_id`` is None if it is about all tasks."""

    domain: str
    task_id: str | None
    kind: str
    meaning: str
    severity: str
    text: str
    evidence: Mapping[str, Any]


@dataclass(frozen=True)
class Audit:
    """What was found in these domains, the worst first; ``counts`` by severity."""

    domains: Sequence[str]
    remarks: Sequence[Remark]
    counts: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        """In JSON's terms."""
        return {
            "domains": list(self.domains),
            "counts": dict(self.counts),
            "findings": [remark._asdict() for remark in self.remarks],
        }
