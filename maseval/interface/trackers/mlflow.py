"""MLflow: a run of an experiment, on whatever tracking server it is given (``mlflow-skinny``)."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from maseval.interface import extras
from maseval.interface.trackers.tracked_run import TrackedRun

EXTRA, MODULE, PACKAGE = "mlflow", "mlflow", "mlflow-skinny"
EXPERIMENT = "maseval"
KEY = "maseval.key"
TABLE = "tasks.json"

_MOST_AT_ONCE = 100
_LOCAL = "sqlite:"
# By itself it would try for minutes to reach a server that is down, and print addresses.
_SETTINGS = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}


def send(run: TrackedRun, where: str | None = None, known: str | None = None) -> str:
    """Create or update the run, and return its id.

    ``where`` is the tracking URI, by default ``MLFLOW_TRACKING_URI``; the experiment is
    ``MLFLOW_EXPERIMENT_NAME`` or ``maseval``. ``known`` is the id it had before; without one, the
    run is found by its key.
    """
    extras.load(MODULE, extra=EXTRA, package=PACKAGE)
    _check_store(where)
    with _settings():
        client = import_module("mlflow.tracking").MlflowClient(tracking_uri=where)
        run_id = _run_id(client, run, known)
        _log(client, run_id, run)
        for file in run.files():
            client.log_artifact(run_id, str(file))
        _note_end(client, run_id, run)
    return run_id


def _check_store(where: str | None) -> None:
    """Raise if runs would be kept in a database on this machine, which takes all of MLflow."""
    address = where or os.environ.get("MLFLOW_TRACKING_URI") or _LOCAL
    if address.startswith(_LOCAL) and not extras.is_installed("sqlalchemy"):
        raise extras.MissingExtraError(
            f"without a server address, MLflow keeps runs in a database ({address}), which "
            f"{PACKAGE} does not support: pip install mlflow, or name a server, such as "
            "mlflow=http://localhost:5000"
        )


def _run_id(client: Any, run: TrackedRun, known: str | None) -> str:
    name = os.environ.get("MLFLOW_EXPERIMENT_NAME", EXPERIMENT)
    experiment = client.get_experiment_by_name(name)
    home = client.create_experiment(name) if experiment is None else experiment.experiment_id
    alike = client.search_runs([home], f"tags.`{KEY}` = '{run.key}'")
    ids = [str(each.info.run_id) for each in alike]
    if ids:
        return known if known in ids else ids[0]
    tags = {KEY: run.key, "mlflow.source.name": "maseval"}
    created = client.create_run(home, int(run.started * 1000), tags, run.name)
    return str(created.info.run_id)


def _log(client: Any, run_id: str, run: TrackedRun) -> None:
    entities = import_module("mlflow.entities")
    there = client.get_run(run_id).data.params
    moment = int(run.ended * 1000)
    metrics = [
        entities.Metric(name, value, moment, run.simulations) for name, value in run.metrics.items()
    ]
    # A parameter cannot be changed; of a run that was extended, the tag has the present value.
    fresh = [entities.Param(*each) for each in run.parameters.items() if each[0] not in there]
    changed = [
        entities.RunTag(name, value)
        for name, value in run.parameters.items()
        if there.get(name, value) != value
    ]
    for start in range(0, max(len(metrics), len(fresh)), _MOST_AT_ONCE):
        part = slice(start, start + _MOST_AT_ONCE)
        client.log_batch(run_id, metrics=metrics[part], params=fresh[part])
    client.log_batch(run_id, tags=changed)
    client.log_dict(run_id, {"columns": run.columns, "data": run.rows()}, TABLE)
    shown = json.dumps([{"path": TABLE, "type": "table"}])
    client.set_tag(run_id, "mlflow.loggedArtifacts", shown)


def _note_end(client: Any, run_id: str, run: TrackedRun) -> None:
    if run.complete:
        client.set_terminated(run_id, "FINISHED", int(run.ended * 1000))
    else:
        client.update_run(run_id, status="RUNNING")


@contextmanager
def _settings() -> Iterator[None]:
    """Make MLflow give up soon, unless the environment says how long to try."""
    added = {name: value for name, value in _SETTINGS.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]
