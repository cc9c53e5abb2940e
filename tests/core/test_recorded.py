"""Records are read part by part, whatever somebody wrote."""

import pytest

from maseval.core.outcome import RecordedReport
from maseval.core.recorded import Part, Recorded, dict_of, list_of, mapping, number


class Point(Recorded):
    x = Part(number)
    y = Part(number, "second", "value")


class Drawing(Recorded):
    points = Part(list_of(Point))
    by_name = Part(dict_of(Point), "named")
    first = Part(Point, "named", "first")


@pytest.mark.parametrize("value", [None, [], "text", {"a": None}, {"a": "b"}, {"a": {"b": 3}}])
def test_a_missing_mapping_is_an_empty_one(value):
    assert mapping(value, "a", "b") == {}


def test_a_part_is_read_at_its_place_and_by_its_reader():
    drawing = Drawing(
        {"points": [{"x": 1}, {"second": {"value": 2}}], "named": {"first": {"x": 3}}}
    )

    assert [(each.x, each.y) for each in drawing.points] == [(1, None), (None, 2)]
    assert drawing.first.x == drawing.by_name["first"].x == 3


@pytest.mark.parametrize("wrong", [None, 3, "text", [1], {"points": 3, "named": [1]}])
def test_what_is_of_another_form_reads_as_nothing(wrong):
    drawing = Drawing(wrong)

    assert (drawing.points, drawing.by_name, drawing.first.x, drawing.first.y) == (
        [],
        {},
        None,
        None,
    )
    assert not drawing.first


def test_a_part_is_read_when_it_is_first_asked_for_and_once():
    read = []

    class Counted(Recorded):
        value = Part(read.append)

    record = Counted({"value": 1})
    assert read == []
    assert record.value is record.value is None
    assert read == [1]


@pytest.mark.parametrize("odd", [None, 3, "text", [], [3], {}, {"agents": 3}, {"error": []}])
def test_a_report_of_which_any_part_is_odd_can_be_asked_everything(odd):
    parts = ("task", "traces", "config", "usage", "eval", "error", "attempts", "labels")
    for part in parts:
        report = RecordedReport({"task_id": "1", "status": "success", part: odd})
        asked = [getattr(report, name) for name in dir(report) if not name.startswith("_")]
        assert len(asked) > 30
        assert report.key == ("", "1", 0)
