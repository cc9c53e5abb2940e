"""Which failed requests are made again, when, and when a call gives up."""

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maseval.core import call_policy
from maseval.core import provider_errors as errors
from maseval.core.call_policy import (
    POLL,
    CallPolicy,
    default_policy,
    set_default_policy,
    throttle_of,
    waiting,
)
from maseval.core.clock import Clock
from maseval.core.exceptions import ConfigurationError, TaskTimeoutError
from maseval.core.model import register_model, resolve_model
from maseval.core.provider_errors import ProviderError
from maseval.core.scripted import ScriptedModelAdapter
from maseval.core.simulator import ToolLLMSimulator
from maseval.core.task import TaskProtocol
from tests.core.worlds import Shop, numbered, only, tasks

TRANSIENT = [
    errors.RateLimitError,
    errors.OverloadedError,
    errors.ProviderTimeoutError,
    errors.ProviderConnectionError,
    errors.MalformedResponseError,
]
LASTING = [
    errors.AuthenticationError,
    errors.QuotaExhaustedError,
    errors.ModelNotFoundError,
    errors.ContextOverflowError,
    errors.ContentFilterError,
    errors.MalformedRequestError,
]

fresh = count()


class Naps:
    """Sleeps in no time, and remembers how long it should have been."""

    def __init__(self, then: Callable[..., Any] = lambda: None) -> None:
        self.seconds = []
        self.then = then

    def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        self.then()

    @property
    def total(self) -> Any:
        return pytest.approx(sum(self.seconds))


def failure(
    kind: type[Any] = errors.RateLimitError, *, status: int = 429, retry_after: float | None = None
) -> ProviderError:
    return kind("no", provider="acme", status=status, retry_after=retry_after)


def model_with(
    *replies: object, sleep: Callable[..., Any] | Naps | None = None, **limits: int
) -> ScriptedModelAdapter:
    """A model that waits as long as it may, but in no time; throttled with no other."""
    model = ScriptedModelAdapter(replies, model_id=f"model-{next(fresh)}")
    model.policy = CallPolicy(sleep=sleep or Naps(), chance=lambda: 1.0, **limits)
    return model


def test_passing_failures_are_waited_out(ticks):
    naps = Naps()

    def nap(seconds):
        naps(seconds)
        ticks.advance(seconds)

    model = model_with(
        failure(),
        failure(retry_after=7),
        failure(errors.OverloadedError, status=500),
        "Hello",
        sleep=nap,
    )

    assert model.generate("hi") == "Hello"
    assert naps.total == 0.5 + (7 + 1) + 2
    assert max(naps.seconds) <= POLL


def test_each_attempt_is_in_the_traces_and_only_the_answer_is_paid_for(ticks):
    model = model_with(failure(), failure(errors.OverloadedError), "Hello")
    model.policy = CallPolicy(base_delay=2, chance=lambda: 1.0, sleep=ticks.advance)

    model.generate("hi")

    seen = [(one["attempt"], one["status"], one.get("error_type")) for one in model.logs]
    assert seen == [
        (1, "error", "RateLimitError"),
        (2, "error", "OverloadedError"),
        (3, "success", None),
    ]
    waited = [one["waited_seconds"] for one in model.logs]
    assert waited == pytest.approx([0, 2, 4])
    traces = model.gather_traces()
    assert (traces["total_calls"], traces["failed_calls"]) == (3, 2)
    assert traces["total_waited_seconds"] == sum(waited)
    assert model.gather_usage().total_tokens == 1


@pytest.mark.parametrize("kind", TRANSIENT)
def test_what_may_pass_is_tried_again(kind):
    assert model_with(failure(kind), "Hello").generate("hi") == "Hello"


@pytest.mark.parametrize("kind", LASTING)
def test_what_stays_is_not(kind):
    naps = Naps()
    model = model_with(failure(kind, status=400, retry_after=3), "Hello", sleep=naps)

    with pytest.raises(kind) as caught:
        model.generate("hi")

    assert (len(model.requests), naps.seconds) == (1, [])
    assert caught.value.details["attempts"] == 1
    assert "gave_up" not in caught.value.details


