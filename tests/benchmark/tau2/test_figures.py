"""All 278 base tasks begin and end in the states of the table."""

import json

import pytest

from tests.benchmark.tau2.figures import TABLE, figures

pytestmark = [pytest.mark.data]

SIZES = {"airline": 50, "retail": 114, "telecom": 114}


@pytest.mark.parametrize("domain", SIZES)
def test_every_base_task_begins_and_ends_as_in_the_table(domain, tau2_data):
    table = json.loads(TABLE.read_text())[domain]
    ours = figures(domain)

    wrong = [
        task
        for task, row in table.items()
        if ours.get(task) != {k: row[k] for k in ("begins", "ends")}
    ]

    assert len(table) == SIZES[domain]
    assert not wrong
    assert ours.keys() == table.keys()


def test_most_rows_were_recorded_from_the_original():
    sources = [
        row["source"] for rows in json.loads(TABLE.read_text()).values() for row in rows.values()
    ]

    assert sources.count("recorded") == 166
    assert len(sources) == 278
