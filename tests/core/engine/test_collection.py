"""Asking components that fail, hang, or change while they are asked."""

import threading

import pytest

from maseval.core.engine import repetition
from maseval.core.engine.repetition import collect_copy, collect_safely
from tests.core.worlds import failing


@pytest.mark.parametrize("ask", [collect_safely, collect_copy])
@pytest.mark.parametrize("error", [ValueError("lost"), SystemExit("lost")])
def test_a_failure_becomes_a_record(ask, error):
    assert ask("traces", failing(error)) == {
        "error": "Failed to collect traces: lost",
        "error_type": type(error).__name__,
    }


def test_ctrl_c_in_the_main_thread_is_no_failure_of_a_component():
    with pytest.raises(KeyboardInterrupt):
        collect_safely("traces", failing(KeyboardInterrupt()))


def test_a_loose_copy_does_not_change_with_the_original_but_shares_the_machine():
    live = {"agents": {"a": {"messages": [{"content": "hi"}]}}, "benchmark": {"git": 1}}
    loose = collect_copy("traces", lambda: live)
    live["agents"]["a"]["messages"][0]["content"] = "changed"

    assert loose["agents"] == {"a": {"messages": [{"content": "hi"}]}}
    assert loose["benchmark"] is live["benchmark"]
    assert list(loose) == list(live)


def test_what_cannot_be_copied_becomes_text_and_the_rest_stays():
    loose = collect_copy("traces", lambda: {"tools": {"t": threading.Lock()}, "agents": {"a": 1}})

    assert "lock" in loose["tools"]["t"]
    assert loose["agents"] == {"a": 1}


def test_a_component_that_does_not_answer_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(repetition, "_PATIENCE_SECONDS", 0.05)
    never = threading.Event()

    assert collect_copy("traces", lambda: {"x": never.wait(60)}) == {
        "error": "Failed to collect traces: no answer in 0.05 s",
        "error_type": "TimeoutError",
    }
    never.set()
