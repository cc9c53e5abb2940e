"""The output of every command over six recorded runs, in a form that is the same each time.

The runs are made by scripted agents and derived from each other: *gold* passes everything, *noisy*
makes mistakes, in *outage* a provider failed, *forged* has edited verdicts, *file* is noisy as a
results file of v0.2.0, and *banking* is about the bank, whose data not everybody has. Four came to
nothing or nearly so: in *down* no simulation has a verdict, *killed* ended before its first record,
*statuses* has one of each way to end, and the log of *damaged* was edited.
"""

import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from maseval import frames
from maseval.benchmark.tau2.data_loader import ensure_data_exists
from maseval.commands import report, tau2
from maseval.core.report import TaskExecutionStatus
from maseval.runs import RunFolder
from tests.cli.commandline import maseval
from tests.damage import DAMAGES, FORGERIES
from tests.report.reading import index_of, rows_of

EXPECTED = Path(__file__).parent / "expected"
# One at a time: the order in which simulations end is the order of a results file.
NOISY = {"agent": "noisy", "agent_args": {"error_rate": 0.35}, "concurrency": 1}
DOMAINS = ["airline", "retail", "telecom"]
UNFINISHED = {
    "down": ["provider_error"] * 24,
    "killed": [],
    "statuses": [each.value for each in TaskExecutionStatus if each.value != "success"],
}
IN_A_ROW = 4

# What is different each time: times, durations, random ids, hashes of the code, sizes of files.
VARYING = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(Z|[+-]\d\d:\d\d)?"), "TIME"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[ _]\d\d[:-]?\d\d([:-]?\d\d)?\b"), "TIME"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "UUID"),
    (re.compile(r"\b[0-9a-f]{32,64}\b"), "HASH"),
    (re.compile(r"\b[\d.]+ ?(ms|s|seconds|kB|KB|MB|KiB|MiB|min|minutes)\b"), "N UNIT"),
    (re.compile(r"\b\d:\d\d:\d\d\b"), "N:NN:NN"),
    (re.compile(r"\b(just now|\d+ (second|minute)s? ago)\b"), "AGO"),
    (re.compile(r"(maseval|version) \d+\.\d+\.\d+"), r"\1 VERSION"),
)
_TIMES = re.compile(
    r"(^|_)(time|timestamp|seconds|duration|started|ended|start|end|gathered_at|created|modified"
    r"|cpu|memory|elapsed|pid|host|at|generated|hash|sha256|digest|fingerprint|git|path|python"
    r"|platform|packages|machine|size|bytes|written|key|content_key|version|maseval_version"
    r"|signature|latency|git_commit|system|last_seen|age|root|took)(_|$)"
)


def make_runs(root: Path) -> None:
    """Make all runs but the bank's below ``runs`` of a folder, and one results file beside it."""
    runs = root / "runs"
    tau2.run(domain="library", agent="gold", trials=2, concurrency=1, output=runs / "gold")
    tau2.run(domain="library", trials=2, output=runs / "shaky", **NOISY)
    tau2.run(domain=DOMAINS, num_tasks=3, trials=2, output=runs / "noisy", **NOISY)
    whole = RunFolder.read(runs / "noisy")
    with RunFolder.open(runs / "outage", dict(whole.config.values)) as folder:
        for number, each in enumerate(whole.reports()):
            folder.append(_broken(each) if number % 4 == 1 else each)
    shaky = RunFolder.read(runs / "shaky")
    for name, statuses in UNFINISHED.items():
        with RunFolder.open(runs / name, dict(shaky.config.values)) as folder:
            for each, status in zip(shaky.reports(), statuses, strict=False):
                folder.append(_broken(each, status))
    shutil.copytree(runs / "shaky", runs / "damaged")
    DAMAGES["digit"].do(runs / "damaged")
    shutil.copytree(runs / "noisy", runs / "forged")
    FORGERIES["passed"].do(runs / "forged")
    tau2.export(runs / "noisy", root / "file")


def _broken(report: Any, status: str = "provider_error") -> Any:
    error = {"error_type": "Trouble", "error_message": "out of order", "traceback": ""}
    empty = {"traces": {}, "eval": None, "final_answer": None, "usage": {}}
    return {**report, **empty, "status": status, "error": error}


