"""Settings of the process: changed while a run needs them, restored after the last run."""

import ast
import gc
import signal
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

import maseval
from maseval import BenchmarkCallback
from maseval.core.engine.process import (
    rare_garbage_collection,
    signal_handlers,
    switch_interval,
)
from maseval.core.exceptions import ConfigurationError
from tests.core.worlds import Shop, numbered

PATIENCE = 60


@pytest.fixture(autouse=True)
def settings_are_put_back():
    thresholds, interval = gc.get_threshold(), sys.getswitchinterval()
    gc.set_threshold(700, 10, 10)
    sys.setswitchinterval(0.005)
    yield
    gc.set_threshold(*thresholds)
    sys.setswitchinterval(interval)


class Overlapping:
    """Two runs in threads of their own: the second starts within the first and outlasts it."""

    def __init__(self):
        self.first_is_on, self.second_is_on = threading.Event(), threading.Event()
        self.first_is_over = threading.Event()
        self.meanwhile = []

    def run(self):
        threads = [threading.Thread(target=self._first), threading.Thread(target=self._second)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)

    def _first(self):
        def work(query):
            self.first_is_on.set()
            self.second_is_on.wait(PATIENCE)

        Shop(work, num_workers=500).run(numbered(1))
        self.first_is_over.set()

    def _second(self):
        def work(query):
            self.second_is_on.set()
            self.first_is_over.wait(PATIENCE)
            self.meanwhile.append((sys.getswitchinterval(), gc.get_threshold()))

        self.first_is_on.wait(PATIENCE)
        Shop(work, num_workers=100).run(numbered(1))


def test_two_overlapping_runs_leave_the_process_as_it_was():
    Overlapping().run()

    assert sys.getswitchinterval() == pytest.approx(0.005)
    assert gc.get_threshold() == (700, 10, 10)


def test_the_end_of_one_run_does_not_change_what_the_other_needs():
    overlapping = Overlapping()
    overlapping.run()

    assert overlapping.meanwhile == [(pytest.approx(0.01), (200_000, 20, 50))]


def test_the_longest_requested_switch_interval_holds():
    with switch_interval(0.02):
        with switch_interval(0.05), switch_interval(0.02):
            assert sys.getswitchinterval() == pytest.approx(0.05)
        assert sys.getswitchinterval() == pytest.approx(0.02)

    assert sys.getswitchinterval() == pytest.approx(0.005)


def test_a_longer_switch_interval_of_the_process_stays():
    sys.setswitchinterval(0.2)

    with switch_interval(0.02):
        assert sys.getswitchinterval() == pytest.approx(0.2)
    assert sys.getswitchinterval() == pytest.approx(0.2)


def test_a_run_refused_by_a_callback_leaves_the_process_as_it_was():
    class Refusing(BenchmarkCallback):
        def on_run_start(self, benchmark):
            raise ConfigurationError("not like this")

    with pytest.raises(ConfigurationError):
        Shop(callbacks=[Refusing()], num_workers=500).run(numbered(1))

    assert sys.getswitchinterval() == pytest.approx(0.005)
    assert gc.get_threshold() == (700, 10, 10)


def test_garbage_is_collected_less_often_inside_and_as_before_outside():
    with rare_garbage_collection():
        assert gc.get_threshold()[0] >= 10_000

    assert gc.get_threshold() == (700, 10, 10)


def test_garbage_collection_is_put_back_when_the_last_of_several_runs_ends():
    first, second = ExitStack(), ExitStack()
    first.enter_context(rare_garbage_collection())
    second.enter_context(rare_garbage_collection())

    first.close()
    assert gc.get_threshold()[0] >= 10_000
    second.close()
    assert gc.get_threshold() == (700, 10, 10)


def test_garbage_collection_is_put_back_after_an_error():
    with pytest.raises(LookupError), rare_garbage_collection():
        raise LookupError

    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("chosen", [(0, 0, 0), (1_000_000, 100, 100)])
def test_a_process_that_collects_even_less_keeps_to_that(chosen):
    gc.set_threshold(*chosen)

    with rare_garbage_collection():
        assert gc.get_threshold() == chosen
    assert gc.get_threshold() == chosen


class Handler:
    """Remembers which signals it got."""

    def __init__(self):
        self.seen = []

    def __call__(self, number, frame):
        self.seen.append(number)


def test_the_innermost_signal_handler_is_called_and_the_original_put_back():
    original, outer, inner = signal.getsignal(signal.SIGTERM), Handler(), Handler()

    with signal_handlers({signal.SIGTERM: outer}):
        with signal_handlers({signal.SIGTERM: inner}):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)

    assert (inner.seen, outer.seen) == ([signal.SIGTERM], [signal.SIGTERM])
    assert signal.getsignal(signal.SIGTERM) is original


def test_signal_handlers_may_be_released_in_any_order():
    original, older, newer = signal.getsignal(signal.SIGTERM), Handler(), Handler()
    first, second = ExitStack(), ExitStack()
    first.enter_context(signal_handlers({signal.SIGTERM: older}))
    second.enter_context(signal_handlers({signal.SIGTERM: newer}))

    first.close()
    assert signal.getsignal(signal.SIGTERM) is newer
    second.close()
    assert signal.getsignal(signal.SIGTERM) is original


def test_the_same_signal_handler_may_be_installed_twice():
    original, handler = signal.getsignal(signal.SIGTERM), Handler()

    with signal_handlers({signal.SIGTERM: handler}):
        with signal_handlers({signal.SIGTERM: handler}):
            pass
        assert signal.getsignal(signal.SIGTERM) is handler

    assert signal.getsignal(signal.SIGTERM) is original


def test_signal_handlers_are_put_back_after_an_error():
    original = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)

    with (
        pytest.raises(LookupError),
        signal_handlers({signal.SIGTERM: Handler(), signal.SIGINT: Handler()}),
    ):
        raise LookupError

    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == original


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

    assert found == {"core/engine/process.py"}
