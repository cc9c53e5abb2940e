"""Results as plain dictionaries."""

import json
from dataclasses import dataclass

from maseval.stats import compare, compare_all, compatibility, summarise
from maseval.stats.result import Result
from maseval.stats.trials import Trials
from tests.stats.made_up import run

RUNS = {"a": run([4, 3, 0, 2]), "b": run([4, 4, 1, 4]), "c": run([0, 0, 1, 2])}


@dataclass(frozen=True)
class Nested(Result):
    """A result with everything a result may hold."""

    counts: dict[str, Trials]
    rows: list["Nested"]
    pair: tuple[float, None]


def test_nested_results_become_dictionaries_and_lists():
    inner = Nested({}, [], (0.5, None))

    assert Nested({"x": Trials(4, 1)}, [inner], (1.0, None)).to_dict() == {
        "counts": {"x": {"total": 4, "passed": 1}},
        "rows": [{"counts": {}, "rows": [], "pair": [0.5, None]}],
        "pair": [1.0, None],
    }


def test_every_result_can_be_written_as_json():
    results = [
        summarise(RUNS["a"], planned=5),
        compare(RUNS["a"], RUNS["b"]),
        compare_all(RUNS),
        compatibility({"rules": 1}, {"rules": 2}),
    ]
    for result in results:
        written = json.loads(json.dumps(result.to_dict(), allow_nan=False))
        assert written == result.to_dict()
