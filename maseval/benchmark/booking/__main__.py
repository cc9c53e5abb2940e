"""``python -m maseval.benchmark.booking``: run the demo and show how it went."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from maseval.benchmark.booking.benchmark import BookingBenchmark
from maseval.benchmark.booking.tasks import load_tasks
from maseval.core.outcome import RecordedReport
from maseval.core.report import Report


def main() -> None:
    benchmark = BookingBenchmark(n_task_repeats=4, num_workers=8, progress_bar="rich", seed=7)
    reports = benchmark.run(load_tasks(), agent_data={"slip_rate": 0.2, "delay_seconds": 0.05})
    Console().print(result_table(reports))


def result_table(reports: Sequence[Report]) -> Table:
    """Return one row for each task, its repetitions in order, and the overall rate at the foot."""
    overall = [_is_pass(report) for report in reports]
    table = Table(title="Booking meeting rooms", show_footer=True)
    table.add_column("task", footer="all")
    table.add_column("request")
    table.add_column("repeats")
    table.add_column("passed", f"{sum(overall)}/{len(overall)}", justify="right")
    table.add_column("rate", f"{sum(overall) / len(overall):.0%}", justify="right")
    for task in load_tasks():
        own = [report for report in reports if report["task_id"] == task.id]
        marks = [_is_pass(report) for report in sorted(own, key=lambda one: one["repeat_idx"])]
        shown = "".join("+" if passed else "-" for passed in marks)
        rate = f"{sum(marks) / len(marks):.0%}"
        table.add_row(task.id, task.query, shown, f"{sum(marks)}/{len(marks)}", rate)
    return table


def _is_pass(report: Report) -> bool:
    return RecordedReport(report).kind == "pass"


if __name__ == "__main__":
    main()
