"""KillRig: starts a run again and again, and kills it at random moments.

For programs that write to a run folder and resume what they find there. Whatever was finished
before a kill must be there after it, and the run that is finished in the end must equal one that
was never disturbed.
"""

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from maseval.core.report import normalise
from maseval.runs import RunFolder

_POLL = 0.002
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
        """Start the command and kill it; False if it came to its end before that."""
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
        """Every report of the run as text, without what differs between equal runs."""
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
            time.sleep(_POLL)
        time.sleep(self._chance.uniform(0, 10 * _POLL))

    def _lines(self) -> int:
        try:
            return (self.folder / "log.jsonl").read_bytes().count(b"\n")
        except FileNotFoundError:
            return 0


def results_in(folder: str | os.PathLike[str]) -> list[str]:
    """Every report in a run folder as text, without what differs between equal runs.

    Empty if there is no run yet.
    """
    if not (Path(folder) / "config.json").exists():
        return []
    return [json.dumps(normalise(report)) for report in RunFolder.read(folder).reports()]
