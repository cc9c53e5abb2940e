"""Base of both sides' tools: each works on one of two databases that belong together."""

from collections.abc import Mapping
from typing import Any

from maseval.benchmark.tau2.domains.base import DBT, ToolKitBase


class CoupledTools(ToolKitBase[DBT]):
    """Tools whose database the other side's may point at; ``is_coupled`` says that it does."""

    is_coupled = False

    def update_db(self, update_data: Mapping[str, Any] | None = None) -> None:
        """Lay values over the database; the new one is coupled again when the sides are synced."""
        super().update_db(update_data)
        self.is_coupled = False
