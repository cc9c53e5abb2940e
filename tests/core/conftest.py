"""A clock that tests move by hand."""

from types import SimpleNamespace

import pytest


class Ticks:
    """A time in seconds that stands still until somebody advances it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def read(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture(autouse=True)
def patient_collectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what was given up be asked for longer: a busy machine is no component that hangs."""
    monkeypatch.setattr("maseval.core.engine.repetition._PATIENCE_SECONDS", 60.0)


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> Ticks:
    """The time that clocks, calls, repetitions and runs read, instead of the machine's."""
    ticks = Ticks()
    machine = SimpleNamespace(monotonic=ticks.read, perf_counter=ticks.read, sleep=ticks.advance)
    for module in (
        "clock",
        "call_policy",
        "scripted",
        "engine.repetition",
        "engine.engines",
    ):
        monkeypatch.setattr(f"maseval.core.{module}.time", machine)
    monkeypatch.setattr("maseval.core.call_policy._throttles", {})
    return ticks
