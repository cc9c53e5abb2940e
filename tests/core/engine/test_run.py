"""Announcer: every callback hears every event; one that fails stops nothing."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from maseval import BenchmarkCallback
from maseval.core.callbacks import FileResultLogger
from maseval.core.engine.run import Announcer, LostCause
from maseval.core.exceptions import (
    MASEvalError,
    OutputExistsError,
    RunStoppedError,
    UnknownModelError,
)
from maseval.core.model import resolve_model
from maseval.core.provider_errors import AuthenticationError, OverloadedError
from maseval.core.scripted import ScriptedModelAdapter
from tests.core.worlds import Diary, Shop, failing, numbered, tasks

HOOKS = [
    *("on_run_start", "on_task_start", "on_task_repeat_start"),
    *("on_task_repeat_end", "on_task_end", "on_run_end"),
]


def test_hooks_get_what_is_told_by_position_and_events_by_keyword():
    heard = []

    class Listener(BenchmarkCallback):
        def on_task_repeat_start(self, *args):
            heard.append(args)

        def on_event(self, event_name, **data):
            heard.append((event_name, data))

    shop = Shop(callbacks=[Listener()])
    Announcer(shop).announce("on_task_repeat_start", task="t", repeat_idx=2)

    told = {"task": "t", "repeat_idx": 2}
    assert heard == [(shop, "t", 2), ("on_task_repeat_start", told)]


def test_an_observer_without_a_hook_is_passed_over():
    Announcer(Shop(callbacks=[object()])).announce("on_run_start")


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("hook", [*HOOKS, "on_event"])
def test_a_callback_that_fails_in_any_hook_is_logged_and_the_run_goes_on(hook, workers, caplog):
    broken, diary = Diary(), Diary()
    setattr(broken, hook, failing(ValueError("no ink")))

    reports = Shop(callbacks=[broken, diary], num_workers=workers).run(tasks("a", "b"))

    assert [report["status"] for report in reports] == ["success", "success"]
    assert len(diary.of("repeat end")) == 2
    assert len(diary.of("run end")) == 1
    records = [r for r in caplog.records if r.name == "maseval.core.benchmark"]
    assert f"Callback Diary.{hook}() failed: no ink" in {r.getMessage() for r in records}
    assert all(r.levelname == "ERROR" and r.exc_info for r in records)


def test_a_callback_may_refuse_a_run_before_anything_has_run(tmp_path):
    (tmp_path / "results.jsonl").write_text("{}\n")
    logger = FileResultLogger(output_dir=tmp_path, filename_pattern="results.jsonl")

    with pytest.raises(OutputExistsError, match="already exists"):
        Shop(callbacks=[logger], progress_bar=False).run(tasks(2))


def refused(answered_before: bool = False) -> AuthenticationError:
    error = AuthenticationError("bad key", provider="acme", model_id="m", status=401)
    error.details["answered_before"] = answered_before
    return error


class Missing(MASEvalError, ImportError):
    """As raised for a library that is not installed."""

    fatal_for_run = True


@pytest.mark.parametrize("error", [refused(), UnknownModelError("no such model"), Missing("x")])
def test_a_model_that_never_answered_ends_the_run_at_once(error):
    cause = LostCause()

    assert cause.note(error)
    with pytest.raises(RunStoppedError, match="kept so far: 3;") as caught:
        cause.raise_if_found(finished=3)

    assert caught.value.__cause__ is error
    assert str(error) in str(caught.value)
    assert caught.value.details["error_type"] == type(error).__name__


@pytest.mark.parametrize("known", [True, False])
def test_one_that_did_even_in_another_process_is_given_three_chances_in_a_row(known):
    cause = LostCause()
    cause.note(None)
    ends = [refused(known)] * 2 + [None] + [refused(known)] * 3

    assert [cause.note(end) for end in ends] == [False] * 5 + [True]


@pytest.mark.parametrize(
    "end", [None, OverloadedError("", provider="acme"), ValueError("mine"), KeyError("its")]
)
def test_other_ends_are_no_reason_to_stop(end):
    cause = LostCause()

    assert not any(cause.note(end) for _ in range(10))
    cause.raise_if_found(finished=10)


def asking(*replies: AuthenticationError | str, model_id: str) -> Callable[..., Any]:
    """Agents that share one script, each through an adapter of its own."""
    script, lock = iter(replies), threading.Lock()

    def reply(messages, tools):
        with lock:
            return next(script)

    return lambda query: ScriptedModelAdapter(reply, model_id=model_id).generate(query)


@pytest.mark.parametrize("workers", [1, 4])
def test_a_refused_key_stops_the_run_with_one_message_and_keeps_the_reports(workers):
    diary = Diary()
    agent = asking(*[refused() for _ in range(100)], model_id=f"refused-{workers}")
    shop = Shop(agent, callbacks=[diary], num_workers=workers, stop_when_hopeless=True)

    with pytest.raises(RunStoppedError, match="acme refused the credentials") as caught:
        shop.run(numbered(40))

    assert isinstance(caught.value, RuntimeError)
    assert 1 <= len(shop.reports) <= workers
    assert {report["error"]["error_type"] for report in shop.reports} == {"AuthenticationError"}
    assert diary.events[-1] == ("run end", len(shop.reports))
    assert len(diary.of("repeat start")) == len(diary.of("repeat end")) == len(shop.reports)


def test_a_run_can_be_made_again_after_it_was_stopped():
    shop = Shop(asking(refused(), "a", "b", model_id="repaired"), stop_when_hopeless=True)
    with pytest.raises(RunStoppedError):
        shop.run(numbered(2))

    assert [report["status"] for report in shop.run(numbered(2))] == ["success", "success"]


def test_a_model_that_cannot_be_made_stops_the_run_and_is_not_tried_twice():
    def setup_agents(*args, **kwargs):
        return resolve_model("nowhere/model")

    plan = [{"query": "go", "id": str(one), "protocol": {"max_retries": 5}} for one in range(9)]
    shop = Shop(setup_agents=setup_agents, stop_when_hopeless=True)

    with pytest.raises(RunStoppedError, match="no provider is installed for 'nowhere'"):
        shop.run(plan)

    (report,) = shop.reports
    assert (report["status"], report["attempts"]) == ("setup_failed", [])


@pytest.mark.parametrize("workers", [1, 4])
def test_unless_asked_to_a_hopeless_run_continues_to_its_end(workers):
    agent = asking(*[refused() for _ in range(9)], model_id=f"hopeless-{workers}")

    reports = Shop(agent, num_workers=workers).run(numbered(9))

    assert [report["error"]["error_type"] for report in reports] == ["AuthenticationError"] * 9
