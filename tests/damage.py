"""Damage to runs: ``DAMAGES`` to their files and ``FORGERIES``, by name, and kills by ``KillRig``.

Each damage takes the folder of a finished run and damages it in place. A forgery writes the whole
log anew, so that every checksum and every link is right: only recomputing finds it. The rig starts
a program that writes to a run folder again and again, and kills it at random moments: whatever was
finished before a kill must be there after it, and the run that is finished in the end must equal
one that was never disturbed.
"""

import errno
import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maseval.core.outcome import RecordedReport
from maseval.core.storage import strict_json
from maseval.core.storage.records import rescue, seal_json
from maseval.runs import RunFolder
from maseval.runs.config_file import is_run_folder
from maseval.runs.recording import outcomes_in
from tests.normalised import normalise

LOG, CONFIG, LOCK, RESCUED = "log.jsonl", "config.json", "lock", "log.rescued.jsonl"
SEAL = "seal.json"


@dataclass(frozen=True)
class Damage:
    """A way to damage a run folder."""

    name: str
    text: str
    do: Callable[[Path], object]


def log_lines(folder: Path) -> list[bytes]:
    return (folder / LOG).read_bytes().splitlines(keepends=True)


def edit_line(line: bytes, **parts: object) -> bytes:
    """Change the values of these keys in a line, and make its checksum right again."""
    record: dict[str, Any] = {**json.loads(line), **parts}
    record.pop("crc", None)
    return seal_json(strict_json.dumps(record)) + b"\n"


def rewrite_log(folder: Path, change: Callable[[list[bytes], int], object]) -> None:
    """Change the lines of the log; ``change`` gets them and the index of the first report."""
    lines = log_lines(folder)
    change(lines, next(n for n, line in enumerate(lines) if b'"kind": "report"' in line))
    (folder / LOG).write_bytes(b"".join(lines))


