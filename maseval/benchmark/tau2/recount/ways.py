"""How simulations are judged again, and what then has to be said beside every number."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Ways:
    """How simulations are judged, where that is not by the benchmark's own tasks.

    ``as_recorded`` counts the recorded verdicts, ``embedded_tasks`` judges by the tasks in the
    file, ``remap_tasks`` by the task to which the recorded checks belong.
    """

    as_recorded: bool = False
    embedded_tasks: bool = False
    remap_tasks: bool = False
    strict: bool = False

    @property
    def marks(self) -> list[str]:
        """What has to be said beside every number."""
        return [
            words
            for chosen, words in (
                (self.as_recorded, "rewards as recorded, not recomputed"),
                (self.embedded_tasks, "judged by the tasks in the file, not the benchmark's"),
                (self.remap_tasks, "each judged by the task its recorded checks belong to"),
            )
            if chosen
        ]
