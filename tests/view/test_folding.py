"""What is folded is the same when it is unfolded, and says nothing twice."""

import json

import pytest

from maseval.view.folding import fold
from tests.app.viewing.test_export import unfold

LONG = "a text of more than forty characters, which is worth a reference"
RECORD = {"name": LONG, "numbers": [1, 2, 3], "inner": {"more": [LONG, None, "short"]}}


@pytest.mark.parametrize(
    "value",
    [
        None,
        LONG,
        [LONG, LONG],
        [RECORD, {"one": RECORD, "other": [RECORD]}],
        [[1, 1.0, True, "1" * 40], [True, 1, 1.0, "1" * 40], [1, 1.0, True, "1" * 40]],
        [{"a": 1, "b": [LONG]}, {"b": [LONG], "a": 1}],
        [{"$": 0}, {"$": {"$": 1}}, {"$": LONG, "b": LONG}, {"$": LONG, "b": LONG}],
    ],
)
def test_what_is_folded_is_unfolded_as_it_was(value):
    assert json.dumps(unfold(json.loads(json.dumps(fold(value))))) == json.dumps(value)


def test_what_occurs_again_is_written_once():
    written = json.dumps(fold([RECORD, {"one": RECORD}, [RECORD["inner"], LONG]]))
    assert written.count(LONG) == written.count('"numbers"') == written.count('"short"') == 1


def test_what_occurs_once_or_is_short_stays_in_its_place():
    value = [LONG, ["short", "short"]]
    assert fold(value) == {"shared": [], "value": value}
