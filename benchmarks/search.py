"""What search over all conversations costs: ``python -m benchmarks.search``.

A run of 20,016 simulations of the library domain is written, its search index built, and queries
answered from it: a rare word, a common one, a tool's name, an argument, and words that are not
there. The time of a query is that of the whole answer, excerpts included.
"""

import copy
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.table import show
from maseval.commands import tau2
from maseval.core.report import Report
from maseval.runs import RunFolder
from maseval.view.library import Library
from maseval.view.search import Search

TASKS, TRIALS = 278, 72
RARE = "hippogriff"
QUERIES = {
    "a rare word": RARE,
    "a common word": "member",
    "two words": "member due",
    "a tool's name": "renew_loan",
    "an argument": "L-",
    "not there": "hippopotamus",
}
REPEATS = 5


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "runs"
        played = tau2.run(domain="library", agent="noisy", trials=2, output=root.parent / "run")
        reports = list(RunFolder.read(played.folder).reports())
        _write(root / "large", reports)
        search = Search(Library(root))
        began = time.perf_counter()
        while search._read_next():
            pass
        built = time.perf_counter() - began
        log = (root / "large" / "log.jsonl").stat().st_size
        rows = [
            ("index built in s", f"{built:.1f}"),
            ("log in MB", f"{log / 1e6:.0f}"),
            *((f"{name}, in ms", _answered(search, query)) for name, query in QUERIES.items()),
        ]
        show(f"Search over {TASKS * TRIALS:,} simulations", ("", "measured"), rows)


def _write(path: Path, played: list[Report]) -> None:
    """A run made of conversations that were played; in one of them a rare word is said."""
    ids = [f"task {number}" for number in range(TASKS)]
    with RunFolder.open(path, {"tasks": {"library": ids}, "trials": TRIALS}) as folder:
        for number in range(TASKS * TRIALS):
            task, trial = divmod(number, TRIALS)
            report = played[number % len(played)]
            if number == TASKS * TRIALS // 2:
                report = copy.deepcopy(report)
                report["traces"]["environment"]["simulation"]["messages"][0]["content"] = RARE
            folder.append({**report, "task_id": ids[task], "repeat_idx": trial})


def _answered(search: Search, words: str) -> str:
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        found = search.find(words, None)
        times.append(1000 * (time.perf_counter() - began))
    return f"{median(times):.0f} ({found['total']} hits)"


if __name__ == "__main__":
    main()
