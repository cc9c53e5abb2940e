"""Runs to look at in the viewer: real ones, and folders whose reports are written by hand."""

from pathlib import Path
from typing import Any

from maseval.runs import RunFolder
from tests.noisy_runs import noisy_run


def compared_runs(folder: Path) -> Path:
    """Two runs of the same tasks, one of which makes more mistakes."""
    for name, error_rate in (("careful", 0.05), ("hurried", 0.4)):
        noisy_run(folder / name, error_rate)
    return folder


def planned(reports: list[dict[str, Any]], trials: int | None = None) -> dict[str, Any]:
    """A configuration whose plan has these reports, and more trials if so said."""
    tasks = {}
    for each in reports:
        domain = each["task"]["metadata"].get("domain") or ""
        ids = tasks.setdefault(domain, [])
        if each["task_id"] not in ids:
            ids.append(each["task_id"])
    most = 1 + max(each["repeat_idx"] for each in reports)
    return {"tasks": tasks, "trials": trials or most}


def written_run(path: Path, reports: list[dict[str, Any]]) -> Path:
    """A finished run with these reports."""
    with RunFolder.open(path, planned(reports)) as folder:
        for each in reports:
            folder.append(each)
    return path
