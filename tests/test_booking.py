import subprocess
import sys
from typing import Any

from examples.booking import BookingBenchmark, load_tasks


def run(*, workers: int = 1, repeats: int = 1, **agent_data: float) -> list[dict[str, Any]]:
    benchmark = BookingBenchmark(
        n_task_repeats=repeats, num_workers=workers, progress_bar=False, seed=7
    )
    return benchmark.run(load_tasks(), agent_data=agent_data)


def passed(reports: list[dict[str, Any]]) -> set[str]:
    return {report["task_id"] for report in reports if report["eval"][0]["passed"]}


TOO_HARD = {"afternoon", "two-hours", "second-choice"}


def test_an_attentive_clerk_fails_only_the_requests_it_cannot_read():
    reports = run(slip_rate=0.0)

    assert {report["status"] for report in reports} == {"success"}
    assert passed(reports) == {task.id for task in load_tasks()} - TOO_HARD


def test_a_clerk_who_always_slips_takes_the_smallest_free_room():
    by_task = {report["task_id"]: report["eval"][0] for report in run(slip_rate=1.0)}

    assert by_task["team"] == {
        "passed": False,
        "booked": {"Ash": [13]},
        "expected": {"Cedar": [13]},
    }
    assert by_task["pair"]["passed"]


def test_saying_that_a_room_is_booked_does_not_make_it_so():
    report = next(report for report in run() if report["task_id"] == "two-hours")

    assert report["final_answer"] == "Cedar is yours at 10."
    assert not report["eval"][0]["passed"]


def test_every_verdict_can_be_given_again_from_the_report_alone():
    reports = run(repeats=2, slip_rate=0.3)

    rescored = BookingBenchmark(progress_bar=False, seed=7).rescore(reports, load_tasks())

    assert [report["eval"] for report in rescored] == [report["eval"] for report in reports]


def test_the_demo_prints_the_same_table_twice():
    command = [sys.executable, "-m", "examples.booking"]

    first, second = (
        subprocess.run(command, capture_output=True, check=True, encoding="utf-8").stdout
        for _ in range(2)
    )

    assert first == second
    assert "32/48" in first
