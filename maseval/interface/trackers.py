"""A run as experiment trackers show it, and sending it to MLflow or Weights & Biases.

MLflow is any tracking server (``mlflow-skinny``), Weights & Biases is online or offline as
``WANDB_MODE`` says (``wandb``). Neither library is imported until a run is sent.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from maseval.core.exceptions import MASEvalError
from maseval.core.outcome import Outcome, total_cost
from maseval.core.storage.redaction import redact, redact_text
from maseval.core.words import excerpt
from maseval.interface import extras
from maseval.interface.telemetry.otlp import DeliveryError
from maseval.stats.summary import Estimate

OVERALL = ""
# Of a parameter; trackers refuse longer ones.
_LONGEST = 500


@dataclass(frozen=True)
class TrackedRun:
    """The part of a run that is sent.

    ``key`` names the run whenever it is sent, so that a tracker has it once. Its first simulation
    ``started`` and its last one ``ended`` so many seconds after 1970. ``files`` makes what is
    attached.
    """

    key: str
    name: str
    parameters: Mapping[str, str]
    metrics: Mapping[str, float]
    simulations: int
    complete: bool
    started: float
    ended: float
    files: Callable[[], Sequence[Path]] = field(default=tuple, compare=False)

    @property
    def digest(self) -> str:
        """A hash of the contents: a run that was sent already need not be sent again."""
        content = [self.name, self.parameters, self.metrics, self.complete]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def key_of(*identity: str) -> str:
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:16]


def parameters_of(config: Mapping[str, object]) -> dict[str, str]:
    """Flatten a configuration without its secrets: one text for each setting, ``agent.model``."""
    return dict(_flat(redact(config), ()))


def _flat(values: Mapping[str, object], path: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, (*path, str(key)))
        elif value is not None:
            text = value if isinstance(value, str) else json.dumps(value)
            yield ".".join((*path, str(key))), text[:_LONGEST]


def metrics_of(
    scores: Mapping[str, Mapping[int, Estimate]], finished: Sequence[Outcome]
) -> dict[str, float]:
    """Return pass^k with both ends of its interval, by domain and overall, and what the run took.

    ``pass_hat_1``, ``pass_hat_1_low``, ``retail/pass_hat_1_high``: no tracker takes a ``^``. Where
    verdicts are missing, ``pass_hat_1_worst`` and ``_best`` say what they can still make of it.
    """
    metrics: dict[str, float] = {}
    for domain, estimates in scores.items():
        prefix = f"{domain}/" if domain else ""
        for k, found in estimates.items():
            if found.value is not None:
                name = f"{prefix}pass_hat_{k}"
                ends = {key: end for key, end in found.in_brief().items() if end is not None}
                del ends["value"]
                metrics |= {name: found.value, **{f"{name}_{key}": e for key, e in ends.items()}}
    cost = total_cost(outcome.cost for outcome in finished)
    known = {} if cost is None else {"cost": cost}
    return {
        **metrics,
        "simulations": len(finished),
        "verdicts": sum(outcome.passed is not None for outcome in finished),
        "passed": sum(outcome.passed is True for outcome in finished),
        "errors": sum(outcome.kind == "error" for outcome in finished),
        **known,
        "tokens": sum(outcome.tokens for outcome in finished),
        "seconds": sum(outcome.seconds for outcome in finished),
    }


def check_installed(name: str) -> None:
    """Raise if the library of a tracker is missing; it is not imported."""
    extras.require(name, extra=name, package=PACKAGES[name])


def send_to(name: str, run: TrackedRun, where: str | None, known: str | None = None) -> str:
    """Create or update a run at a tracker and return its id there; ``known`` is the one it had.

    Raise ``DeliveryError`` if it is refused.
    """
    check_installed(name)
    try:
        return TRACKERS[name](run, where, known)
    except MASEvalError:
        raise
    except Exception as error:  # each library fails in its own ways
        words = f"{type(error).__name__}: {excerpt(redact_text(str(error)), 1000)}"
        raise DeliveryError(f"{name} did not take the run ({words})") from error


PROJECT = "maseval"
_KEY = "maseval.key"
# MLflow takes no more parameters in one request.
_MOST_AT_ONCE = 100
_LOCAL = "sqlite:"
# By itself it would try for minutes to reach a server that is down, and print addresses.
_SETTINGS = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}


def _send_to_mlflow(run: TrackedRun, where: str | None, known: str | None) -> str:
    """Send a run; ``where`` is the tracking URI, by default ``MLFLOW_TRACKING_URI``.

    The experiment is ``MLFLOW_EXPERIMENT_NAME`` or ``maseval``. Without an id that is known, the
    run is found by its key.
    """
    _check_store(where)
    with _mlflow_settings():
        client = import_module("mlflow.tracking").MlflowClient(tracking_uri=where)
        run_id = _mlflow_run_id(client, run, known)
        _log_to_mlflow(client, run_id, run)
        for file in run.files():
            client.log_artifact(run_id, str(file))
        if run.complete:
            client.set_terminated(run_id, "FINISHED", int(run.ended * 1000))
        else:
            client.update_run(run_id, status="RUNNING")
    return run_id


def _check_store(where: str | None) -> None:
    """Raise if runs would be kept in a database on this machine, which takes all of MLflow."""
    address = where or os.environ.get("MLFLOW_TRACKING_URI") or _LOCAL
    if address.startswith(_LOCAL) and not extras.is_installed("sqlalchemy"):
        raise extras.MissingExtraError(
            f"without a server address, MLflow keeps runs in a database ({address}), which "
            "mlflow-skinny does not support: pip install mlflow, or name a server, such as "
            "mlflow=http://localhost:5000"
        )


def _mlflow_run_id(client: Any, run: TrackedRun, known: str | None) -> str:
    name = os.environ.get("MLFLOW_EXPERIMENT_NAME", PROJECT)
    experiment = client.get_experiment_by_name(name)
    home = client.create_experiment(name) if experiment is None else experiment.experiment_id
    alike = client.search_runs([home], f"tags.`{_KEY}` = '{run.key}'")
    ids = [str(sent.info.run_id) for sent in alike]
    if ids:
        return known if known in ids else ids[0]
    tags = {_KEY: run.key, "mlflow.source.name": "maseval"}
    created = client.create_run(home, int(run.started * 1000), tags, run.name)
    return str(created.info.run_id)


def _log_to_mlflow(client: Any, run_id: str, run: TrackedRun) -> None:
    entities = import_module("mlflow.entities")
    there = client.get_run(run_id).data.params
    moment = int(run.ended * 1000)
    metrics = [
        entities.Metric(name, value, moment, run.simulations) for name, value in run.metrics.items()
    ]
    # A parameter cannot be changed; of a run that was extended, the tag has the present value.
    fresh = [
        entities.Param(name, value) for name, value in run.parameters.items() if name not in there
    ]
    changed = [
        entities.RunTag(name, value)
        for name, value in run.parameters.items()
        if there.get(name, value) != value
    ]
    for start in range(0, max(len(metrics), len(fresh)), _MOST_AT_ONCE):
        part = slice(start, start + _MOST_AT_ONCE)
        client.log_batch(run_id, metrics=metrics[part], params=fresh[part])
    client.log_batch(run_id, tags=changed)


@contextmanager
def _mlflow_settings() -> Iterator[None]:
    """Make MLflow give up soon, unless the environment says how long to try."""
    added = {name: value for name, value in _SETTINGS.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


_SECONDS_TO_REACH = 10.0


def _send_to_wandb(run: TrackedRun, where: str | None, known: str | None) -> str:
    """Send a run; ``where`` is the project, or ``entity/project``.

    By default it is ``WANDB_PROJECT`` or ``maseval``. The id follows from the run's key, so that
    the same run is resumed, also by ``wandb sync``.
    """
    wandb: Any = import_module("wandb")
    entity, _, project = (where or "").rpartition("/")
    with wandb.init(
        project=project or os.environ.get("WANDB_PROJECT", PROJECT),
        entity=entity or None,
        id=known or run.key,
        name=run.name,
        resume="allow",
        config=dict(run.parameters),
        settings=wandb.Settings(
            silent=True, init_timeout=_SECONDS_TO_REACH, disable_git=True, save_code=False
        ),
    ) as started:
        started.log(dict(run.metrics), step=run.simulations)
        started.summary.update({**run.metrics, "complete": run.complete})
        for file in run.files():
            artefact = wandb.Artifact(f"report-{run.key}", "report")
            artefact.add_file(str(file))
            started.log_artifact(artefact)
        return str(started.id)


PACKAGES = {"mlflow": "mlflow-skinny", "wandb": "wandb"}
TRACKERS = {"mlflow": _send_to_mlflow, "wandb": _send_to_wandb}
