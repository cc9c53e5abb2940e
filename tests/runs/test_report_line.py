"""A report without its traces says what the whole report says."""

import json

import pytest
from pydantic_core import from_json

from maseval.core.outcome import RecordedReport
from maseval.core.storage.records import seal_record
from maseval.runs.report_line import report_record, skim_report
from tests.browser.hostile import PAYLOADS, hostile_reports
from tests.report.builders import broken, simulated


def line_of(report):
    return seal_record(report_record(report, "shared")) + b"\n"


def with_traces(**traces):
    return {**simulated("0"), "traces": traces}


ENVIRONMENT = {"name": "env", "simulation": {"termination_reason": "user_stop", "messages": []}}
NESTED = {"config": {"a": 1}, "traces": {"b": 2}}
REPORTS = {
    "usual": simulated("0", ended="max_steps"),
    "failed": broken("0"),
    "no traces": with_traces(),
    "no environment": with_traces(environment=None, user={"termination_reason": "max_turns"}),
    "traces with a config": with_traces(agents={"a": NESTED, "b": NESTED}, environment=ENVIRONMENT),
    "conversation": with_traces(agents={}, environment=ENVIRONMENT),
    "error with traces": {**with_traces(environment=ENVIRONMENT), "error": {"x": 1, **NESTED}},
    "config with a config": {**with_traces(environment=ENVIRONMENT), "config": {"x": 1, **NESTED}},
    "another environment": with_traces(
        agents={"a": {"x": 1, "environment": {"n": 1, "simulation": {"termination_reason": "no"}}}},
        environment=ENVIRONMENT,
    ),
    "a simulation elsewhere": with_traces(
        environment={"name": "env", "deeper": {"x": 1, **ENVIRONMENT}}
    ),
    "an end after the messages": with_traces(
        environment={"name": "env", "simulation": {"messages": [], "termination_reason": "late"}}
    ),
    "words that look like keys": with_traces(
        agents={"a": {"said": '}, "config": {"x": 1}, "environment": {"simulation": {'}},
        environment=ENVIRONMENT,
    ),
    "half a character": with_traces(environment=ENVIRONMENT, user={"said": "\ud83d"}),
    "half a character in a task": {
        **with_traces(environment=ENVIRONMENT),
        "task": {"query": "\ude00", "metadata": {}},
    },
    "numbers": {
        **with_traces(environment=ENVIRONMENT),
        "usage": {"a": [0.1 + 0.2, 5e-324, 1.7976931348623157e308, -0.0, 10**40, 2**63, 1e22]},
    },
    **{name: hostile_reports(text)[0] for name, text in PAYLOADS.items()},
}


@pytest.mark.parametrize("loads", [json.loads, from_json])
@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_what_is_skimmed_is_what_the_whole_line_says(report, loads):
    line = line_of(report)
    whole = json.loads(line)
    found = skim_report(line, loads)

    if found is not None:
        assert RecordedReport(found).termination == RecordedReport(whole).termination
        assert [*found] == [*whole]
        assert {**found, "traces": None} == {**whole, "traces": None}


@pytest.mark.parametrize("name", ["no environment", "conversation", "words that look like keys"])
def test_a_usual_line_is_not_read_whole(name):
    assert skim_report(line_of(REPORTS[name])) is not None


@pytest.mark.parametrize("line", [b"", b"{}", b'{"kind": "closed"}', b', "traces": {, "config": {'])
def test_what_is_no_report_is_left_to_others(line):
    assert skim_report(line) is None
