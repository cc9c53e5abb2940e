import gzip
import json

import pytest

from maseval.benchmark.tau2.data import wheel
from maseval.benchmark.tau2.data.files import MANIFEST
from maseval.benchmark.tau2.data.wheel import RECIPES, unzipped, without_final_newline


def test_every_file_of_the_manifest_has_a_recipe_and_no_other():
    assert set(RECIPES) == set(MANIFEST.files)


def test_only_one_final_newline_is_dropped():
    assert without_final_newline(b"text\n\n") == b"text\n"
    assert without_final_newline(b"text") == b"text"


def test_retail_tasks_are_written_with_four_spaces_and_ascii_only():
    made = RECIPES["domains/retail/tasks.json"].made('[{"id": "é"}]\n'.encode())
    assert made == b'[\n    {\n        "id": "\\u00e9"\n    }\n]'


def test_only_the_airline_task_1_loses_its_later_assertions():
    tasks = [
        {"id": number, "evaluation_criteria": {"nl_assertions": ["a", "b", "c"]}}
        for number in ("0", "1", "2")
    ]
    made = json.loads(RECIPES["domains/airline/tasks.json"].made(json.dumps(tasks).encode()))
    kept = [task["evaluation_criteria"]["nl_assertions"] for task in made]
    assert kept == [["a", "b", "c"], ["a"], ["a", "b", "c"]]


def test_the_base_tasks_of_telecom_are_picked_from_the_full_list_in_order():
    full = gzip.compress(json.dumps([{"id": n} for n in range(2285)]).encode())
    picked = json.loads(RECIPES["domains/telecom/tasks.json"].made(full))
    assert len(picked) == len({task["id"] for task in picked}) == 114
    assert [task["id"] for task in picked[:3]] == [34, 11, 8]
    assert picked[-1]["id"] == 2284


def test_a_member_that_unpacks_to_more_than_the_limit_is_refused(monkeypatch):
    monkeypatch.setattr(wheel, "MEMBER_LIMIT", 1000)
    assert unzipped(gzip.compress(b"x" * 1000)) == b"x" * 1000
    with pytest.raises(ValueError, match="more than 1,000 bytes"):
        unzipped(gzip.compress(b"x" * 1001))
