import json

import pytest

from maseval.report.index import pack
from tests.report.reading import unpack

ROWS = 6


@pytest.mark.parametrize(
    "column, forms",
    [
        (["pass"] * ROWS, {"values"}),
        (["pass", "fail"] * 3, {"values", "places"}),
        ([0.25, None, 3, 4.5, 5, 6], {"each"}),
        ([(), ("a", "b"), (), (), (), ()], {"values", "places"}),
    ],
)
def test_a_column_is_written_in_the_form_that_fits_it_and_read_as_it_was(column, forms):
    packed = json.loads(json.dumps(pack({"it": column})))

    assert packed["columns"]["it"].keys() == forms
    assert unpack(packed) == {"it": json.loads(json.dumps(column))}


def test_no_rows_and_no_columns_are_read_as_they_were():
    assert unpack(pack({"it": []})) == {"it": []}
    assert unpack(pack({})) == {}
