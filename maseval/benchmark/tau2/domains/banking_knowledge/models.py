"""The bank's database: 23 tables of records without a fixed form.

A record is a mapping whose values keep their JSON types; its keys, and their order, are what a tool
or a task wrote. So the tables are those of the other domains, with plain mappings in them.

After tau2-bench v1.0.1, src/tau2/domains/banking_knowledge/data_model.py (MIT, Sierra Research).
"""

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from maseval.benchmark.tau2.data.files import read_mapping
from maseval.benchmark.tau2.domains.base import DB, merge
from maseval.benchmark.tau2.world.state.copying import Memo, once, with_fields
from maseval.benchmark.tau2.world.state.records import (
    SharedTable,
    Table,
    TableState,
    canonical_json,
    freeze,
)
from maseval.data.folder import content_hash

_new = object.__new__

Row = dict[str, Any]
"""A record of the bank: whatever was written into it."""


class SharedRows(SharedTable[Any]):
    """The rows of one table as loaded."""

    def __init__(self, raw: Mapping[str, Row]) -> None:
        super().__init__(dict, raw)

    # A tool may change a row at any depth, so the copy is deep.
    def private(self, key: str) -> Row:
        return copy.deepcopy(self.raw[key])

    def record(self, key: str) -> Row:
        row: Row | None = self._records.get(key)
        if row is None:
            row = self._records[key] = freeze(self.raw[key])
        return row

    def canonical(self, record: Row) -> str:
        return canonical_json(record)


class _TableForm(BaseModel):
    """A table as a file has it; further keys are ignored."""

    data: dict[str, dict[str, Any]] = {}
    notes: str = ""


class BankTable(Table[Any]):
    """One environment's rows by id, and a note that no tool shows but the hash contains."""

    __slots__ = ("notes",)

    def __init__(self, shared: SharedTable[Any], notes: str = "") -> None:
        super().__init__(shared)
        self.notes = notes

    @classmethod
    def holding(cls, form: _TableForm) -> Self:
        """A table of its own with these rows."""
        table = cls(SharedRows({}), form.notes)
        table.update(form.data)
        return table

    def with_own(self, own: dict[str, Any]) -> "BankTable":
        table = _new(BankTable)
        table._shared, table.notes = self._shared, self.notes
        table._own, table._removed = own, set(self._removed)
        return table

    def twin(self) -> "BankTable":
        """The same table for another environment."""
        # Shared rows never change, so only this environment's own rows are copied.
        return self.with_own(copy.deepcopy(self._own) if self._own else {})

    def add(self, key: str, row: Row) -> bool:
        """Store a row under a new id; an id that is taken keeps its row."""
        # Ids are made from what a record says, so that saying it twice is the same record.
        if key in self:
            return False
        self[key] = row
        return True

    def overlay(self, update: Mapping[str, Any]) -> "BankTable":
        """The same table with values laid over it: what is shared and not touched stays shared."""
        form = _TableForm.model_validate(dict(update))
        # The copy keeps a merge from changing the rows of this table.
        table = self.with_own(copy.deepcopy(self._own))
        for key, row in form.data.items():
            table[key] = merge(table[key], row) if key in table else row
        # The form reads missing notes as empty, but an update without notes keeps the old ones.
        table.notes = form.notes if "notes" in update else self.notes
        return table

    def as_json(self) -> dict[str, Any]:
        """The table in the form of a file."""
        return {"data": {key: dict(row) for key, row in self.items()}, "notes": self.notes}

    def state(self) -> "BankTableState":
        return BankTableState(self._shared, self.changes(), self.notes)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        def validate(value: object) -> BankTable:
            return (
                value if isinstance(value, cls) else cls.holding(_TableForm.model_validate(value))
            )

        return core_schema.no_info_plain_validator_function(
            validate,
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda table: table.as_json()
            ),
        )


class BankTableState(TableState):
    """A table of the bank at one moment."""

    __slots__ = ("notes",)

    def __init__(
        self, shared: SharedTable[Any], changes: Mapping[str, str | None], notes: str
    ) -> None:
        super().__init__(shared, changes)
        self.notes = notes

    def __eq__(self, other: object) -> bool:
        same_notes = isinstance(other, BankTableState) and self.notes == other.notes
        return same_notes and super().__eq__(other)

    __hash__ = None

    def __str__(self) -> str:
        return f'{{"data": {super().__str__()}, "notes": {json.dumps(self.notes)}}}'


def _table() -> Any:
    return Field(default_factory=lambda: BankTable(SharedRows({})))


class BankingDB(DB):
    """The bank's tables, in the order of the original's."""

    users: BankTable = _table()
    accounts: BankTable = _table()
    debit_cards: BankTable = _table()
    referrals: BankTable = _table()
    credit_card_applications: BankTable = _table()
    user_discoverable_tools: BankTable = _table()
    user_discoverable_tool_calls: BankTable = _table()
    verification_history: BankTable = _table()
    credit_card_transaction_history: BankTable = _table()
    cash_back_disputes: BankTable = _table()
    bank_account_transaction_history: BankTable = _table()
    credit_card_accounts: BankTable = _table()
    agent_discoverable_tools: BankTable = _table()
    task_config: BankTable = _table()
    human_transfer_requests: BankTable = _table()
    transaction_disputes: BankTable = _table()
    credit_card_orders: BankTable = _table()
    debit_card_orders: BankTable = _table()
    credit_card_closure_reasons: BankTable = _table()
    credit_card_account_flags: BankTable = _table()
    credit_limit_increase_requests: BankTable = _table()
    payment_history: BankTable = _table()
    debit_card_disputes: BankTable = _table()

    @classmethod
    def load(cls, path: str | Path) -> Self:
        tables = _load_tables(Path(path), content_hash(str(path)))
        fresh = {name: BankTable(shared, notes) for name, (shared, notes) in tables.items()}
        return cls.model_validate(fresh)

    def twin(self, memo: Memo) -> Self:
        """An independent database in the same state; of most tables there is nothing to copy."""
        return with_fields(self, lambda table, memo: table.twin(), memo)

    def table(self, name: str) -> BankTable:
        table: BankTable = getattr(self, name)
        return table

    def overlay(self, update: Mapping[str, Any]) -> "BankingDB":
        """A database with values laid over this one's, table by table."""
        tables = {name: getattr(self, name) for name in type(self).model_fields}
        # Unknown names and wrong values go on to validation, which names the fault.
        laid = {
            name: tables[name].overlay(value)
            if name in tables and isinstance(value, Mapping)
            else value
            for name, value in update.items()
        }
        return type(self).model_validate(tables | laid)

    def get_statistics(self) -> dict[str, int]:
        names = {name: _COUNTED_AS.get(name, name) for name in type(self).model_fields}
        return {
            f"num_{counted}": len(self.table(name))
            for name, counted in names.items()
            if name not in _NOT_COUNTED
        }


_COUNTED_AS = {"credit_card_transaction_history": "credit_card_transactions"}
_NOT_COUNTED = {
    "bank_account_transaction_history",
    "task_config",
    "debit_card_orders",
    "debit_card_disputes",
}


@once(maxsize=8)
def _load_tables(path: Path, sha256: str) -> dict[str, tuple[SharedRows, str]]:
    raw = read_mapping(path, sha256)
    forms = {name: _TableForm.model_validate(table) for name, table in raw.items()}
    return {name: (SharedRows(form.data), form.notes) for name, form in forms.items()}