def test_an_error_that_is_not_the_providers_is_passed_on_at_once():
    model = model_with(ConnectionError("of somebody else's making"), "Hello")

    with pytest.raises(ConnectionError):
        model.generate("hi")

    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("limits", "retry_after", "requests", "waited", "reason"),
    [
        ({"max_attempts": 3}, None, 3, 0.5 + 1, "max_attempts=3"),
        ({"max_attempts": 1}, None, 1, 0, "max_attempts=1"),
        ({"max_total_wait": 5}, None, 4, 0.5 + 1 + 2, "max_total_wait=5"),
        ({}, 86_400, 1, 0, "max_total_wait=300"),
        ({"max_delay": 1}, None, 6, 0.5 + 1 + 1 + 1 + 1, "max_attempts=6"),
    ],
)
def test_a_call_gives_up_in_the_end(limits, retry_after, requests, waited, reason):
    naps = Naps()
    replies = [failure(retry_after=retry_after) for _ in range(10)]
    model = model_with(*replies, sleep=naps, **limits)

    with pytest.raises(errors.RateLimitError) as caught:
        model.generate("hi")

    assert len(model.requests) == requests
    assert naps.total == waited
    assert caught.value.details["attempts"] == requests
    assert caught.value.details["gave_up"] == reason
    assert caught.value.__context__ is None


def test_no_wait_is_begun_that_the_deadline_would_cut_off():
    naps = Naps()
    model = model_with(failure(retry_after=30), "Hello", sleep=naps)

    with (
        Clock(deadline=10).active(),
        pytest.raises(errors.RateLimitError) as caught,
    ):
        model.generate("hi")

    assert naps.seconds == []
    assert "deadline" in caught.value.details["gave_up"]


def test_a_repetition_that_was_given_up_waits_no_longer():
    clock = Clock(deadline=1000)
    naps = Naps(then=lambda: setattr(clock, "abandoned", True))
    model = model_with(failure(retry_after=30), "Hello", sleep=naps)

    with clock.active(), pytest.raises(TaskTimeoutError):
        model.generate("hi")

    assert len(naps.seconds) == 1


def test_a_run_that_is_being_stopped_waits_only_for_what_comes_soon():
    stop = threading.Event()
    naps = Naps(then=stop.set)
    soon = model_with(failure(retry_after=3), "Hello", sleep=naps)
    late = model_with(failure(retry_after=30), "Hello", sleep=naps)

    with Clock(stopping=stop.is_set).active():
        assert soon.generate("hi") == "Hello"
        stop.clear()
        naps.seconds.clear()
        with pytest.raises(errors.RateLimitError) as caught:
            late.generate("hi")

    assert len(naps.seconds) == 1
    assert caught.value.details["gave_up"] == "the run is being stopped"


def test_stopping_a_benchmark_ends_the_waits_of_its_models():
    together = threading.Barrier(2, timeout=60)

    def ask(query):
        model = model_with(failure(retry_after=60), "Hello", sleep=lambda seconds: shop.stop())
        together.wait()
        return model.generate(query)

    shop = Shop(ask, num_workers=2)

    reports = shop.run([*tasks("a", protocol=TaskProtocol(max_retries=3)), *numbered(20)])

    assert len(reports) == 2
    assert {report["error"]["error_type"] for report in reports} == {"RateLimitError"}
    assert all(report["attempts"] == [] for report in reports)


@given(
    attempt=st.integers(1, 2000),
    base=st.floats(0, 10),
    longest=st.floats(0, 100),
    retry_after=st.none() | st.floats(0, 1000),
    chance=st.floats(0, 1),
)
def test_a_delay_honours_the_provider_and_both_limits(attempt, base, longest, retry_after, chance):
    policy = CallPolicy(base_delay=base, max_delay=longest, chance=lambda: chance)

    delay = policy.delay(failure(retry_after=retry_after), attempt)

    asked_for = retry_after or 0.0
    assert asked_for <= delay <= asked_for + longest
    if attempt == 1:
        assert delay <= asked_for + base


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"max_attempts": 0}, "max_attempts must be at least 1, not 0"),
        ({"base_delay": -1}, "base_delay is in seconds, at least 0, not -1"),
        ({"max_total_wait": float("nan")}, "max_total_wait .* not nan"),
    ],
)
def test_limits_that_make_no_sense_are_refused(limits, message):
    with pytest.raises(ConfigurationError, match=message):
        CallPolicy(**limits)


