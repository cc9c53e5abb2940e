"""Weights & Biases: a run of a project, online or offline as ``WANDB_MODE`` says (``wandb``)."""

import os
from typing import Any

from maseval.interface import extras
from maseval.interface.trackers.tracked_run import TrackedRun

EXTRA = MODULE = PACKAGE = "wandb"
PROJECT = "maseval"
_SECONDS_TO_REACH = 10.0


def send(run: TrackedRun, where: str | None = None, known: str | None = None) -> str:
    """Create or update the run, and return its id.

    ``where`` is the project, or ``entity/project``; by default ``WANDB_PROJECT`` or ``maseval``.
    The id follows from the run's key, so that the same run is resumed, also by ``wandb sync``.
    """
    wandb: Any = extras.load(MODULE, extra=EXTRA)
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
        started.log({"tasks": wandb.Table(run.columns, run.rows())}, step=run.simulations)
        for file in run.files():
            artefact = wandb.Artifact(f"report-{run.key}", "report")
            artefact.add_file(str(file))
            started.log_artifact(artefact)
        return str(started.id)
