"""State hashes of all 278 base tasks: when they begin, and after their reference solution.

The table protects a clone that has no recorded vectors beside it. Its rows say where they come
from: ``recorded`` from tau2-bench v0.2.0 itself, ``computed`` by this implementation after every
recorded vector passed. ``python -m tests.benchmark.tau2.figures VECTORS`` writes it anew.
"""

import json
import sys
from contextlib import suppress
from pathlib import Path

from maseval.benchmark.tau2.data_loader import ensure_data_exists, load_raw_tasks
from maseval.benchmark.tau2.domains import domain_named
from maseval.benchmark.tau2.world.world import World

TABLE = Path(__file__).with_name("figures.json")
DIGITS = 16


def hashes(world: World) -> list[str]:
    """Company and customer side, shortened to what tells two states apart."""
    both = (world.get_db_hash(), world.get_user_db_hash())
    return [text[:DIGITS] for text in both if text]


def figures(domain_name: str) -> dict[str, dict[str, list[str]]]:
    """The rows of a domain as this implementation works them out."""
    domain = domain_named(domain_name)
    folder = ensure_data_exists(verbose=0) / "domains" / domain.folder_name
    rows = {}
    for task in load_raw_tasks(domain):
        start = task.get("initial_state") or {}
        world = World(domain, folder)
        world.set_state(
            start.get("initialization_data"),
            start.get("initialization_actions"),
            start.get("message_history") or [],
        )
        row = {"begins": hashes(world)}
        for action in task["evaluation_criteria"]["actions"] or ():
            # As in the original, an action that fails is passed over.
            with suppress(Exception):
                world.call(
                    action["name"], action.get("requestor", "assistant"), action["arguments"]
                )
        rows[task["id"]] = {**row, "ends": hashes(world)}
    return rows


def recorded(vectors: Path) -> dict[str, dict[str, dict[str, list[str]]]]:
    """The rows that the original itself gave."""
    rows: dict[str, dict[str, dict[str, list[str]]]] = {}
    for record in json.loads((vectors / "tasks.json").read_text()):
        if record["task_set"] != record["domain"]:
            continue
        rows.setdefault(record["domain"], {})[record["task_id"]] = {
            name: [text[:DIGITS] for text in (part["agent_db_hash"], part["user_db_hash"]) if text]
            for name, part in (("begins", record["init"]), ("ends", record["gold_evaluator_way"]))
        }
    return rows


def main(vectors: Path) -> None:
    known = recorded(vectors)
    table = {}
    for domain in ("airline", "retail", "telecom"):
        table[domain] = {
            task: {**row, "source": "recorded" if task in known[domain] else "computed"}
            for task, row in figures(domain).items()
        }
    lines = (f"  {json.dumps(name)}: {_rows(rows)}" for name, rows in table.items())
    TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _rows(rows: dict[str, dict[str, object]]) -> str:
    return (
        "{\n"
        + ",\n".join(f"    {json.dumps(task)}: {json.dumps(row)}" for task, row in rows.items())
        + "\n  }"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
