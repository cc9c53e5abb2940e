"""Make the sample of the contract that lies in the repository, from the whole contract.

    python -m scripts.contract_sample CONTRACT_FOLDER

The contract itself does not belong into the repository. The sample holds facts only: calls and
their arguments, hashes of answers and of end states, and rewards; no texts that tools or people
wrote. An answer is made again when an evaluation is replayed, and must have the recorded hash.
"""

import gzip
import hashlib
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from maseval.benchmark.tau2.data_loader import ensure_data_exists, load_raw_task
from maseval.benchmark.tau2.domains import Domain, domain_named
from maseval.benchmark.tau2.world.world import World

Record = dict[str, Any]

SAMPLE = Path(__file__).parents[1] / "tests" / "contract" / "sample"
DOMAINS = ("airline", "retail", "telecom")
# One in so many: the sample stays under a megabyte, and a replay of it takes seconds.
EVERY = {"tool_calls": 2, "evaluations": 1}
VERDICT = ("reward", "reward_breakdown", "db_check")
_STEP = ("step", "requestor", "tool", "arguments", "error", "exc_type")
_HASHES = ("agent_db_hash", "user_db_hash")
# Some arguments are whole sentences of a task.
_SENTENCE = re.compile(r'"(?:[^" ]+ ){8}')


def sample_calls(sequences: Iterable[Record]) -> Iterator[Record]:
    """Yield sequences of calls, with the hash of each answer in its place."""
    for each in sequences:
        yield {
            **_without_nothing(each),
            "task_id": each["task_id"],
            "steps": [*map(_step, each["steps"])],
        }


def _step(step: Record) -> Record:
    kept = {key: step[key] for key in (*_STEP, *_HASHES) if step.get(key) is not None}
    return {**kept, "content": None, "content_sha256": _sha256(step["content"])}


def sample_tasks(tasks: Iterable[Record]) -> Iterator[Record]:
    """Yield what is recorded of each task, with the hashes of answers only."""
    for each in tasks:
        way = each["gold_get_response_way"]
        steps = [{**step, "content": None} for step in way["steps"]]
        yield {**each, "gold_get_response_way": {**way, "steps": steps}}


def sample_evaluations(domain: Domain, folder: Path, records: Iterable[Record]) -> Iterator[Record]:
    """Yield evaluations whose answers can be made again: by far most of them."""
    short = map(_short_evaluation, records)
    return (each for each in short if fill_in(domain, folder, each) is not None)


def _short_evaluation(record: Record) -> Record:
    simulation, verdict = record["simulation"], record["reward_info"]
    return {
        **{key: record[key] for key in ("id", "task_id", "variant", "evaluation_type")},
        "task_override": record["task_override"],
        "exception": record["exception"] and {"type": record["exception"]["type"], "message": ""},
        "reward_info": verdict and {key: verdict[key] for key in VERDICT},
        "simulation": {
            **{key: simulation[key] for key in ("id", "task_id", "termination_reason")},
            "messages": [*map(_message, simulation["messages"])],
        },
    }


def _message(message: Record) -> Record:
    kept = {key: message[key] for key in ("id", "role", "requestor", "error") if key in message}
    if message["role"] == "tool":
        return {**kept, "content_sha256": _sha256(message["content"])}
    return {**kept, "content": message["content"], "tool_calls": message["tool_calls"]}


def fill_in(domain: Domain, folder: Path, record: Record) -> Record | None:
    """Return an evaluation with its answers; None if one of them is not what was recorded."""
    world, waiting, messages = World(domain, folder), {}, []
    start = load_raw_task(domain, record["task_id"]).get("initial_state") or {}
    world.set_state(start.get("initialization_data"), start.get("initialization_actions"), [])
    for index, message in enumerate(record["simulation"]["messages"]):
        each = {**message, "turn_idx": index, "timestamp": "2025-01-01T00:00:00"}
        for call in message.get("tool_calls") or ():
            waiting[call["id"]] = world.respond(call)["content"]
        if message["role"] == "tool":
            each["content"] = waiting.pop(message["id"], None)
            if _sha256(each["content"]) != each.pop("content_sha256"):
                return None
        messages.append(each)
    return {**record, "simulation": {**record["simulation"], "messages": messages}}


def read_sample(path: Path) -> list[Record]:
    """Return the records of a file of the contract or of the sample."""
    if path.suffix != ".gz":
        return list(json.loads(path.read_text(encoding="utf-8")))
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _write(name: str, records: Iterable[Record]) -> None:
    every = (json.dumps(each, separators=(",", ":")) for each in records)
    lines = [each for each in every if not _SENTENCE.search(each)]
    path = SAMPLE / f"{name}.jsonl.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("\n".join(lines).encode(), 9, mtime=0))
    print(f"{path.name}: {len(lines)} records, {path.stat().st_size // 1024} KiB")


def _without_nothing(record: Mapping[str, Any]) -> Record:
    return {key: value for key, value in record.items() if value is not None}


def _sha256(text: str | None) -> str:
    return hashlib.sha256((text or "").encode()).hexdigest()


def main(contract: Path) -> None:
    """Write all files of the sample."""
    data = ensure_data_exists(verbose=0)
    tasks = read_sample(contract / "tasks.json")
    _write("tasks", sample_tasks(each for each in tasks if each["domain"] in DOMAINS))
    for name in DOMAINS:
        domain, folder = domain_named(name), data / "domains" / name
        calls = read_sample(contract / "tool_calls" / f"{name}.jsonl.gz")
        _write(f"tool_calls_{name}", sample_calls(calls[:: EVERY["tool_calls"]]))
        verdicts = read_sample(contract / "evaluations" / f"{name}.jsonl.gz")
        some = verdicts[:: EVERY["evaluations"]]
        _write(f"evaluations_{name}", sample_evaluations(domain, folder, some))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
