"""When a run ends early, because every task would fail."""

import threading

import pytest

from maseval.core.engine.run import LostCause
from maseval.core.exceptions import MASEvalError, RunStoppedError, UnknownModelError
from maseval.core.model import resolve_model
from maseval.core.provider_errors import AuthenticationError, OverloadedError
from maseval.core.scripted import ScriptedModelAdapter
from tests.core.worlds import Diary, Shop, numbered


def refused(answered_before=False):
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


def test_one_that_did_is_given_three_chances_in_a_row():
    cause = LostCause()
    ends = [refused(True), refused(True), None, refused(True), refused(True), refused(True)]

    assert [cause.note(end) for end in ends] == [False] * 5 + [True]


@pytest.mark.parametrize(
    "end", [None, OverloadedError("", provider="acme"), ValueError("mine"), KeyError("its")]
)
def test_other_ends_are_no_reason_to_stop(end):
    cause = LostCause()

    assert not any(cause.note(end) for _ in range(10))
    cause.raise_if_found(finished=10)


def asking(*replies, model_id):
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


def test_a_key_that_worked_and_is_refused_once_costs_one_simulation():
    replies = ["a", refused(), "b", refused(), refused(), "c"]

    reports = Shop(asking(*replies, model_id="moody"), stop_when_hopeless=True).run(numbered(6))

    assert [report["status"] == "success" for report in reports] == [
        *(True, False, True, False, False, True)
    ]


def test_a_key_that_worked_and_is_withdrawn_ends_the_run_after_three():
    agent = asking("a", *[refused() for _ in range(9)], model_id="withdrawn")
    shop = Shop(agent, stop_when_hopeless=True)

    with pytest.raises(RunStoppedError, match="kept so far: 4;"):
        shop.run(numbered(10))

    assert len(shop.reports) == 4


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
