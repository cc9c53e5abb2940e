"""A recorded value becomes a cell of its column's type, or null."""

from datetime import datetime

import pytest

from maseval.core.storage.redaction import Secrets
from maseval.frames.frame import cell_maker

cell = cell_maker(Secrets([]))


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("text", "as it is", "as it is"),
        ("text", {"a": [1, None]}, '{"a": [1, null]}'),
        ("text", "half \ud83d of a pair", "half ? of a pair"),
        ("integer", 3, 3),
        ("integer", 3.0, 3),
        ("integer", True, None),
        ("integer", "3", None),
        ("integer", 2**63, None),
        ("integer", float("nan"), None),
        ("number", 3, 3.0),
        ("number", 10**400, None),
        ("number", "NaN", None),
        ("boolean", False, False),
        ("boolean", 1, None),
        ("time", "2026-01-02T03:04:05.000006", datetime(2026, 1, 2, 3, 4, 5, 6)),
        ("time", "2026-01-02T03:04:05+02:00", datetime(2026, 1, 2, 1, 4, 5)),
        ("time", "yesterday", None),
        ("time", "0001-01-01T00:00:00+23:59", None),
    ],
)
def test_a_value_fits_or_is_null(kind, value, expected):
    found = cell(kind, value)

    assert found == expected
    assert type(found) is type(expected)


def test_null_stays_null():
    assert {cell(kind, None) for kind in ("text", "integer", "number", "boolean", "time")} == {None}
