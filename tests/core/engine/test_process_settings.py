"""Settings of the process: changed while a run needs them, restored after the last run."""

import ast
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import maseval
from maseval.core.callbacks import TornRecordWarning, read_reports
from maseval.core.engine.process_settings import (
    HeldInterrupts,
    end_signals,
    signal_handlers,
    switch_interval,
)
from tests.core.worlds import Diary, Shop, numbered, tasks
from tests.waiting import hang_ups_heeded

PATIENCE = 60


@pytest.fixture(autouse=True)
def settings_are_put_back() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(0.005)
    yield
    sys.setswitchinterval(interval)


def test_the_end_of_one_run_does_not_change_what_the_other_needs():
    first, second = ExitStack(), ExitStack()
    first.enter_context(switch_interval(0.02))
    second.enter_context(switch_interval(0.05))

    first.close()
    assert sys.getswitchinterval() == pytest.approx(0.05)
    second.close()
    assert sys.getswitchinterval() == pytest.approx(0.005)


def test_a_longer_switch_interval_of_the_process_stays():
    sys.setswitchinterval(0.2)

    with switch_interval(0.02):
        assert sys.getswitchinterval() == pytest.approx(0.2)
    assert sys.getswitchinterval() == pytest.approx(0.2)


class Handler:
    """Remembers which signals it got."""

    def __init__(self) -> None:
        self.seen = []

    def __call__(self, number: int, frame: Any) -> None:
        self.seen.append(number)


def test_the_innermost_signal_handler_is_called_and_the_original_put_back():
    original, outer, inner = signal.getsignal(signal.SIGTERM), Handler(), Handler()

    with signal_handlers({signal.SIGTERM: outer}):
        with signal_handlers({signal.SIGTERM: inner}):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)

    assert (inner.seen, outer.seen) == ([signal.SIGTERM], [signal.SIGTERM])
    assert signal.getsignal(signal.SIGTERM) is original


def test_every_signal_that_ends_a_process_is_handled():
    handler = Handler()

    with hang_ups_heeded(), end_signals(handler):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.raise_signal(number)

    assert handler.seen == [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def test_a_process_that_outlives_its_terminal_by_wish_does_so():
    handler, before = Handler(), signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with end_signals(handler):
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)

    assert handler.seen == []


def test_signals_are_left_alone_outside_the_main_thread():
    original, found = signal.getsignal(signal.SIGTERM), []

    def look():
        with signal_handlers({signal.SIGTERM: Handler()}):
            found.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join(PATIENCE)

    assert found == [original]


def test_process_wide_settings_are_changed_in_one_place_only():
    calls = {"signal", "setswitchinterval", "set_threshold", "freeze"}

    def changes(path):
        return any(
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id in {"signal", "sys", "gc"}
            and node.func.attr in calls
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        )

    package = Path(maseval.__file__).parent
    found = {
        path.relative_to(package).as_posix() for path in package.rglob("*.py") if changes(path)
    }

    # The command sets one before anything is loaded, and puts it back before anything runs; a child
    # process undoes in itself what its parent has set.
    assert found == {
        "core/engine/process_settings.py",
        "core/engine/children.py",
        "cli/__init__.py",
    }


ROOT = Path(__file__).parents[3]


def test_an_interrupt_is_held_back_until_it_is_let_through():
    held_back = False
    with pytest.raises(KeyboardInterrupt), HeldInterrupts() as interrupts:
        signal.raise_signal(signal.SIGINT)
        held_back = True
        with interrupts.let_through():
            pytest.fail("not reached")
    assert held_back


def test_an_interrupt_that_was_never_let_through_raises_on_leaving():
    left = False
    with pytest.raises(KeyboardInterrupt), HeldInterrupts():
        signal.raise_signal(signal.SIGINT)
        left = True
    assert left
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_where_it_is_let_through_raises_at_once():
    with (
        pytest.raises(KeyboardInterrupt),
        HeldInterrupts() as interrupts,
        interrupts.let_through(),
    ):
        signal.raise_signal(signal.SIGINT)
        pytest.fail("not reached")


def test_a_second_interrupt_raises_at_once():
    with pytest.raises(KeyboardInterrupt), HeldInterrupts():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        pytest.fail("not reached")


def test_another_exception_is_not_hidden_by_an_interrupt_that_was_held_back():
    with pytest.raises(ValueError, match="first"), HeldInterrupts():
        signal.raise_signal(signal.SIGINT)
        raise ValueError("first")


def test_somebody_elses_handler_stays_in_place():
    seen = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        with HeldInterrupts():
            signal.raise_signal(signal.SIGINT)
        assert seen == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("workers", [1, 4])
def test_an_interrupt_while_a_report_is_delivered_waits_until_it_is_delivered(workers):
    class Interrupting(Diary):
        def on_task_repeat_end(self, benchmark, report):
            if report["task_id"] == "t001":
                signal.raise_signal(signal.SIGINT)
            super().on_task_repeat_end(benchmark, report)

    diary = Interrupting()
    shop = Shop(callbacks=[diary], num_workers=workers)

    with pytest.raises(KeyboardInterrupt):
        shop.run(numbered(50))

    assert ("t001", 0) in diary.of("repeat end")
    assert len(shop.reports) == len(diary.of("repeat end")) < 50
    assert diary.of("run end") == [(len(shop.reports),)]


