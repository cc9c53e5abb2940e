"""The timeline of a recorded simulation, from its report."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from maseval.benchmark.tau2.app.results.results_run import JUDGED_BY
from maseval.benchmark.tau2.results.reports import release_of_report
from maseval.benchmark.tau2.timeline import Timeline, timeline
from maseval.benchmark.tau2.timeline.timeline import search_form
from maseval.core.outcome import recorded_simulation
from maseval.core.report import Report
from maseval.core.shapes import mapping


@dataclass(frozen=True)
class ReportTimeline:
    """The world after each message, in the form that the viewer shows."""

    found: Timeline

    def to_dict(self) -> Mapping[str, object]:
        """The whole timeline in JSON's terms."""
        return self.found.to_dict()

    def search_form(self, words: str, message: int | None) -> Mapping[str, object]:
        """The records with these words in them after a message, or at the start."""
        return search_form(self.found.search(words, message))


def timeline_of_report(report: Report) -> ReportTimeline | None:
    """The timeline of a simulation, also of one that was cut off; None without a conversation."""
    recorded = recorded_simulation(report)
    if not recorded.get("messages"):
        return None
    environment = mapping(report, "config", "environment")
    release = release_of_report(report)
    domain = release.domain(str(environment["domain"]))
    if mapping(report, "config", "benchmark", "tau2").get("lenient_order_ids"):
        domain = domain.lenient
    judged_by = mapping(report, "task").get(JUDGED_BY)
    found = timeline(
        {**recorded, "task_id": report["task_id"]},
        domain,
        cast(Mapping[str, Any], judged_by) if judged_by else None,
        solo=bool(environment.get("solo")),
        version=release,
    )
    return ReportTimeline(found)
