"""A run into a folder as a program of its own, for tests that kill it or take its disk away.

Usage: python -m tests.runs.program FOLDER [TASKS [TRIALS [SECONDS]]]
"""

import os
import resource
import signal
import sys
import time

from maseval.runs import RunFolder, RunFolderError, run_into
from tests.runs.worlds import AWKWARD_IDS, config, desk, tasks

IDS = [*AWKWARD_IDS, *(f"task {number}" for number in range(13))]


def limit_files_to(size: int) -> None:
    """Have the disk be full for every file of this process that grows beyond ``size`` bytes."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def main(
    path: str, count: str = "20", trials: str = "3", seconds: str = "0", limit: str = ""
) -> int:
    ids = IDS[: int(count)]
    benchmark = desk(num_workers=2)
    agents = benchmark.run_agents

    def slowly(*args):
        time.sleep(float(seconds))
        return agents(*args)

    benchmark.run_agents = slowly
    if limit:
        limit_files_to(int(limit))
    try:
        with RunFolder.open(path, config(*ids, trials=int(trials))) as folder:
            print("open", flush=True)
            run_into(folder, benchmark, tasks(*ids))
    except RunFolderError as error:
        print(f"{type(error).__name__}: {error}", flush=True)
        return 3
    return 0


def main_in_fork(*arguments: object) -> None:
    """Run in a process that was forked from one with terminal output, and print nothing."""
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - until the process ends
    sys.exit(main(*map(str, arguments)))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