def _replacing(make: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def change(lines: list[bytes], number: int) -> None:
        lines[number] = make(lines[number])

    return lambda folder: rewrite_log(folder, change)


def _closing(**parts: object) -> Callable[[Path], None]:
    def change(lines: list[bytes], number: int) -> None:
        lines[-1] = edit_line(lines[-1], **parts)

    return lambda folder: rewrite_log(folder, change)


def _swap(lines: list[bytes], number: int) -> None:
    lines[number], lines[number + 1] = lines[number + 1], lines[number]


def _forge(lines: list[bytes], number: int) -> None:
    lines.insert(number + 1, edit_line(lines[number], eval=[{"reward": 1.0}]))


def _writing(name: str, content: object) -> Callable[[Path], object]:
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    return lambda folder: (folder / name).write_bytes(text)


def _replace_by_folder(folder: Path) -> None:
    (folder / LOG).unlink()
    (folder / LOG).mkdir()


def _cut(lines: list[bytes], number: int) -> None:
    """Cut the log behind its last report but one."""
    reports = [place for place, line in enumerate(lines) if b'"kind": "report"' in line]
    del lines[reports[-1] :]


def _fill_disk(folder: Path) -> None:
    """Leave the folder as a full disk does: the last report is rescued to the temporary folder."""
    run = RunFolder.read(folder)
    *_, last = run.reports()
    rewrite_log(folder, _cut)
    (folder / SEAL).unlink()
    # Nothing can be made below a file, so that only the temporary folder is left.
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    rescue(run.whole_record(last), folder / LOG / LOG, run.id, full)


def _edit_config(folder: Path) -> None:
    text = (folder / CONFIG).read_text(encoding="utf-8")
    (folder / CONFIG).write_text(text.replace('"trials": ', '"trials": 1'), encoding="utf-8")


_ODD_LOCK: Mapping[str, object] = {"pid": "1", "host": [], "since": 5, "command": None}

_EVERY = (
    Damage(
        "torn",
        "the last line cut off",
        lambda f: os.truncate(f / LOG, os.path.getsize(f / LOG) - 9),
    ),
    Damage(
        "digit",
        "a digit changed in a report",
        _replacing(lambda x: x.replace(b'"duration_seconds": ', b'"duration_seconds": 1')),
    ),
    Damage("zeros", "a line of zeros", _replacing(lambda line: bytes(1200) + b"\n")),
    Damage("deep", "a line nested 100,000 deep", _replacing(lambda line: b"[" * 100_000 + b"\n")),
    Damage(
        "reward",
        "a reward edited, its checksum made right",
        _replacing(lambda line: edit_line(line, eval=[{"reward": 1.0, "passed": True}])),
    ),
    Damage("removed", "a line removed", lambda f: rewrite_log(f, lambda lines, n: lines.pop(n))),
    Damage("swapped", "two lines exchanged", lambda f: rewrite_log(f, _swap)),
    Damage("forged", "a line added, its checksum made right", lambda f: rewrite_log(f, _forge)),
    Damage(
        "blank",
        "blank lines in the log",
        lambda f: rewrite_log(f, lambda lines, n: lines.insert(n, b"\n  \n\n")),
    ),
    Damage("rescued", "a rescued file with missing keys", _writing(RESCUED, {"kind": "report"})),
    Damage("rescued-zeros", "a rescued file of zeros", _writing(RESCUED, bytes(1200))),
    Damage(
        "closing", "a closing line with values of other types", _closing(done="all", planned=[])
    ),
    Damage("closing-config", "a closing line with another configuration", _closing(config=[1])),
    Damage("log-folder", "a folder in place of the log", _replace_by_folder),
    Damage("lock", "a lock file with values of other types", _writing(LOCK, _ODD_LOCK)),
    Damage("cut", "the log cut off behind a whole line", lambda f: rewrite_log(f, _cut)),
    Damage("log-missing", "the log removed", lambda f: (f / LOG).unlink()),
    Damage("seal", "seal.json full of zeros", _writing(SEAL, bytes(1200))),
    Damage("full-disk", "a full disk: a report in the temporary folder", _fill_disk),
    Damage("config-missing", "config.json removed", lambda f: (f / CONFIG).unlink()),
    Damage("config-edited", "config.json edited", _edit_config),
    Damage("config-zeros", "config.json full of zeros", _writing(CONFIG, bytes(1200))),
    Damage("config-bytes", "config.json of other bytes", _writing(CONFIG, b"\xff" * 1200)),
    Damage("config-deep", "config.json nested 100,000 deep", _writing(CONFIG, b"[" * 100_000)),
    Damage("config-list", "config.json with a list", _writing(CONFIG, [])),
)

DAMAGES: dict[str, Damage] = {damage.name: damage for damage in _EVERY}


def forge_run(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Write the log of a run anew after ``change`` to each report, and claim a perfect score."""
    whole = RunFolder.read(folder)
    reports = [json.loads(json.dumps(report)) for report in whole.reports()]
    for name in (LOG, SEAL):  # a seal that names another end would be noticed
        (folder / name).unlink(missing_ok=True)
    with RunFolder.open(folder, dict(whole.config.values)) as forged:
        for report in reports:
            change(report)
            forged.append(report)
        forged.note_result({"value": 1.0, "low": 1.0, "high": 1.0}, len(reports))


def _claim_success(report: dict[str, Any]) -> None:
    for entry in report["eval"] or ():
        entry.update(passed=True, reward=1.0)


def _forge_checks(report: dict[str, Any]) -> None:
    _claim_success(report)
    for entry in report["eval"] or ():
        verdict = entry.get("reward_info") or {}
        verdict["reward"] = 1.0
        verdict["reward_breakdown"] = dict.fromkeys(verdict.get("reward_breakdown") or {}, 1.0)
        verdict["db_check"] = {"db_match": True, "db_reward": 1.0}
        for check in verdict.get("env_assertions") or ():
            check["met"] = True


def _remove_checks(report: dict[str, Any]) -> None:
    report["eval"] = [{"passed": True, "reward": 1.0}]


def _add_evaluator(report: dict[str, Any]) -> None:
    report["eval"] = [*(report["eval"] or ()), {"passed": True}]


def _excuse_failures(report: dict[str, Any]) -> None:
    if not any(entry.get("passed") for entry in report["eval"] or ()):
        report.update(status="provider_error", eval=None)


def _interrupt_failures(report: dict[str, Any]) -> None:
    _excuse_failures(report)
    if report["status"] != "success":
        report["traces"]["environment"]["simulation"]["termination_reason"] = "connection_lost"


def _forging(name: str, text: str, change: Callable[[dict[str, Any]], object]) -> Damage:
    return Damage(name, text, lambda folder: forge_run(folder, change))


_FORGED = (
    _forging("passed", "every evaluation says passed, its checks do not", _claim_success),
    _forging("checks", "every evaluation says passed, and so do its checks", _forge_checks),
    _forging("no-checks", "every evaluation says passed, and its checks are gone", _remove_checks),
    _forging("evaluator", "an evaluator is added that says passed", _add_evaluator),
    _forging("excused", "failures are called errors of a provider", _excuse_failures),
    _forging("interrupted", "failures are called interrupted conversations", _interrupt_failures),
)

FORGERIES: dict[str, Damage] = {forgery.name: forgery for forgery in _FORGED}


_POLL_SECONDS = 0.002
# Some die while they start or open the folder, most while they run.
_WHILE_STARTING = 0.1
_LONGEST_START = 0.4


class KillRig:
    """One run folder and the command that runs into it.

    Args:
        command: Starts the run, or resumes it.
        folder: The run folder that it writes to.
        seed: The same seed waits for the same number of results before each kill.
        most_results: A kill comes after fewer new lines of the log than this.
        signal_number: What the process is sent; by default it gets no chance to clean up.
        cwd: The folder to start it in.
    """

    def __init__(
        self,
        command: Sequence[str],
        folder: str | os.PathLike[str],
        *,
        seed: int | random.Random = 0,
        most_results: int = 25,
        signal_number: int = signal.SIGTERM if os.name == "nt" else signal.SIGKILL,
        cwd: str | os.PathLike[str] | None = None,
    ) -> None:
        self.command = list(command)
        self.folder = Path(folder)
        self.kills = 0
        self._chance = seed if isinstance(seed, random.Random) else random.Random(seed)
        self._most = most_results
        self._signal = signal_number
        self._cwd = cwd

    def kill(self) -> bool:
        """Start the command and kill it; return False if it ended before that."""
        with self._start() as process:
            try:
                self._wait(process)
            finally:
                process.send_signal(self._signal)
                process.communicate()
        killed = process.returncode == -self._signal
        self.kills += killed
        return killed

    def finish(self) -> subprocess.CompletedProcess[str]:
        """Run the command to its end."""
        return subprocess.run(self.command, cwd=self._cwd, capture_output=True, text=True)

    def results(self) -> list[str]:
        """Return every report of the run as text, without what differs between equal runs."""
        return results_in(self.folder)

    def _start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command,
            cwd=self._cwd,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def _wait(self, process: subprocess.Popen[str]) -> None:
        if self._chance.random() < _WHILE_STARTING:
            time.sleep(self._chance.uniform(0, _LONGEST_START))
            return
        wanted = self._lines() + 1 + self._chance.randrange(self._most)
        while process.poll() is None and self._lines() < wanted:
            time.sleep(_POLL_SECONDS)
        time.sleep(self._chance.uniform(0, 10 * _POLL_SECONDS))

    def _lines(self) -> int:
        try:
            return (self.folder / "log.jsonl").read_bytes().count(b"\n")
        except FileNotFoundError:
            return 0


def results_in(folder: str | os.PathLike[str]) -> list[str]:
    """Return every report in a run folder as text, without what differs between equal runs.

    Empty if there is no run yet. Whatever happened to it, its index lines say what they say.
    """
    if not is_run_folder(Path(folder)):
        return []
    run = RunFolder.read(folder)
    reports = list(run.reports())
    assert outcomes_in(run) == [RecordedReport(each).outcome for each in reports]
    return [json.dumps(normalise(report)) for report in reports]
