"""The smallest domain that works: a kiosk that sells one kind of ticket."""

import json
from pathlib import Path
from typing import Any

from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.base import DB, ToolKitBase, ToolType, for_tasks, is_tool


class KioskDB(DB):
    sold: int


class KioskTools(ToolKitBase[KioskDB]):
    @is_tool(ToolType.WRITE)
    def sell(self, count: int) -> str:
        """Sell tickets.

        Args:
            count: How many.
        """
        if count < 1:
            raise ValueError(f"cannot sell {count} tickets")
        self.db.sold += count
        return "sold"

    @for_tasks
    def has_sold(self, count: int) -> bool:
        return self.db.sold == count


def task(task_id: str = "two", **criteria: Any) -> dict[str, Any]:
    selling = {"action_id": "0", "name": "sell", "arguments": {"count": 2}}
    met = {"env_type": "assistant", "func_name": "has_sold", "arguments": {"count": 2}}
    return {
        "id": task_id,
        "user_scenario": {"instructions": "Buy two tickets."},
        "evaluation_criteria": {"actions": [selling], "env_assertions": [met], **criteria},
    }


def kiosk(folder: Path, *tasks: dict[str, Any], name: str = "kiosk", **changes: Any) -> Domain:
    """A kiosk whose files are in ``folder``."""
    (folder / "db.json").write_text('{"sold": 0}')
    (folder / "policy.md").write_text("Sell tickets.")
    (folder / "tasks.json").write_text(json.dumps(tasks or [task()]))
    settings = {"db": KioskDB, "toolkit": KioskTools, "data_dir": folder, **changes}
    return Domain(name=name, **settings)
