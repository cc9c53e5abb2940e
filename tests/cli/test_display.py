"""What is shown during a run."""

import io
import re
import time
from typing import Any

import pytest
from rich.console import Console

from maseval.app.running import progress as progress_module
from maseval.app.running.progress import RunProgress
from maseval.cli.console import count, duration, inert, shorten_line, visible
from maseval.cli.running import display, frame, line
from maseval.core.call_policy import Wait
from maseval.core.outcome import Outcome, Simulation


def moment(*tasks: str, ran: int = 10, **given: str) -> RunProgress:
    """Ten of forty are done, six of them passed, one failed; these are under way for 34 s."""
    progress = RunProgress(40)
    for number in range(ran):
        kind = {"passed": number < 6, "cost": 0.125, "tokens": 12_000}
        progress.finish(Outcome("telecom", str(number), 0, **kind))
    progress.recall(Outcome("telecom", "x", 0, None, status="setup_failed"))
    progress._began -= 100
    progress._spent += 10 * ran
    for task in tasks:
        progress.start(Simulation("telecom", task, 2))
        progress._running[Simulation("telecom", task, 2)] -= 34
    for name, value in given.items():
        setattr(progress, name, value)
    return progress


def drawn(renderable: Any) -> str:
    console = Console(file=io.StringIO(), width=100)
    console.print(renderable)
    return console.file.getvalue()


def test_the_display_tells_how_far_it_is_and_which_is_the_slowest():
    shown = drawn(frame(moment("[mobile]a|b")))

    for part in ("10/40", "1 running", "1 failed", "pass^1 60.0% [", "120k tokens", "$1.25"):
        assert part in shown
    assert "1:40" in shown and "4:40 left" in shown  # 28 that wait, of 10 s each
    assert "telecom/[mobile]a|b trial 2, 34 s" in shown


def test_what_calls_wait_for_is_said_with_the_time_at_which_they_go_on(monkeypatch):
    wait = Wait("openai/gpt-4.1", "RateLimitError", time.monotonic() + 84.9)
    monkeypatch.setattr(progress_module, "waiting", lambda: [wait] * 4)
    now = moment("a")

    for shown in (drawn(frame(now)), drawn(line(now))):
        assert re.search(
            r"openai/gpt-4\.1: 4 calls wait after RateLimitError; next attempt in 1:2\d, at \d\d:",
            " ".join(shown.split()),
        )


def test_a_plain_line_says_the_same():
    text = drawn(line(moment("[mobile]a|b")))

    assert "10/40 done" in text and "telecom/[mobile]a|b trial 2, 34 s" in " ".join(text.split())


def test_what_is_still_to_finish_is_counted():
    shown = drawn(line(moment("a", stopping="interrupted")))

    assert "1 still to finish; Ctrl-C stops now" in " ".join(shown.split())


def test_where_there_is_no_terminal_lines_are_printed():
    console = Console(file=io.StringIO(), width=200)
    with display(console)(moment()):
        pass

    assert console.file.getvalue().count("10/40 done") == 2


def test_on_a_terminal_the_display_is_redrawn_and_taken_away():
    console = Console(file=io.StringIO(), width=100, force_terminal=True, highlight=False)
    with display(console)(moment("a")):
        pass

    assert "10/40" in console.file.getvalue() and "\x1b[2K" in console.file.getvalue()


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("\x1b[31mred", "\\u{1B}[31mred"),
        ("a\rb\x07", "a\\u{D}b\\u{7}"),
        ("\u202eevil", "\\u{202E}evil"),
        ("two\nlines\t", "two\nlines\t"),
    ],
)
def test_nothing_that_a_model_says_steers_the_terminal(text, safe):
    assert visible(text) == safe


def test_nothing_that_a_model_says_is_markup():
    assert drawn(inert("[red]x[/red] [link=http://x]y[/link]")).strip() == (
        "[red]x[/red] [link=http://x]y[/link]"
    )


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (59, "59 s"), (61, "1:01"), (3725, "1:02:05"), (None, "?")]
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_sums_and_counts():
    assert (count(999), count(1500), count(2_000_000)) == ("999", "1.5k", "2M")
    assert (count(999_499), count(999_700)) == ("999k", "1M")
    assert shorten_line("a  b\nc" * 10, 6) == "a b c…"
