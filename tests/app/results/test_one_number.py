"""One number of a run, wherever it is shown, whatever became of its simulations."""

import json
import re
from typing import Any, NamedTuple

import pytest

from maseval import frames
from maseval.app.comparing.gate import IncompleteRunError
from maseval.app.results.finding import open_recording
from maseval.app.sharing.sync import _tracked_run
from maseval.app.viewing.reader import BenchmarkReader
from maseval.commands import compare, gate, report, runs, show, tau2
from maseval.runs import RunFolder
from tests.cli.commandline import maseval
from tests.report.reading import index_of
from tests.view.builders import viewer

COST = {"agents": {"a": {"cost": 0.5, "input_tokens": 100}}}


class Number(NamedTuple):
    """pass^1 over the ``verdicts`` of ``planned``, and what the others can make of it."""

    value: float
    verdicts: int
    planned: int
    worst: float
    best: float

    @classmethod
    def of(cls, found: dict[str, Any], verdicts: int, planned: int) -> "Number":
        value = found["value"]
        ends = (found.get(end, value) for end in ("worst", "best"))
        return cls(value, verdicts, planned, *ends)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A complete run of the library domain: 12 tasks, some of which fail."""
    folder = tmp_path_factory.mktemp("whole") / "whole"
    args = {"error_rate": 0.3}
    tau2.run(domain="library", agent="noisy", agent_args=args, output=folder)
    return folder


def broken(recorded, status):
    """The report of the same simulation, ended by an error before anything was said."""
    error = {"error_type": "Trouble", "error_message": "out of order", "traceback": ""}
    empty = {"traces": {}, "eval": None, "final_answer": None, "usage": COST}
    return {**recorded, **empty, "status": status, "error": error}


def provider_outage(reports):
    return [*(broken(each, "provider_error") for each in reports[:5]), *reports[5:]]


CASES = {
    "complete": lambda reports: reports,
    "stopped": lambda reports: reports[:5],
    "quota": lambda reports: [*reports[:4], broken(reports[4], "quota_exhausted")],
    "provider outage": provider_outage,
    "resumed": lambda reports: [*provider_outage(reports), *reports[:5]],
    "every way to fail": lambda reports: [
        *(
            broken(each, status)
            for each, status in zip(
                reports,
                ("agent_error", "task_timeout", "user_error", "setup_failed", "worker_died"),
                strict=False,
            )
        ),
        *reports[5:10],
    ],
}


@pytest.fixture(params=CASES)
def case(request, whole, tmp_path):
    """A run in the folder ``runs/case``, of which this is the path."""
    recorded = RunFolder.read(whole)
    with RunFolder.open(tmp_path / "runs" / "case", dict(recorded.config.values)) as folder:
        for each in CASES[request.param](list(recorded.reports())):
            folder.append(each)
    return tmp_path / "runs" / "case"


def finish(case):
    """End the session as a run does, which writes the number down for the list of runs."""
    with RunFolder.open(case, dict(RunFolder.read(case).config.values)) as folder:
        overall = show(case, explain=False).summary.overall
        folder.note_score(overall.pass_1, overall.verdicts)


def test_every_command_states_the_same_number_and_range(case, whole, tmp_path):
    finish(case)
    overall = show(case, explain=False).summary.overall
    shown = Number.of(overall.pass_hat[1].in_brief(), overall.verdicts, overall.planned)

    (score,) = tau2.score([case])
    certified = tau2.certify(case, partial=True).certificate.content["numbers"]["library"]
    ends = certified["range"] or [certified["pass_hat_k"]["pass^1"]] * 2
    (row,) = index_of(report(case, tmp_path / "page.html", explain=False))["results"]["rows"]
    (listed,) = runs(case.parent)
    (frame,) = frames.runs(case)
    (viewed,) = viewer(case.parent, reader=BenchmarkReader()).get("/api/runs").json()["runs"]
    with _tracked_run(open_recording(case), explain=False) as sent:
        tracked = sent.metrics
    as_json = score.to_dict()

    assert {
        "score": Number.of(as_json["pass^1"], as_json["verdicts"], as_json["planned"]),
        "certify": Number(
            certified["pass_hat_k"]["pass^1"],
            *(certified["verdicts"], certified["simulations"]),
            *ends,
        ),
        "report": Number.of(row["measures"][0], row["counts"][2], row["counts"][1]),
        "runs": Number.of(listed.pass_1, listed.verdicts, listed.planned),
        "frames": Number(
            *(frame["pass_1"], frame["verdicts"], frame["planned"]),
            *(frame["pass_1_worst"], frame["pass_1_best"]),
        ),
        "viewer": Number.of(
            viewed["pass_1"], viewed["pass_1"]["verdicts"], viewed["pass_1"]["planned"]
        ),
        "trackers": Number(
            *(tracked["pass_hat_1"], tracked["verdicts"], shown.planned),
            tracked.get("pass_hat_1_worst", tracked["pass_hat_1"]),
            tracked.get("pass_hat_1_best", tracked["pass_hat_1"]),
        ),
    } == dict.fromkeys(
        ("score", "certify", "report", "runs", "frames", "viewer", "trackers"),
        pytest.approx(shown),
    )
    complete = shown.verdicts == shown.planned
    assert complete == (listed.state == "complete") == sent.complete == (shown.worst == shown.best)


def test_every_text_says_how_many_have_a_verdict(case, whole, tmp_path):
    view = show(case, explain=False).summary
    sentence = re.search(r"\d+ of 12 simulations have a verdict.*all pass\.", view.method)
    if view.overall.verdicts == view.overall.planned:
        assert sentence is None
        assert not compare([whole, case]).incomplete
        assert gate(case, whole).verdict != "worse"
        return
    assert sentence is not None
    words = sentence[0]

    found = compare([whole, case])
    with pytest.raises(IncompleteRunError) as refused:
        gate(case, whole)
    (score,) = tau2.score([case])
    page = index_of(report(case, tmp_path / "page.html", explain=False))["results"]["notes"]
    numbers = re.sub(r" \(.*?\)", "", words)

    finish(case)
    listed = " ".join(maseval("runs", case.parent).stdout.split())
    assert f"of {view.overall.verdicts}/12 verdicts, " in listed and "incomplete" in listed
    assert found.incomplete[0] == f"case: {words}"
    assert words.rstrip(".") in str(refused.value)
    assert any(words in note for note in page)
    assert re.sub(r" \(.*?\)", "", score.shortfall) == numbers
    assert numbers in tau2.certify(case, partial=True).certificate.text()
    assert gate(case, whole, allow_incomplete=True).verdict != "worse"
    assert maseval("gate", case, "--baseline", whole).exit_code == 2


def test_a_provider_that_was_down_makes_no_run_worse(case, whole):
    found = compare([whole, case])

    assert found.two.main.difference == (0 if "agent_error" not in statuses(case) else -1 / 6)


def statuses(case):
    return set(RunFolder.read(case).recorded.values())


def test_cost_and_tokens_are_those_of_every_attempt(case):
    lines = map(json.loads, (case / "log.jsonl").read_text().splitlines())
    paid = sum(each.get("usage") == COST for each in lines)
    view = show(case, explain=False).summary
    (frame,) = frames.runs(case)
    index = viewer(case.parent, reader=BenchmarkReader()).get("/api/runs").json()["runs"][0]
    with _tracked_run(open_recording(case), explain=False) as sent:
        tracked = sent.metrics

    assert view.cost == frame["cost"] == tracked["cost"] == 0.5 * paid
    assert view.tokens == frame["tokens"] == tracked["tokens"] == index["tokens"] == 100 * paid
    assert (index["cost"] or 0) == view.cost
