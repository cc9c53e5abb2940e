"""The options by which recorded simulations are scored again.

Every layer from the command line down to the scoring of one simulation passes the same
``ScoringOptions``. The functions of ``maseval.commands`` take them as the ``ScoringKeywords``.
"""

from dataclasses import dataclass
from typing import TypedDict


class ScoringKeywords(TypedDict, total=False):
    """Keyword arguments of public functions; ``ScoringOptions`` explains each."""

    domain: str | None
    as_recorded: bool
    embedded_tasks: bool
    data_version: str | None
    task_id: str | None


@dataclass(frozen=True)
class ScoringOptions:
    """Options for scoring recorded simulations; by default every reward is recomputed.

    ``as_recorded`` counts the recorded rewards. ``embedded_tasks`` scores by the tasks in the
    file instead of the benchmark's. ``domain`` replaces the domain that a file names.
    ``data_version`` names the release; by default the form of the file shows it. ``task_id`` is the
    task of a trajectory that does not name it, or a JSON file that names each.
    """

    as_recorded: bool = False
    embedded_tasks: bool = False
    domain: str | None = None
    data_version: str | None = None
    task_id: str | None = None

    @property
    def marks(self) -> list[str]:
        """Remarks that must accompany every number, because the scoring is not the default."""
        remarks = (
            (self.as_recorded, "rewards as recorded, not recomputed"),
            (self.embedded_tasks, "judged by the tasks in the file, not the benchmark's"),
        )
        return [words for chosen, words in remarks if chosen]
