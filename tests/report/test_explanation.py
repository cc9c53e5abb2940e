import pytest

from maseval.core.outcome import RecordedReport
from maseval.report.checks import shown_explanation
from tests.report.builders import report

GIVEN = {
    "summary": "failed at DB",
    "message": 4,
    "label": {"name": "agent: wrong arguments", "rule": "wrong arguments", "evidence": ["seen"]},
    "fields": [
        {"place": "orders[#W1].status", "expected": '"pending"', "found": "null", "message": 4}
    ],
    "sections": [{"title": "Assertions", "lines": ["NOT MET: it is paid"]}],
}


def test_an_explanation_keeps_its_label_fields_and_words():
    shown = shown_explanation(RecordedReport(report(explanation=GIVEN)))

    assert shown["summary"] == "failed at DB"
    assert shown["message"] == 4
    assert shown["label"]["evidence"] == ["seen"]
    assert shown["fields"][0] == {
        **GIVEN["fields"][0],
        "call": None,
        "remedy": None,
    }
    assert shown["sections"] == GIVEN["sections"]


@pytest.mark.parametrize("odd", [None, {}, 3, "text", [], [None], {"fields": 3, "label": "x"}])
def test_an_explanation_of_an_odd_shape_does_no_harm(odd):
    assert shown_explanation(RecordedReport(report(explanation=odd))) is None


def test_whatever_stands_in_it_becomes_text():
    odd = {"summary": 3, "sections": [{"title": None, "lines": [{"a": 1}, None]}, "text"]}

    shown = shown_explanation(RecordedReport(report(explanation=odd)))

    assert shown["summary"] == "3"
    assert shown["sections"][0]["lines"] == ['{"a": 1}', "null"]
