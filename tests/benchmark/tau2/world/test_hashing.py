"""The hash of a database, taken up before the first change, is that of its whole text."""

import hashlib
import json
import random
from typing import Any

import pytest

from maseval.benchmark.tau2.world.state.hashing import state_hash
from maseval.benchmark.tau2.world.state.records import Record, SharedTable, Table


class Book(Record):
    title: str
    copies: int = 1


def tables_of(*sizes: int) -> dict[str, Any]:
    """Return tables of so many records each, of which the keys leave room for others."""
    return {
        f"table{number}": Table(
            SharedTable(Book, {f"k{key:03}": {"title": f"b{key}"} for key in range(1, 2 * size, 2)})
        )
        for number, size in enumerate(sizes)
    }


def hash_of(tables: dict[str, Any]) -> str:
    return state_hash({name: table.state() for name, table in tables.items()})


def hash_of_whole_text(tables: dict[str, Any]) -> str:
    content = {
        name: {key: record.model_dump() for key, record in table.items()}
        for name, table in tables.items()
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@pytest.mark.parametrize("sizes", [(0,), (1,), (3, 0, 5)])
def test_a_database_as_loaded(sizes):
    tables = tables_of(*sizes)
    assert hash_of(tables) == hash_of_whole_text(tables) == hash_of(tables)


@pytest.mark.parametrize("seed", range(10))
def test_any_change_to_any_table(seed):
    luck = random.Random(seed)
    as_loaded = tables_of(*luck.choices([0, 1, 2, 100], k=3))
    for _ in range(5):  # environments over the same loaded tables
        tables = {name: Table(table.shared) for name, table in as_loaded.items()}
        for _ in range(luck.randrange(4)):
            table = luck.choice([*tables.values()])
            key = f"k{luck.randrange(-1, 202):03}"
            if key not in table:
                table[key] = Book(title="new")
            elif luck.random() < 0.5:
                del table[key]
            else:
                table[key].copies += 1
        assert hash_of(tables) == hash_of_whole_text(tables) == hash_of(tables)


def test_other_values_between_the_tables():
    tables = tables_of(40, 40)
    tables["table1"]["k001"].copies = 7
    state = {name: table.state() for name, table in tables.items()} | {"table00": '"between"'}
    text = f'{{"table0": {state["table0"]}, "table00": "between", "table1": {state["table1"]}}}'
    assert state_hash(state) == hashlib.sha256(text.encode()).hexdigest()
