"""MLflow: a real tracking server with a SQLite database, and servers that fail."""

import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from maseval import commands
from maseval.interface.telemetry.otlp import DeliveryError
from tests.interface.libraries import needing
from tests.interface.telemetry.receiver import receiving
from tests.waiting import wait_until

CHECKOUT = str(Path(__file__).parents[3])

pytestmark = [
    *needing("mlflow"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("mlflow")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        *(sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port)),
        *("--backend-store-uri", f"sqlite:///{folder}/runs.db", "--workers", "1"),
        *("--artifacts-destination", str(folder / "files")),
    ]
    with open(folder / "log", "wb") as log:
        quick = {**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
        process = subprocess.Popen(command, stdout=log, stderr=log, env=quick)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_for(f"{url}/health", process, folder / "log")
        yield url
    finally:
        process.terminate()
        process.wait(30)


def _wait_for(url: str, process: Any, log: Any) -> None:
    def answers():
        assert process.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(url, timeout=5):
                return True
        except OSError:
            return False

    wait_until(answers, "the tracking server")


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """The variables of whoever runs the tests do not count."""
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", request.node.name[:40])
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setenv("PYTHONPATH", CHECKOUT)


def runs_at(server: Any, experiment: Any) -> tuple[Any, Any]:
    client = import_module("mlflow.tracking").MlflowClient(server)
    home = client.get_experiment_by_name(experiment[:40]).experiment_id
    return client, client.search_runs([home])


def test_a_run_is_one_run_with_everything_also_when_it_is_resumed(server, booking, request):
    for trials in (2, 3):
        result = booking(trials)
        commands.sync("mine", [f"mlflow={server}"])

    client, (run,) = runs_at(server, request.node.name)
    assert (run.info.run_name, run.info.status) == ("mine", "FINISHED")
    assert run.data.params["agent.slip_rate"] == "0.2"
    assert (run.data.params["trials"], run.data.tags["trials"]) == ("2", "3")
    found = commands.show("mine").summary.overall.pass_hat[1]
    assert run.data.metrics["pass_hat_1"] == found.value
    assert run.data.metrics["pass_hat_1_low"] == found.low
    assert run.data.metrics["pass_hat_1_high"] == found.high
    steps = [each.step for each in client.get_metric_history(run.info.run_id, "pass_hat_1")]
    assert steps == [6, 9]
    files = {each.path for each in client.list_artifacts(run.info.run_id)}
    assert files == {"report.html"}

    (again,) = commands.sync("mine", [f"mlflow={server}"])
    assert (again.sent, again.before, again.run) == (0, 1, run.info.run_id)
    (result.folder / "sent.jsonl").unlink()
    commands.sync("mine", [f"mlflow={server}"])  # found again by its key
    client, runs = runs_at(server, request.node.name)
    assert len(runs) == 1
    assert len(client.get_metric_history(run.info.run_id, "pass_hat_1")) == 2


@pytest.mark.parametrize(
    "answer", [(500, "text/plain", b"broken"), (200, "text/html", b"<html>"), None]
)
def test_a_server_that_fails_or_is_down_is_an_error_and_nothing_is_noted(booking, answer):
    folder = booking().folder
    with receiving(answer) if answer else nullcontext() as broken:
        url = broken.url if broken else "http://127.0.0.1:9"
        with pytest.raises(DeliveryError, match="mlflow did not take the run"):
            commands.sync("mine", [f"mlflow={url}"])

    assert not (folder / "sent.jsonl").exists()


def test_the_small_package_says_what_it_cannot_do(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    run = commands.tau2.run(domain="library", num_tasks=1, agent="gold", output="r").folder

    with pytest.raises(ImportError, match="pip install mlflow, or name a server"):
        commands.sync(run, ["mlflow"])
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


def test_a_folder_that_mlflow_no_longer_takes_is_refused_with_the_whole_way_out(tmp_path):
    run = commands.tau2.run(domain="library", agent="gold", num_tasks=1, output=tmp_path / "run")

    with pytest.raises(DeliveryError, match="set `MLFLOW_ALLOW_FILE_STORE=true` to opt out"):
        commands.sync(run.folder, to=[f"mlflow={tmp_path / 'mlruns'}"])