def test_a_policy_may_be_set_for_the_process_a_model_id_or_a_model(monkeypatch):
    monkeypatch.setattr(call_policy, "_default", CallPolicy())
    assert default_policy() == CallPolicy(6, 0.5, 60, 300)

    set_default_policy(CallPolicy(max_attempts=2))
    limits = ScriptedModelAdapter([]).gather_config()["call_policy"]
    resolved = resolve_model("scripted/echo", policy=CallPolicy(max_attempts=3))

    assert limits["max_attempts"] == 2
    assert resolved.gather_config()["call_policy"]["max_attempts"] == 3


def test_models_of_one_address_are_throttled_together(monkeypatch):
    monkeypatch.setattr("maseval.core.model.MODELS.registered", {})
    register_model("acme", lambda name, **options: ScriptedModelAdapter([], model_id=name))
    endpoints = [
        resolve_model(name, **options).endpoint
        for name, options in [
            ("acme/one", {}),
            ("acme/two", {"base_url": None}),
            ("acme/one", {"base_url": "http://here"}),
        ]
    ]

    assert endpoints == ["acme@default", "acme@default", "acme@http://here"]


def test_no_slot_is_held_while_a_call_backs_off():
    seen = set()

    def look(*_):
        seen.add((throttle.under_way, throttle.limit))
        return "Hello"

    model = model_with(look, failure(), look, sleep=look)
    throttle = throttle_of(model.model_id)

    model.generate("hi"), model.generate("hi")

    assert seen == {(1, math.inf), (0, 1), (1, 1)}


def test_a_call_that_waits_to_be_repeated_can_be_looked_up():
    seen = []

    def look(*_):
        seen.extend(one for one in waiting() if one.model_id == model.model_id)

    model = model_with(failure(), lambda messages, tools: look() or "Hello", sleep=look)
    before = time.monotonic()
    model.generate("hi")

    assert {one.error for one in seen} == {"RateLimitError"}
    assert before + 0.5 <= seen[0].until <= time.monotonic() + 0.5
    assert not [one for one in waiting() if one.model_id == model.model_id]


def test_many_threads_come_through_a_provider_that_bears_two_at_a_time():
    endpoint, lock = f"busy-{next(fresh)}", threading.Lock()
    under_way = refused = 0

    def serve(messages, tools):
        nonlocal under_way, refused
        with lock:
            if under_way >= 2:
                refused += 1
                raise failure()
            under_way += 1
        time.sleep(0.002)
        with lock:
            under_way -= 1
        return "Hello"

    def work(_):
        model = ScriptedModelAdapter(serve, model_id="busy")
        model.endpoint = endpoint
        model.policy = CallPolicy(max_attempts=50, base_delay=0.01, max_delay=0.01)
        return [model.generate("hi") for _ in range(10)]

    with ThreadPoolExecutor(16) as pool:
        answers = [answer for some in pool.map(work, range(16)) for answer in some]

    assert answers == ["Hello"] * 160
    assert 0 < refused < 160
    assert throttle_of(endpoint).limit < 16


def test_a_simulator_leaves_the_provider_to_the_policy():
    model = model_with(failure(errors.AuthenticationError, status=401), "{}", "{}")
    tool = ToolLLMSimulator(model, "look", "Looks", {}, max_try=3)

    with pytest.raises(errors.AuthenticationError):
        tool()

    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("kind", "attempts", "status"),
    [
        (errors.OverloadedError, 2, "provider_error"),
        (errors.ContextOverflowError, 0, "context_overflow"),
        (errors.MalformedRequestError, 0, "provider_error"),
    ],
)
def test_a_repetition_is_made_again_only_for_what_may_pass(kind, attempts, status):
    def ask(query):
        return model_with(failure(kind, status=499), max_attempts=1).generate(query)

    report = only(Shop(ask).run(tasks("a", protocol=TaskProtocol(max_retries=2))))

    assert len(report["attempts"]) == attempts
    assert report["status"] == status
    assert report["error"]["error_type"] == kind.__name__
    details = report["error"]["details"]
    assert (details["provider"], details["status"], details["attempts"]) == ("acme", 499, 1)
