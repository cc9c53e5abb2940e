import io
import subprocess
import sys
from typing import Any

import pytest

from maseval.core.callbacks import (
    ProgressBarCallback,
    RichProgressBarCallback,
    TqdmProgressBarCallback,
    progress_callback,
)
from maseval.core.exceptions import ConfigurationError
from maseval.core.report import Report
from tests.core.worlds import FirstOnly


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Plain(ProgressBarCallback):
    """Writes down what a bar would show."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.seen: list[str] = []

    def _update_description(self, desc: str) -> None:
        self.seen.append(f"{desc}: {self.total}")

    def _update_progress(self, current: int, status: str) -> None:
        self.seen.append(f"{current} {status}")

    def _close_progress_bar(self) -> None:
        self.seen.append("closed")


class Rewarding(Plain):
    def update_metrics(self, report: Report) -> dict[str, str]:
        return {"reward": str(report["eval"][0]["reward"])}


@pytest.mark.parametrize("choice", ["bar", "", None, 1, "True"])
def test_any_other_choice_is_refused_with_the_way_out(choice):
    with pytest.raises(ConfigurationError, match=r"Invalid progress_bar value: .*'tqdm' or 'rich'"):
        progress_callback(choice)


def test_a_bar_counts_repetitions_and_successes(rehearsal):
    bar = Plain()
    run = rehearsal("a", "b", repeats=2)
    bar.on_run_start(run)
    bar.on_task_repeat_end(run, run.report("a"))
    bar.on_task_repeat_end(run, run.report("a", 1, status="agent_error"))
    bar.on_run_end(run, [])

    assert bar.seen == [
        "closed",
        "Running Rehearsal: 4",
        "1 1/1 Successful",
        "2 1/2 Successful",
        "closed",
    ]


def test_a_second_run_starts_from_zero(rehearsal):
    bar = Rewarding(desc="mine")
    run = rehearsal("a")
    run.run(bar)
    bar.set_metrics(cost="3")
    assert bar.seen.pop() == "1 1/1 Successful | reward=1.0, cost=3"
    bar.seen.clear()

    run.run(bar)

    assert bar.seen == ["closed", "mine: 1", "1 1/1 Successful | reward=1.0", "closed"]
    assert (bar.total, bar.current, bar.successful) == (1, 1, 1)


def test_without_status_only_the_bar_is_shown(rehearsal):
    bar = Plain(show_status=False)
    rehearsal("a").run(bar)

    assert bar.seen[2] == "1 "


def test_the_total_of_an_adaptive_queue_is_known_without_using_it_up(rehearsal):
    bar = Plain()
    reports = rehearsal("a", "b", "c", queue=FirstOnly).run(bar)

    assert bar.total == 3
    assert [report["task_id"] for report in reports] == ["a"]


@pytest.mark.parametrize("kind", [TqdmProgressBarCallback, RichProgressBarCallback])
def test_a_bar_is_drawn_on_standard_error_and_let_go(kind, rehearsal, monkeypatch, capsys):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", "160")
    bar = kind(desc="[bold]Running [x]")

    rehearsal("a", "b", repeats=2).run(bar)

    shown = screen.getvalue()
    assert "[bold]Running [x]" in shown
    assert "4/4" in shown
    assert "4/4 Successful" in shown
    assert bar._bar is None
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("kind", [TqdmProgressBarCallback, RichProgressBarCallback])
def test_a_log_file_is_not_flooded(kind, rehearsal, monkeypatch):
    log = io.StringIO()
    monkeypatch.setattr(sys, "stderr", log)
    monkeypatch.setenv("COLUMNS", "160")

    rehearsal("a", repeats=2000).run(kind())

    assert "2000/2000 Successful" in log.getvalue()
    assert len(log.getvalue()) < 1500


@pytest.mark.parametrize("kind", [TqdmProgressBarCallback, RichProgressBarCallback])
def test_a_run_cut_short_closes_its_bar_and_the_next_may_begin(kind, rehearsal, monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", "160")
    bar, run = kind(), rehearsal("a", "b")
    bar.on_run_start(run)
    bar.on_task_repeat_end(run, run.report("a"))
    bar.on_run_end(run, [])
    ended = len(screen.getvalue())
    bar.on_task_repeat_end(run, run.report("b"))
    bar.set_metrics(late="yes")
    bar.on_run_end(run, [])
    assert len(screen.getvalue()) == ended

    run.run(bar)

    assert "2/2 Successful" in screen.getvalue()


def test_neither_library_is_imported_before_a_bar_is_opened():
    code = (
        "import sys\n"
        "from maseval.core.callbacks import progress_callback\n"
        "progress_callback('rich'), progress_callback('tqdm')\n"
        "print([name for name in ('rich', 'tqdm') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert run.stdout.strip() == "[]"
