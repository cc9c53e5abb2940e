"""Reading back what a report page holds."""

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any


def index_of(path: Path) -> dict[str, Any]:
    """What the page knows at once."""
    found = re.search(r'id="index">(.*?)</script>', path.read_text(), re.S)
    return json.loads(found[1])


def unpack(packed: dict[str, Any]) -> dict[str, Any]:
    """Columns as the page's script unpacks them."""
    return {name: _column(each, packed["length"]) for name, each in packed["columns"].items()}


def _column(column: dict[str, Any], length: int) -> list[Any]:
    if "each" in column:
        return list(column["each"])
    values, places = column["values"], column.get("places")
    return [values[0]] * length if places is None else [values[place] for place in places]


def rows_of(index: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each simulation of an index."""
    columns = unpack(index["simulations"])
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def packets_of(path: Path) -> list[list[dict[str, Any]]]:
    """The details, by task."""
    found = re.findall(r'class="packet">(.*?)</script>', path.read_text(), re.S)
    packets = [json.loads(gzip.decompress(base64.b64decode(each))) for each in found]
    return [[{**packet["common"], **trial} for trial in packet["trials"]] for packet in packets]
