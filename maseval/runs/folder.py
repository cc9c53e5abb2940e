"""A run on disk: its configuration, and every simulation it has finished.

``config.json`` is written once, ``log.jsonl`` only ever grows, one synced line for each finished
simulation, and ``lock`` names the process that writes. No file is named after a task, and none of
these is ever rewritten: tasks or trials that are added later are a line of the log. ``seal.json``
is the end of the log when the last session closed, by which a log that was cut off is noticed.
"""

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import count
from pathlib import Path

from maseval.core.outcome import Simulation
from maseval.core.recorded import mapping
from maseval.core.report import NO_VERDICT_STATUSES, RERUN_STATUSES, UNEVALUATED, Report
from maseval.core.storage import strict_json
from maseval.core.storage.files import FileState
from maseval.core.storage.records import (
    RecordWriter,
    drop_rescued,
    mend,
    rescued_files,
    seal_json,
    seal_problem,
)
from maseval.core.storage.redaction import Secrets, redact
from maseval.core.tracing import JsonObject, now
from maseval.data.kept import package_fingerprint
from maseval.runs.config import RunConfig, cell_of
from maseval.runs.config_file import (
    LOCK,
    LOG,
    StoredConfig,
    check_free,
    check_same_run,
    is_run_folder,
    read_config,
    write_config,
)
from maseval.runs.exceptions import RunConfigError, RunFolderError, RunWriteError, writing
from maseval.runs.lock import FolderLock
from maseval.runs.log import (
    config_record,
    contents_of,
    kept_about,
    read_head,
    report_head,
    shared_id,
)
from maseval.runs.recording import LoggedRun, is_waiting, rescued_reports
from maseval.runs.report_line import (
    BEGINNING,
    LINK,
    LogLine,
    Seal,
    check_report,
    report_record,
    report_text,
    simulation_of,
)

logger = logging.getLogger(__name__)