def make_banking(root: Path) -> None:
    """Make the run of the bank."""
    options = {"domain": "banking_knowledge@bm25_grep", "data_version": "1.0.1", "num_tasks": 4}
    tau2.run(**options, output=root / "runs" / "banking", **NOISY)


def commands_about(run: str, name: str) -> Iterator[list[str]]:
    """Yield the commands that show one run, a folder or a file, by its path."""
    for extra in ([], ["--json"]):
        yield ["show", run, *extra]
        yield ["score", run, *extra]
        yield ["comply", run, *extra]
        yield ["plan", run, "--difference", "10", *extra]
    yield ["show", run, "--failed"]
    yield ["show", run, "--sound"]
    yield ["tau2", "certify", run, "--partial", "--output", f"{name}.certificate.json"]


def commands_about_failures(run: str, tasks: list[tuple[str, int]]) -> Iterator[list[str]]:
    """Yield the commands that show single simulations."""
    for task, trial in tasks:
        yield ["show", run, task, str(trial)]
        yield ["explain", run, task, str(trial)]
    for task, trial in tasks[:1]:
        yield ["explain", run, task, str(trial), "--json"]
        yield ["show", run, task, str(trial), "--json"]


GATE_FILES = ["--markdown", "gate.md", "--junit", "gate.xml"]
GENERAL = [
    ["runs", "runs"],
    ["runs", "runs", "--json"],
    ["compare", "runs/gold", "runs/shaky"],
    ["compare", "runs/gold", "runs/shaky", "--json"],
    ["compare", "runs/noisy", "runs/outage"],
    ["compare", "runs/noisy", "runs/forged"],
    ["compare", "runs/noisy", "runs/forged", "--json"],
    ["gate", "runs/shaky", "--baseline", "runs/gold"],
    ["gate", "runs/gold", "--baseline", "runs/shaky", "--json"],
    ["gate", "runs/outage", "--baseline", "runs/noisy"],
    ["gate", "runs/shaky", "--baseline", "runs/gold", *GATE_FILES],
    ["tau2", "tasks", "--domain", "library"],
    ["tau2", "tasks", "renew_all_but_one", "--domain", "library"],
    ["tau2", "audit", "library"],
    ["tau2", "errata", "--domain", "airline"],
    ["comply", "--rules", "retail"],
]

HELP = [
    *([name] for name in ("demo", "new", "run", "runs", "tag", "show", "view", "compare", "gate")),
    *([name] for name in ("plan", "report", "export", "bundle", "sync", "replay-server")),
    *([name] for name in ("explain", "comply", "score", "tau2", "macs")),
    *(["tau2", name] for name in ("run", "play", "branch", "mcp", "audit", "errata", "certify")),
    *(["tau2", name] for name in ("verify", "tasks", "data")),
    *(["macs", name] for name in ("run", "rates", "score", "data")),
]


@cache
def words_of_the_original() -> frozenset[tuple[str, ...]]:
    """Return every few words in a row of published tasks and policies, which are not ours."""
    found: set[tuple[str, ...]] = set()
    for file in ensure_data_exists(verbose=0).rglob("*"):
        if file.suffix in (".json", ".md") and not file.name.startswith(("db", "tasks_full")):
            words = _bare(re.split(r"\s+|\\\\n", file.read_text(encoding="utf-8")))
            found |= {tuple(words[at : at + IN_A_ROW]) for at in range(len(words))}
    return frozenset(found)


def _bare(words: list[str]) -> list[str]:
    return [bare for word in words if (bare := re.sub(r"[^a-z0-9']", "", word.lower()))]


def without_words_of_the_original(line: str) -> str:
    """Replace what a published task or policy says: the repository holds none of its sentences."""
    parts = re.split(r"(\s+|\\\\n)", line)
    at = [number for number, part in enumerate(parts) if _bare([part])]
    words = [_bare([parts[number]])[0] for number in at]
    for first in range(len(words) - IN_A_ROW + 1):
        some = tuple(words[first : first + IN_A_ROW])
        if some in words_of_the_original() and sum(map(str.isalpha, some)) >= IN_A_ROW - 1:
            for number in at[first : first + IN_A_ROW]:
                parts[number] = "..."
    return re.sub(r"\.\.\.( +\.\.\.)+", "...", "".join(parts))


