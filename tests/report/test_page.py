from typing import Any

import pytest

from maseval.core.exceptions import ConfigurationError
from maseval.report.index import Overview
from maseval.report.page import Page, build_page
from tests.report.builders import broken, report, simulated
from tests.report.reading import rows_of


def names_of(page: Page) -> list[tuple[str, str]]:
    tasks = page.index["tasks"]
    return [(tasks[row["task"]]["id"], row["trial"]) for row in rows_of(page.index)]


def test_tasks_and_trials_stand_in_reading_order_whatever_the_order_of_the_reports():
    page = build_page([report("10", 1), report("9", 0), report("10", 0), report("x2", 0)], "title")
    assert names_of(page) == [("9", "0"), ("10", "0"), ("10", "1"), ("x2", "0")]


def test_equal_ids_of_two_domains_are_two_tasks():
    page = build_page([report("1", domain="retail"), report("1", domain="airline")], "title")
    assert [task["domain"] for task in page.index["tasks"]] == ["airline", "retail"]
    assert len(list(page.packets())) == 2


def test_the_same_trial_twice_is_shown_twice():
    page = build_page([report("1", 0), report("1", 0), report("1", 0)], "title")
    assert [trial for _, trial in names_of(page)] == ["0", "0-2", "0-3"]


def test_a_packet_holds_the_details_of_its_tasks_trials_in_order():
    page = build_page([broken("1", 1), simulated("1", 0, domain=None)], "title")
    (packet,) = page.packets()
    assert [sorted(detail.keys() & {"error", "messages"}) for detail in packet["trials"]] == [
        ["messages"],
        ["error"],
    ]
    assert packet["names"] == ["0", "1"]


def test_a_key_in_settings_or_details_does_not_reach_the_page():
    models = {"agent_model": {"model_id": "http://me:canary-1@localhost/v1"}}
    error = {"error_type": "AgentError", "details": {"api_key": "canary-2", "seen": 3}}
    page = build_page([broken(error=error, config={"models": models})], "title")
    shown = str([page.index, *page.packets()])
    assert "canary" not in shown
    assert "seen" in shown


def test_how_it_ended_falls_back_on_the_status():
    finished = [simulated(), simulated(repeat=1, ended=None), broken("0", 2, domain="retail")]
    page = build_page(finished, "title")
    ended = [row["ended"] for row in rows_of(page.index)]
    assert ended == ["user_stop", "success", "agent_error"]


def test_labels_of_a_report_can_be_filtered_by():
    page = build_page([report(labels=["agent: missing write"]), report("t2")], "title")
    assert [row["labels"] for row in rows_of(page.index)] == [("agent: missing write",), ()]


def test_without_a_summary_success_is_shown_for_each_domain_and_overall():
    finished = [
        report("1", domain="a"),
        report("1", domain="b", passed=False),
        broken("2", domain="b"),
    ]
    rows = build_page(finished, "title").index["results"]["rows"]
    assert [(row["name"], row["counts"], row["measures"][0]["value"]) for row in rows] == [
        ("a", [1, 1, 1], 1.0),
        ("b", [2, 2, 2], 0.0),
        ("all", [3, 3, 3], pytest.approx(1 / 3)),
    ]


def test_the_summary_that_is_given_is_the_one_shown():
    summary = {"rows": [{"name": "all", "tasks": 1, "pass^1": {"value": 0.5}}], "notes": []}
    results = build_page([report()], "title", Overview(summary)).index["results"]
    assert results["measures"] == ["pass^1"]


def test_no_reports_make_an_empty_page():
    page = build_page([], "title")
    assert (rows_of(page.index), list(page.packets())) == ([], [])


@pytest.mark.parametrize("wrong", ["text", None, {"status": "success"}])
def test_what_is_no_report_is_named_with_its_place(wrong):
    with pytest.raises(ConfigurationError, match=r"reports\[1\] is .* read_reports"):
        build_page([report(), wrong], "title")


@pytest.mark.parametrize("odd", ["missing", None, 3, "text", [], [None], {"x": 1}])
@pytest.mark.parametrize("part", sorted(report().keys() - {"task_id"}))
def test_a_part_that_is_missing_or_of_an_odd_shape_does_no_harm(part, odd):
    given = {**simulated(), part: odd}
    if odd == "missing":
        del given[part]
    page = build_page([given], "title")
    assert len(rows_of(page.index)) == len(list(page.packets())) == 1


def test_what_all_trials_of_a_task_are_about_is_kept_once():
    (packet,) = build_page([simulated("1", trial) for trial in range(3)], "title").packets()
    assert "task" in packet["common"]
    assert not any("task" in trial for trial in packet["trials"])


class Incomparable:
    def __eq__(self, other: Any) -> None:
        raise ValueError("the truth of an array is ambiguous")


@pytest.mark.parametrize("odd", ["another query", Incomparable()])
def test_a_trial_whose_task_reads_otherwise_keeps_its_own(odd):
    other = {**simulated("1", 1), "task": {"query": odd, "metadata": {"domain": "retail"}}}
    (packet,) = build_page([simulated("1", 0), other], "title").packets()
    assert ["task" in trial for trial in packet["trials"]] == [False, True]