class RunFolder(LoggedRun):
    """The folder of a run: ``open`` to run into it, ``read`` to look at it.

    ``set_aside`` is the file that a torn last line was moved to; its simulation, and those in
    ``damaged`` lines, count as not finished.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Read the folder as it is now; ``read`` and ``open`` state the intent more clearly."""
        super().__init__(Path(path))
        self._read_at = FileState.now(self.log)
        self.contents = contents_of(self.log)
        self.set_aside: Path | None = None
        self._end, self._size = self.contents.end, 0
        self._extended = self.config.sha256 != self._stored.config.sha256
        self._replaced: set[str] = set()
        self._added: dict[Simulation, None] = {}
        self._lock: FolderLock | None = None
        self._writer: RecordWriter | None = None
        self._shared: tuple[object, str] | None = None
        self._totals: dict[str, object] = {}
        self.ended_here = False
        """True if the log is as the last session on this machine, by this very code, left it."""
        self.verdicts_hold = False
        """Set by whoever has seen that every verdict follows from its conversation."""

    @cached_property
    def _secrets(self) -> Secrets:
        """Those of the run that is written; whoever only reads never asks for them."""
        return Secrets.of({})

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "RunFolder":
        """Read the run as it is now, even while another process is writing to it."""
        return cls(path)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        config: Mapping[str, object],
        *,
        fork: bool = False,
        resume_changed: bool = False,
    ) -> "RunFolder":
        """Start a run or resume the existing one, and lock the folder.

        ``config`` holds ``tasks`` (task ids by domain), ``trials`` and any settings. It must equal
        that of the folder, or only add tasks or trials to it. For any other change there is a
        ``RunConfigError``, or with ``fork`` a folder beside: the first of ``<name>-2``,
        ``<name>-3``, ... that is free or fits. With ``resume_changed`` the ``code`` may differ:
        what is finished stays, and the new code counts from here on.
        """
        secrets = Secrets.of(config)
        wanted = RunConfig.of(config, clean=lambda given: secrets.removed_from(redact(given)))
        path = Path(os.path.abspath(path))
        if not fork:
            return cls._open(path, wanted, secrets, resume_changed)
        for number in count(1):
            candidate = path if number == 1 else path.with_name(f"{path.name}-{number}")
            with suppress(RunConfigError):
                return cls._open(candidate, wanted, secrets, resume_changed)
        raise AssertionError("numbers do not end")

    @classmethod
    def _open(cls, path: Path, wanted: RunConfig, secrets: Secrets, changed: bool) -> "RunFolder":
        # Checked before anything is written: what belongs to another run stays as it is.
        with writing(path, "cannot be read"):
            found = cls(path) if is_run_folder(path) else None
            if found is None:
                check_free(path)
            else:
                check_same_run(path, found.config, wanted, changed=changed)
        with writing(path, "cannot be written to"):
            path.mkdir(parents=True, exist_ok=True)
            lock = FolderLock(path / LOCK)
        try:
            with writing(path, "cannot be written to"):
                folder = cls._begin(path, wanted, changed, found)
            folder._lock, folder._secrets = lock, secrets
            folder._extend_to(wanted)
            folder._take_over_rescued()
        except BaseException:
            lock.release()
            raise
        if folder.set_aside:
            message = "%s: the last record was torn; it was moved to %s"
            logger.warning(message, folder.log, folder.set_aside)
        for damage in folder.damaged:
            message = "%s, %s; what is not intact counts as not finished"
            logger.warning(message, folder.log, damage)
        return folder

    @classmethod
    def _begin(
        cls, path: Path, wanted: RunConfig, changed: bool, found: "RunFolder | None"
    ) -> "RunFolder":
        begun = is_run_folder(path)
        write_config(path, read_config(path) if begun else StoredConfig(now(), wanted))
        aside = mend(path / LOG) if (path / LOG).exists() else None
        # It was read before it was locked, and another process may have written to it since. Else
        # a long log is not read again.
        is_as_read = found is not None and found._read_at == FileState.now(found.log)
        folder = found if found is not None and is_as_read else cls(path)
        check_same_run(path, folder.config, wanted, changed=changed)
        folder.ended_here = (
            not folder.damaged and kept_about(folder.log).get(_ENDED) == folder._ended
        )
        folder.set_aside, folder._writer = aside, RecordWriter(path / LOG, resume=True)
        folder._size = folder.log.stat().st_size
        # With its configuration first, a log can be read when config.json is lost.
        if folder._end == BEGINNING:
            folder._append(folder._writer, config_record(folder.config, folder.created))
        return folder

    @property
    def seal(self) -> str:
        """The number and the hash of the log's last line.

        Kept elsewhere, it shows later whether any line of the log has changed since.
        """
        return str(self._end)

    @property
    def _ended(self) -> list[str | None]:
        return [self.seal, package_fingerprint()]

    @property
    def is_open(self) -> bool:
        """True if reports can be added."""
        return self._writer is not None

    @property
    def recorded(self) -> Mapping[Simulation, str]:
        """The status of each simulation that has a report."""
        return {key: place.status for key, place in self.contents.places.items()}

    def missing(self, *, retry_failed: bool = True) -> list[Simulation]:
        """Return the planned simulations that still have to be run.

        With ``retry_failed`` those too whose report says that anything but the agent made them
        fail. Whatever the agent did wrong is a result. A conversation whose evaluation failed is
        not run again: see ``unevaluated``.
        """
        again = RERUN_STATUSES if retry_failed else frozenset()
        places = self.contents.places
        return [
            simulation
            for simulation in self.planned
            if simulation not in places or places[simulation].status in again
        ]

    def unevaluated(self) -> list[Simulation]:
        """Return the planned simulations whose evaluation failed, to be made again by itself."""
        recorded = self.recorded
        return [
            simulation for simulation in self.planned if recorded.get(simulation) in UNEVALUATED
        ]

    def append(self, report: Report) -> None:
        """``append_all`` for one report."""
        self.append_all([report])

    def append_all(self, reports: Sequence[Report]) -> None:
        """Write reports and wait, once for all of them, until they are on the disk.

        Raises ``RunWriteError`` if they are not; then the log is as it was before.
        """
        writer = self._open_writer()
        for line in self._append_json(writer, *map(self._report_line, reports)):
            self._added[self._place(line)] = None

    def _place(self, line: LogLine) -> Simulation:
        head = report_head(read_head(line.text))
        self.contents.place(*head, line)
        return head[0]

    def check_written(self) -> None:
        """Raise unless the log holds what was recorded; of many reports some are looked at.

        What an agent changes in its process, such as Python's own ``json``, writes as well.
        """
        added = list(self._added)
        with writing(self.path, "cannot be read back"), self.log.open("rb") as log:
            for simulation in {*added[:: max(1, len(added) // _LOOKED_AT)], *added[-1:]}:
                place = self.contents.places[simulation]
                log.seek(place.offset)
                line = log.readline()
                if seal_problem(line) or not _is_report(line, simulation, place.status):
                    raise RunWriteError(
                        f"{self.log} does not hold the report on {simulation} as it was made; "
                        "does an agent, a tool or an evaluator change json, files or the log? "
                        "Run it with --engine processes, or behind MCP or HTTP"
                    )

    def adopt(self, path: Path) -> tuple[list[Simulation], bool]:
        """Add reports that were rescued, unless the simulation has a later one here.

        Returns those that were added, and whether all could be read.
        """
        adopted, whole = [], True
        for record in rescued_reports(path):
            if record is None:
                whole = False
            elif is_waiting(record, self):
                [line] = self._append_json(self._open_writer(), report_text(record))
                adopted.append(self._place(line))
        return adopted, whole

    def _take_over_rescued(self) -> None:
        for path in rescued_files(self.log, self.id):
            adopted, whole = self.adopt(path)
            if adopted:
                self.ended_here = False
                logger.warning(
                    "%s: took over what was rescued to %s (reports: %d)",
                    self.path,
                    path,
                    len(adopted),
                )
            if whole:
                drop_rescued(path)

    def whole_record(self, report: Report) -> dict[str, object]:
        """Return the record of a report, with all it shares with others, without secrets."""
        return self._without_secrets(report_record(report, None))

    def _report_line(self, report: Report) -> str:
        config = dict(report["config"])
        shared = self._shared_as(config.pop("benchmark")) if "benchmark" in config else None
        record = report_record({**report, "config": config}, shared)
        check_report(record)  # raises for somebody's own that readers would refuse
        # Making the text is most of the work of recording, so that it is made once if it can be.
        text = report_text(record)
        if self._secrets.occur_in(text):
            return report_text(self._without_secrets(record))
        return text

    def _without_secrets(self, record: dict[str, object]) -> dict[str, object]:
        named = ("kind", "domain", "task_id", "repeat_idx", "status")
        # What names the simulation stays, even if some password happens to be the same word.
        clean = {**self._secrets.removed_from(record), **{key: record[key] for key in named}}
        if found := self._secrets.sources_in(strict_json.dumps(record.get("traces"))):
            self._warn_of_replaced(found, record)
            clean["config"] = {**mapping(clean["config"]), "redacted": dict.fromkeys(found, True)}
        return clean

    def _warn_of_replaced(self, sources: Iterable[str], record: Mapping[str, object]) -> None:
        """Say once a run that a conversation is not recorded as it was."""
        for source in sorted(set(sources) - self._replaced):
            self._replaced.add(source)
            logger.warning(
                "the value of %s occurs in task %s, trial %s, and is recorded as <redacted>. If it "
                "is not a secret, unset it and run that simulation again: a redacted conversation "
                "cannot be scored again",
                source,
                record["task_id"],
                record["repeat_idx"],
            )

    def note_result(
        self,
        pass_1: JsonObject | None,
        verdicts: int,
        cost: float | None = None,
        tokens: int | None = None,
    ) -> None:
        """Set the score of all sessions together and what they used, for the lists of runs."""
        totals = {"cost": cost, "tokens": tokens, "verdicts": verdicts, "pass_1": pass_1}
        self._totals = {key: value for key, value in totals.items() if value is not None}

    def note_executed(self, files: Mapping[str, str]) -> None:
        """Name files of code, with their hashes, that the configuration does not have."""
        self._totals["executed"] = dict(files)

    def close(self) -> None:
        """End the session and release the lock; may be called twice."""
        writer, self._writer = self._writer, None
        if writer is not None:
            # Both only help readers, so a full disk is not reported again.
            try:
                self._append(writer, self._closing())
                with writing(self.path, "cannot be sealed"):
                    Seal.write(self.log, self._end)
                if self.verdicts_hold and package_fingerprint() is not None:
                    known = kept_about(self.log)
                    known.put(_ENDED, self._ended)
                    known.save()
            except RunWriteError as error:
                logger.debug("%s", error)
            writer.close()
        if self._lock is not None:
            self._lock.release()

    def __enter__(self) -> "RunFolder":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _open_writer(self) -> RecordWriter:
        if self._writer is None:
            raise RunFolderError(
                f"{self.path} is not open for writing; use RunFolder.open(path, config)"
            )
        return self._writer

    def _append(self, writer: RecordWriter, record: Mapping[str, object]) -> None:
        self._append_json(writer, strict_json.dumps(record))

    def _append_json(self, writer: RecordWriter, *texts: str) -> list[LogLine]:
        with writing(self.path, "cannot store more results"):
            if self._size != self.log.stat().st_size:
                # An append that was interrupted after its last byte, or a second writer where the
                # file system has no locks.
                self._end = contents_of(self.log).end
            lines, end = list[LogLine](), self._end
            for text in texts:
                sealed = seal_json(f'{{"{LINK}": "{end}", {text[1:]}')
                lines.append(LogLine(end.number + 1, 0, 0, sealed))
                end = lines[-1].link
            place = writer.append_lines([line.text for line in lines])
            for line in lines:
                line.offset = place
                place += len(line.text) + 1
            self._end, self._size = end, place
            return lines

    def _shared_as(self, benchmark: object) -> str:
        # By identity: it is large, and one object for all reports of a session.
        if self._shared is None or self._shared[0] is not benchmark:
            name = shared_id(benchmark)
            if name not in self.contents.shared:
                record = {"kind": "shared", "id": name, "benchmark": benchmark}
                clean = self._secrets.removed_from(record)
                [line] = self._append_json(self._open_writer(), strict_json.dumps(clean))
                self.contents.share(name, clean["benchmark"], line)
            self._shared = (benchmark, name)
        return self._shared[1]

    def stop(self, stopped: Mapping[str, object]) -> None:
        """Record that the run ends here because its question is answered."""
        self._change_to(RunConfig.of(self.config.stopping(stopped).values))

    def _extend_to(self, wanted: RunConfig) -> None:
        old = new = self.config
        grown = wanted.planned.keys() != old.stopping(None).planned.keys()
        if grown or wanted.code_version != old.code_version:
            new = wanted.with_cell_of(old) if grown else old.with_code_of(wanted)
            new = new.after(old) if self.recorded else new
        cells = [list(cell_of(config.values).items()) for config in (old, wanted)]
        if cells[1] and cells[0] != cells[1]:  # the grid got more factors, or another order
            new = new.with_cell_of(wanted)
        if new is not old:
            self._change_to(new)

    def _change_to(self, wanted: RunConfig) -> None:
        self._append(self._open_writer(), config_record(wanted, now()))
        self.contents.config, self._extended = wanted, True

    def _closing(self) -> dict[str, object]:
        """Return the line that ends a session, for ``counts_at_end``."""
        recorded = self.recorded
        ended = [recorded[simulation] for simulation in self.planned if simulation in recorded]
        failed = sum(status in NO_VERDICT_STATUSES for status in ended)
        return {
            "kind": "closed",
            "at": now(),
            "done": len(ended) - failed,
            "failed": failed,
            "planned": len(self.planned),
            "config": self.config.values if self._extended else None,
            **self._totals,
        }


# Enough to notice code that spoils every report; reading all of them would double the work.
_LOOKED_AT = 20
_ENDED = "ended"


def _is_report(line: bytes, simulation: Simulation, status: str) -> bool:
    """Return True if a line has the report, as text and to whoever parses it."""
    if b'"kind": "report"' not in line or f'"status": "{status}"'.encode() not in line:
        return False
    try:
        record = strict_json.loads_object(line)
        return simulation_of(record) == simulation and record["status"] == status
    except (ValueError, LookupError, TypeError):
        return False