@pytest.mark.parametrize("hook", ["on_run_start", "on_run_end"])
def test_an_interrupt_at_the_ends_of_a_run_still_lets_it_end(hook):
    class Interrupting(Diary):
        def on_run_start(self, benchmark):
            super().on_run_start(benchmark)
            if hook == "on_run_start":
                signal.raise_signal(signal.SIGINT)

        def on_run_end(self, benchmark, results):
            if hook == "on_run_end":
                signal.raise_signal(signal.SIGINT)
            super().on_run_end(benchmark, results)

    diary = Interrupting()
    with pytest.raises(KeyboardInterrupt):
        Shop(callbacks=[diary]).run(tasks("a"))

    assert len(diary.of("run end")) == 1


@pytest.mark.parametrize("workers", [1, 4])
def test_an_agent_that_raises_keyboard_interrupt_in_a_worker_is_a_failed_agent(workers):
    def interrupt(query):
        raise KeyboardInterrupt

    shop = Shop({"b": interrupt}, num_workers=workers)
    if workers == 1:  # in the main thread it cannot be told from Ctrl-C
        with pytest.raises(KeyboardInterrupt):
            shop.run(tasks("a", "b", "c"))
        assert [report["task_id"] for report in shop.reports] == ["a"]
    else:
        shop.run(tasks("a", "b", "c"))
        assert sorted(report["status"] for report in shop.reports) == [
            *("success", "success", "unknown_execution_error")
        ]


SCRIPT = """
import sys, time
from maseval.core.callbacks import FileResultLogger
from maseval import BenchmarkCallback
from tests.core.worlds import Shop, numbered

def work(query):
    time.sleep(0.01 if query < "do t020" else 600)
    return "x" * 20_000

class Talker(BenchmarkCallback):
    def on_task_repeat_end(self, benchmark, report):
        print("done", report["task_id"], flush=True)
    def on_run_end(self, benchmark, results):
        print("run end", len(results), flush=True)

folder, workers = sys.argv[1], int(sys.argv[2])
logger = FileResultLogger(folder, "results.jsonl")
Shop(work, callbacks=[logger, Talker()], num_workers=workers).run(numbered(100))
"""


def started(folder: Path, workers: int, script: str = SCRIPT) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", script, str(folder), str(workers)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def read_until(process: subprocess.Popen, count: int) -> list[str]:
    """The ids of the first ``count`` repetitions that the run says are done."""
    done = []
    while len(done) < count:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        done.append(line.split()[1])
    return done


@pytest.mark.parametrize("workers", [1, 8])
def test_ctrl_c_leaves_every_finished_report_on_disk_and_ends_the_run_properly(tmp_path, workers):
    process = started(tmp_path, workers)
    done = read_until(process, 20)
    process.send_signal(signal.SIGINT)
    rest, errors = process.communicate(timeout=300)

    assert process.returncode == -signal.SIGINT
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert rest.split() == ["run", "end", "20"]
    reports = read_reports(tmp_path / "results.jsonl")
    assert sorted(report["task_id"] for report in reports) == sorted(done)
    assert all(len(report["final_answer"]) == 20_000 for report in reports)
    assert all("packages" in report["config"]["benchmark"] for report in reports)
    meta = json.loads((tmp_path / "results.meta.json").read_text())
    assert meta["lines_written"] == 20


@pytest.mark.parametrize("workers", [1, 8])
def test_kill_9_leaves_every_finished_report_on_disk(tmp_path, workers):
    process = started(tmp_path, workers)
    done = read_until(process, 10)
    process.kill()
    process.communicate(timeout=300)

    try:
        reports = read_reports(tmp_path / "results.jsonl")
    except TornRecordWarning:  # cut off in the middle of a line, which is then left out
        with pytest.warns(TornRecordWarning):
            reports = read_reports(tmp_path / "results.jsonl")

    assert set(done) <= {report["task_id"] for report in reports}
    assert all(report["status"] == "success" for report in reports)


HANGING = """
import sys, threading
from maseval import Task, TaskProtocol
from tests.core.worlds import Shop

def work(query):
    if query == "hang":
        threading.Event().wait()
    return query

hang = Task("hang", id="hang", protocol=TaskProtocol(timeout_seconds=0.2))
reports = Shop(work, num_workers=int(sys.argv[2])).run([hang, Task("go", id="go")])
print({report["task_id"]: report["status"] for report in reports}, flush=True)
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_the_process_does_not_wait_for_a_thread_that_hangs(tmp_path, workers):
    process = started(tmp_path, workers, HANGING)
    output, errors = process.communicate(timeout=300)

    assert process.returncode == 0, errors
    assert "'hang': 'task_timeout'" in output
    assert "'go': 'success'" in output


STUCK = """\
import resource, sys, time
from maseval.core.engine import engines, process_settings

process_settings._STANDSTILL_SECONDS, process_settings._BEAT_SECONDS = 1.5, 0.1
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
kind, size = {"1": (engines.CallingThread, ()), "2": (engines.Threads, (2,))}[sys.argv[1]]
with kind(print, *size).open():
    time.sleep(3)
    print("alive", flush=True)
    10 ** 10 ** 9  # no other thread has its turn meanwhile
"""


@pytest.mark.parametrize("workers", ["1", "2"])
def test_where_memory_is_limited_a_process_that_stands_still_is_ended(workers):
    given = [sys.executable, "-c", STUCK, workers]
    ended = subprocess.run(given, capture_output=True, timeout=60)

    assert ended.stdout == b"alive\n"
    assert ended.returncode == 1
    assert b"Timeout" in ended.stderr
