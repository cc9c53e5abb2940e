"""Our results in v0.2.0's form, so that the original can load, show and re-score them."""

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, NamedTuple

from maseval.benchmark.tau2.data.store import AnyPath
from maseval.benchmark.tau2.data_loader import load_raw_task
from maseval.benchmark.tau2.domains import Domain, domain_named
from maseval.benchmark.tau2.results.checking import SIMULATION, TASK, checked
from maseval.benchmark.tau2.results.reports import Omitted, environment_of, simulation_of
from maseval.benchmark.tau2.results.run_info import run_info
from maseval.core.exceptions import ConfigurationError, OutputExistsError
from maseval.core.report import Report
from maseval.core.storage import strict_json
from maseval.core.storage.atomic import atomic_file, write_json
from maseval.core.tracing import now


class ExportSummary(NamedTuple):
    """What was written; what v0.2.0's form cannot hold is in ``omitted`` and ``omitted_path``."""

    path: Path
    domain: str
    written: int
    omitted: list[Omitted]
    omitted_path: Path | None


def export_results(
    reports: Iterable[Report],
    path: str | os.PathLike[str],
    *,
    domain: str | Domain | None = None,
    info: Mapping[str, object] | None = None,
    data_dir: AnyPath | None = None,
    overwrite: bool = False,
) -> ExportSummary:
    """Write the reports of a run as a results file of tau2-bench v0.2.0.

    The reports may come from an iterator: one at a time is held. The file appears whole or not at
    all. Repetitions that v0.2.0's form cannot hold, such as time-outs, are left out and listed in
    ``<name>.omitted.json`` beside it.

    Args:
        reports: What ``benchmark.run()`` or ``read_reports()`` returned, of one domain.
        path: The file to write.
        domain: The domain object, if it is one of your own.
        info: Takes precedence over what the reports say, key by key, in the file's ``info``.
        data_dir: A data folder other than the cache.
        overwrite: Replace a file that is there.
    """
    target = Path(path)
    if target.exists() and not overwrite:
        raise OutputExistsError(f"{target} already exists; set overwrite=True to replace it")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=target.parent) as spool:
        # The tasks and the number of trials stand before the simulations, but are known after.
        export = _Export(spool, domain)
        for report in reports:
            export.add(report)
        with atomic_file(target) as file:
            export.write(file, dict(info or {}), data_dir)
    return ExportSummary(
        target,
        export.domain.name,
        export.written,
        export.omitted,
        _list_omitted(target, export.omitted),
    )


class _Export:
    """The file while its simulations are collected."""

    def __init__(self, spool: IO[bytes], domain: str | Domain | None) -> None:
        self._spool = spool
        self._domain = None if domain is None else domain_named(domain)
        self._config: Mapping[str, object] = {}
        self._seed: int | None = None
        self._task_ids: dict[str, None] = {}
        self._num_trials = 0
        self.written = 0
        self.omitted: list[Omitted] = []

    @property
    def domain(self) -> Domain:
        if self._domain is None:
            raise ConfigurationError(
                "no report names its domain, so there is nothing to export; give the reports of a "
                "run with their traces, or domain=..."
            )
        return self._domain

    def add(self, report: Report) -> None:
        self._note_domain(report)
        self._num_trials = max(self._num_trials, report["repeat_idx"] + 1)
        self._task_ids[report["task_id"]] = None
        simulation = simulation_of(report)
        if isinstance(simulation, Omitted):
            self.omitted.append(simulation)
            return
        if not self.written:  # the first one's configuration stands for the whole run's
            self._config, self._seed = report.get("config") or {}, report.get("seed")
        where = f"report of task {report['task_id']!r}, repetition {report['repeat_idx']}"
        form = strict_json.dumps(checked(SIMULATION, simulation, where))
        self._spool.write(b",\n" * bool(self.written) + form.encode("ascii"))
        self.written += 1

    def write(self, file: IO[bytes], info: Mapping[str, object], data_dir: AnyPath | None) -> None:
        tasks = (load_raw_task(self.domain, task_id, data_dir) for task_id in self._task_ids)
        forms = [strict_json.dumps(checked(TASK, task, "task")) for task in tasks]
        known = {"num_trials": self._num_trials, "seed": self._seed, **info}
        about = run_info(self._config, self.domain, known, data_dir)
        head = f'{{"timestamp": "{now()}",\n"info": {strict_json.dumps(about)},\n"tasks": [\n'
        file.write((head + ",\n".join(forms) + '\n],\n"simulations": [\n').encode("ascii"))
        self._spool.seek(0)
        shutil.copyfileobj(self._spool, file)
        file.write(b"\n]}\n")

    def _note_domain(self, report: Report) -> None:
        name = environment_of(report).get("domain")
        if name is None:
            return
        if self._domain is None:
            self._domain = domain_named(name)
        elif name != self._domain.name:
            raise ConfigurationError(
                f"reports of {self._domain.name} and {name}: a results file has one domain; "
                'export each by itself, such as [r for r in reports if r["task"]["metadata"]'
                f'["domain"] == "{name}"]'
            )


def _list_omitted(target: Path, omitted: list[Omitted]) -> Path | None:
    path = target.with_name(f"{target.stem}.omitted.json")
    if not omitted:
        path.unlink(missing_ok=True)  # of an earlier export that this one replaces
        return None
    entries = [each._asdict() for each in omitted]
    write_json(path, {"results": target.name, "omitted": entries})
    return path
