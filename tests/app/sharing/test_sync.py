"""Runs that are sent to where people look at runs."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maseval import commands
from maseval.app.results.run_summary import RunResult
from maseval.app.sharing.sync import Destination, SentLog
from maseval.commands import tau2
from maseval.core.exceptions import ConfigurationError
from maseval.interface.telemetry.otlp import DeliveryError
from tests.cli.commandline import maseval
from tests.damage import FORGERIES
from tests.interface.libraries import needing
from tests.interface.telemetry.receiver import Receiver, attributes, receiving

BOOKING = "examples.booking:BookingBenchmark"


@pytest.fixture(autouse=True)
def variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("ENDPOINT", "HEADERS", "TRACES_ENDPOINT", "TRACES_HEADERS"):
        monkeypatch.delenv(f"OTEL_EXPORTER_OTLP_{name}", raising=False)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")


def booking(trials: int = 1, **options: int) -> RunResult:
    options = {"num_tasks": 2, "output": "mine", **options}
    return commands.run(benchmark=BOOKING, trials=trials, **options)


def traces(receiver: Receiver) -> list[bytes]:
    return [each.trace_id for each in receiver.spans if not each.parent_span_id]


def needs_otel(test: Callable[..., Any]) -> Callable[..., Any]:
    for mark in needing("opentelemetry.exporter"):
        test = mark(test)
    return test


@needs_otel
def test_a_run_sends_each_simulation_once_also_when_it_is_resumed(monkeypatch):
    with receiving() as receiver:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
        booking()
        commands.sync("mine", ["otel"])
        booking(trials=2)
        commands.sync("mine", ["otel"])
        (synced,) = commands.sync("mine", ["otel"])

    assert len(set(traces(receiver))) == len(traces(receiver)) == 4
    assert (synced.sent, synced.before) == (0, 4)
    first = next(each for each in receiver.spans if not each.parent_span_id)
    assert attributes(first)["maseval.run"] == "mine"


@needs_otel
def test_an_endpoint_that_is_given_goes_before_the_variable(monkeypatch):
    with receiving() as usual, receiving() as given:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", usual.url)
        booking()
        commands.sync("mine", [f"otel={given.url}"])

    assert (len(traces(usual)), len(traces(given))) == (0, 2)


@needs_otel
def test_sync_reports_a_receiver_that_does_not_take_it_as_an_error():
    booking()
    with receiving((500, "text/plain", b"broken")) as receiver:
        to = f"otel={receiver.url}"
        with pytest.raises(DeliveryError, match="500"):
            commands.sync("mine", [to])
        shown = maseval("sync", "mine", "--to", to)

    assert shown.exit_code == 1 and "Traceback" not in shown.stderr
    assert f"Error: {to} did not take the traces (" in shown.stderr
    assert "0 are there, and the same command sends the rest" in shown.stderr
    with receiving() as receiver:
        to = f"otel={receiver.url}"
        (synced,) = json.loads(maseval("sync", "mine", "--to", to, "--json").stdout)
        again = maseval("sync", "mine", "--to", to)
    assert (synced["to"], synced["sent"], len(traces(receiver))) == ("otel", 2, 2)
    assert "0 traces sent, 2 sent before" in again.stdout


@needs_otel
def test_a_trace_is_the_same_however_often_it_is_sent():
    with receiving() as first, receiving() as second:
        booking(num_tasks=1)
        commands.sync("mine", [f"otel={first.url}"])
        commands.sync("mine", [f"otel={second.url}"])

    assert first.requests[0][2] == second.requests[0][2]


@needs_otel
def test_langfuse_groups_a_run_by_its_name(monkeypatch):
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk-lf-12345678")
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", "sk-lf-87654321")
    with receiving() as receiver:
        booking()
        commands.sync("mine", [f"langfuse={receiver.url}"])

    roots = [each for each in receiver.spans if not each.parent_span_id]
    assert {attributes(each)["langfuse.session.id"] for each in roots} == {"mine"}


@needs_otel
def test_a_results_file_can_be_sent_too(tau2_data, tmp_path):
    commands.tau2.run(domain=["library"], agent="gold", num_tasks=2, output="gold")
    commands.tau2.export("gold", "theirs.json")
    with receiving() as receiver:
        (first,) = commands.sync("theirs.json", [f"otel={receiver.url}"])
        (second,) = commands.sync("theirs.json", [f"otel={receiver.url}"])

    assert (first.sent, second.sent, second.before) == (2, 0, 2)
    assert (tmp_path / "theirs-sent.jsonl").exists()


def test_nothing_is_loaded_for_a_run_that_is_sent_nowhere(tmp_path):
    code = (
        "import sys; from maseval import commands; "
        f"commands.run(benchmark={BOOKING!r}, num_tasks=1, output='quiet'); "
        "print([name for name in sys.modules if name.startswith(('maseval.interface.telemetry', "
        "'maseval.interface.trackers', 'opentelemetry', 'mlflow', 'wandb'))])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert shown.stdout.strip() == "[]"


@pytest.mark.parametrize("to", ["nowhere", "otel=nonsense", "langfuse", "mlflow="])
def test_a_wrong_destination_is_refused(to, monkeypatch):
    monkeypatch.delenv("LANGFUSE_PUBLIC_KEY", raising=False)

    with pytest.raises((ConfigurationError, ImportError)):
        commands.sync("mine", [to])


def test_sync_needs_a_destination_and_a_finished_simulation():
    booking()

    with pytest.raises(ConfigurationError, match="--to mlflow"):
        commands.sync("mine", [])


def test_what_was_sent_is_remembered_by_destination_whatever_else_is_in_the_file(tmp_path):
    path = tmp_path / "sent.jsonl"
    here, there = (SentLog(path, Destination.of(f"mlflow=http://{host}")) for host in ("a", "b"))
    path.write_text('not json\n[1]\n{"to": "mlflow"}\n')

    here.note(run="first", digest="d1")
    here.note(run="first", digest="d2")
    there.note(run="second", digest="d3")
    with path.open("a") as file:
        file.write('{"to": "mlflow", "at": "http://a", "ru')  # torn

    assert here.run() == ("first", "d2")
    assert there.run() == ("second", "d3")
    assert SentLog(path, Destination.of("wandb")).run() is None


def test_the_address_is_noted_without_its_password(tmp_path):
    sent = SentLog(tmp_path / "sent.jsonl", Destination.of("mlflow=http://me:hunter22@host"))

    sent.note(run="first", digest="d1")

    assert "hunter22" not in (tmp_path / "sent.jsonl").read_text()
    assert sent.run() == ("first", "d1")


def evaluations(receiver: Receiver) -> list[list[dict[str, Any]]]:
    """The evaluations of each simulation, as they arrived."""
    return [
        [
            {k.removeprefix("gen_ai.evaluation."): v for k, v in attributes(event).items()}
            for event in span.events
        ]
        for span in receiver.spans
        if not span.parent_span_id
    ]


@needs_otel
def test_checks_and_findings_arrive_as_evaluations_and_quote_only_where_content_is_sent():
    tau2.run(domain="library", agent="noisy", num_tasks=5, output="mine")
    with receiving() as quiet, receiving() as whole:
        commands.sync("mine", [f"otel={quiet.url}"])
        commands.sync("mine", [f"otel={whole.url}"], content=True)

    lines = commands.show("mine").lines
    for line, found in zip(lines, evaluations(whole), strict=True):
        names = [each["name"].partition(":")[0] for each in found]
        assert names[0] == "verdict" and "DB" in names
        assert found[0]["score.label"] == ("passed" if line.passed else "failed")
        assert ("cause" in names) == (not line.passed)
    assert {line.passed for line in lines} == {True, False}
    causes = [e for found in evaluations(whole) for e in found if e["name"].startswith("cause")]
    assert all("(proven)" in e["explanation"] or "undecided" in e["explanation"] for e in causes)
    assert not any("explanation" in each for found in evaluations(quiet) for each in found)


@needs_otel
def test_a_verdict_that_does_not_hold_is_sent_as_it_is_recomputed():
    tau2.run(domain="library", agent="noisy", num_tasks=5, output="mine")
    failed = [line for line in commands.show("mine").lines if not line.passed]
    FORGERIES["passed"].do(Path("mine"))
    with receiving() as receiver:
        commands.sync("mine", [f"otel={receiver.url}"])

    labels = [found[0]["score.label"] for found in evaluations(receiver)]
    assert failed and labels.count("failed") == len(failed)