def output_of(arguments: list[str], root: Path) -> str:
    """Return what a command prints, with its exit code, in the steady form."""
    result = maseval(*arguments)
    text = result.stdout
    if "--json" in arguments and result.exit_code in (0, 1) and text.strip():
        text = "\n".join(
            steady_json(json.loads(line)) for line in text.splitlines() if line.strip()
        )
    return steady(
        f"$ maseval {' '.join(arguments)}\n{text}{result.stderr}exit {result.exit_code}\n", root
    )


def steady(text: str, root: Path) -> str:
    """Replace what is different each time."""
    text = text.replace(f"{root}{os.sep}", "")
    for pattern, word in VARYING:
        text = pattern.sub(word, text)
    text = re.sub(r"(?<=\S)  +", " ", re.sub(r"([━─═])\1+", r"\1", text))  # widths of columns
    lines = (without_words_of_the_original(line).rstrip() for line in text.splitlines())
    return "\n".join(lines) + "\n"


def steady_json(value: Any) -> str:
    """Return a value as JSON, without what is different each time."""
    return json.dumps(_without_times(value), indent=1, sort_keys=True, ensure_ascii=False)


def _without_times(value: Any) -> Any:
    match value:
        case dict():
            return {
                key: _without_times(each)
                for key, each in value.items()
                if not (_TIMES.search(str(key)) and not isinstance(each, dict | list))
            }
        case list():
            return [_without_times(each) for each in value]
        case float():
            return round(value, 6)
        case _:
            return value


def failures_of(run: str) -> list[tuple[str, int]]:
    """Return a failed trial of each domain."""
    shown = json.loads(maseval("show", run, "--json").stdout)
    found: dict[str, tuple[str, int]] = {}
    for each in shown["simulations"]:
        if each["outcome"] == "fail":
            found.setdefault(each["domain"], (f"{each['domain']}/{each['task_id']}", each["trial"]))
    return list(found.values())


def outputs(root: Path, runs: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the name of each output and its text; the working folder is ``root``."""
    for name in runs:
        run = f"runs/{name}" if (root / "runs" / name).is_dir() else "file/tau2-retail.json"
        about = list(commands_about(run, name))
        if name in ("noisy", "file", "banking"):
            about += commands_about_failures(run, failures_of(run))
        text = [output_of(each, root) for each in about]
        yield f"{name}.txt", "\n".join(text)
    if "banking" in runs:
        return
    general = [output_of(each, root) for each in GENERAL]
    general += [steady(Path(name).read_text(), root) for name in ("gate.md", "gate.xml")]
    yield "general.txt", "\n".join(general)
    yield "unfinished.txt", "\n".join(_unfinished(root))
    yield "help.txt", "\n".join(output_of([*each, "--help"], root) for each in HELP)
    page = index_of(report("runs/noisy", "page.html"))
    page["simulations"] = rows_of(page)
    yield "page.json", steady(steady_json(page), root)
    yield "frames.jsonl", steady("\n".join(_tables("runs/noisy")), root)


def _unfinished(root: Path) -> Iterator[str]:
    """Yield what is shown of the runs that came to nothing, and of the damaged one."""
    for name in (*UNFINISHED, "damaged"):
        # First: of a damaged run it logs a warning, once, which is no part of any output.
        page = index_of(report(f"runs/{name}", "page.html"))
        for command in ("show", "score"):
            yield output_of([*command.split(), f"runs/{name}"], root)
        ends = Counter(f"{row['status']}: {', '.join(row['labels'])}" for row in rows_of(page))
        yield steady(steady_json([page["results"], len(page["plots"]), ends]), root)


TABLES = ("runs", "simulations", "scores", "checks", "findings", "tool_calls")


def _tables(run: str) -> Iterator[str]:
    """Yield the rows of the tables of a run; messages are in its conversations."""
    for table in TABLES:
        for row in getattr(frames, table)(run):
            plain = {
                key: str(each) if isinstance(each, datetime) else each for key, each in row.items()
            }
            yield f"{table} " + json.dumps(
                _without_times(plain), sort_keys=True, ensure_ascii=False
            )
