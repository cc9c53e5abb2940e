"""Traces that arrive at a real OTLP receiver, and receivers that do not take them."""

import base64
import logging
from typing import Any

import pytest

from examples.booking import BookingBenchmark, load_tasks
from maseval.core.exceptions import ConfigurationError
from maseval.interface.telemetry import OpenTelemetryCallback
from maseval.interface.telemetry.otlp import langfuse_receiver
from tests.interface.libraries import needing, py_example
from tests.interface.telemetry.receiver import PROTOBUF, attributes, receiving, tree

SDK = "opentelemetry.exporter"
pytestmark = needing(SDK)


@pytest.fixture(autouse=True)
def variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of whoever runs the tests."""
    for name in ("ENDPOINT", "HEADERS", "TRACES_ENDPOINT", "TRACES_HEADERS"):
        monkeypatch.delenv(f"OTEL_EXPORTER_OTLP_{name}", raising=False)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "60")


def run(*callbacks: OpenTelemetryCallback, tasks: int = 2) -> list[dict[str, Any]]:
    benchmark = BookingBenchmark(callbacks=callbacks, progress_bar=False)
    return benchmark.run(load_tasks()[:tasks], {})


@pytest.mark.parametrize("how", ["given", "by its variable"])
def test_every_simulation_arrives_as_a_trace(how, monkeypatch):
    with receiving() as receiver:
        if how == "by its variable":
            monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
            monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-team=blue")
        callback = OpenTelemetryCallback(receiver.url if how == "given" else None)
        reports = run(callback)

    assert callback.sent == len(reports) == 2
    assert {path for path, _, _ in receiver.requests} == {"/v1/traces"}
    assert b"https://opentelemetry.io/schemas/1.38.0" in receiver.requests[0][2]
    sent_with = receiver.requests[0][1].get("x-team")
    assert sent_with == (None if how == "given" else "blue")
    roots = [each for each in receiver.spans if not each.parent_span_id]
    assert [each.name for each in roots] == ["simulation pair trial 0", "simulation trio trial 0"]
    assert len({each.trace_id for each in receiver.spans}) == 2
    assert attributes(roots[0])["maseval.passed"] is True
    of_first = [each for each in receiver.spans if each.trace_id == roots[0].trace_id]
    (desk,) = tree(of_first)[0][1]
    assert [name for name, _ in desk[1]] == [
        *("chat scripted/clerk", "execute_tool free_rooms", "chat scripted/clerk"),
        *("execute_tool book", "chat scripted/clerk"),
    ]


def test_a_trace_that_is_sent_again_has_the_same_ids():
    with receiving() as receiver:
        callback = OpenTelemetryCallback(receiver.url)
        (report,) = run(callback, tasks=1)
        callback.on_run_end(None, [report])

    first, second = receiver.requests
    assert first[2] == second[2]


def test_secrets_never_leave_even_where_content_does(monkeypatch):
    monkeypatch.setenv("SHOP_API_KEY", "room for 2")
    with receiving() as receiver:
        run(OpenTelemetryCallback(receiver.url, content=True), tasks=1)

    (_, _, body) = receiver.requests[0]
    assert b"room for 2" not in body
    assert b"A <redacted> at 10" in body


RECEIVERS = {
    "hangs": None,
    "is broken": (500, "text/plain", b"broken"),
    "answers with a page": (200, "text/html", b"<html>"),
    "answers with garbage": (200, PROTOBUF, b"\xff\xff"),
    "is elsewhere": (302, "text/html", b""),
    "refuses the spans": (200, PROTOBUF, b"\x0a\x06\x08\x07\x12\x02no"),
}


@pytest.mark.parametrize("how", RECEIVERS)
def test_a_receiver_that_fails_is_reported_once_and_changes_nothing(how, caplog, monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    with receiving(RECEIVERS[how]) as receiver, caplog.at_level(logging.WARNING, "maseval"):
        callback = OpenTelemetryCallback(receiver.url)
        reports = run(callback)

    assert [each["status"] for each in reports] == ["success", "success"]
    assert callback.sent == 0
    (said,) = [each for each in caplog.records if each.name.startswith("maseval")]
    assert said.getMessage().startswith("OpenTelemetry: 2 of 2 traces were not sent (")


def test_nobody_listening_is_reported_in_plain_words(caplog, monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    with receiving() as receiver:
        url = receiver.url
    run(OpenTelemetryCallback(url))

    assert "2 of 2 traces were not sent" in caplog.text and "refused" in caplog.text


def test_langfuse_gets_traces_with_its_keys_and_names(monkeypatch):
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk-lf-12345678")
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", "sk-lf-87654321")
    with receiving() as receiver:
        monkeypatch.setenv("LANGFUSE_HOST", f"{receiver.url}/")
        to = langfuse_receiver(session="first try")
        to.send(run(tasks=1))
        to.close()

    ((path, headers, body),) = receiver.requests
    assert path == "/api/public/otel/v1/traces"
    keys = base64.b64decode(headers["authorization"].removeprefix("Basic ")).decode()
    assert keys == "pk-lf-12345678:sk-lf-87654321"
    assert b"sk-lf" not in body
    (root,) = [each for each in receiver.spans if not each.parent_span_id]
    shown = {k: v for k, v in attributes(root).items() if k.startswith("langfuse")}
    assert shown == {
        "langfuse.trace.name": "pair",
        "langfuse.session.id": "first try",
        "langfuse.trace.tags": ["pass"],
    }


def test_langfuse_without_keys_says_which_are_needed(monkeypatch):
    monkeypatch.delenv("LANGFUSE_PUBLIC_KEY", raising=False)

    with pytest.raises(ConfigurationError, match="LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY"):
        langfuse_receiver()


@pytest.mark.parametrize("endpoint", ["localhost:4318", "ftp://x", "http://", ""])
def test_an_address_that_is_none_is_refused_before_the_run(endpoint):
    with pytest.raises(ConfigurationError, match="such as http://localhost:4318"):
        OpenTelemetryCallback(endpoint)


def test_the_example_of_the_page_runs(monkeypatch, capsys):
    with receiving() as receiver:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
        exec(py_example("telemetry"), {})

    assert capsys.readouterr().out == f"{len(load_tasks())} traces sent\n"


def results_of(span: Any) -> list[dict[str, Any]]:
    """The evaluations that arrived with a span."""
    found = [event for event in span.events if event.name == "gen_ai.evaluation.result"]
    assert len(found) == len(span.events)
    return [
        {key.removeprefix("gen_ai.evaluation."): each for key, each in attributes(event).items()}
        for event in found
    ]


def test_the_verdict_arrives_as_an_evaluation_of_the_first_span():
    with receiving() as receiver:
        run(OpenTelemetryCallback(receiver.url), tasks=1)

    first, *others = sorted(receiver.spans, key=lambda each: bool(each.parent_span_id))
    (verdict,) = results_of(first)
    assert verdict["name"].startswith("verdict: ")
    assert (verdict["score.value"], verdict["score.label"]) == (1.0, "passed")
    assert first.events[0].time_unix_nano == first.end_time_unix_nano
    assert not any(each.events for each in others)
