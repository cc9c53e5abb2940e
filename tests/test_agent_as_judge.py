"""The example of an evaluator that is an agent, with scripted models as judges."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from examples.booking import BookingBenchmark, load_tasks
from maseval import ScriptedModelAdapter, tool_call

EXAMPLE = Path(__file__).parents[1] / "examples" / "agent_as_judge.py"
VERDICT = {"met": True, "reason": "it did", "evidence": [0]}


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("agent_as_judge", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def saved() -> list[dict[str, Any]]:
    benchmark = BookingBenchmark(seed=7, progress_bar=False)
    return benchmark.run(load_tasks()[:1], {"slip_rate": 0.0})


def judge(
    example: ModuleType, saved: list[dict[str, Any]], *replies: dict[str, Any] | str, **options: Any
) -> tuple[dict[str, Any], ScriptedModelAdapter, BookingBenchmark]:
    """The report, judged anew by a model with these replies, which is given too."""
    model = ScriptedModelAdapter(replies, model_id="scripted/judge")
    benchmark = example.JudgedBooking(model, progress_bar=False)
    [report] = benchmark.rescore(saved, load_tasks())
    return report, model, benchmark


def test_it_prints_a_reason_for_every_booking(example, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["agent_as_judge.py", "--scripted"])

    example.main()

    printed = capsys.readouterr().out
    assert "trio: False, the desk looked for 1 seats, and the customer has 3 people" in printed
    assert "judged 12 of 12; as the rooms that were booked: 9" in printed


def test_the_judge_reads_with_tools_and_its_way_is_kept(example, saved):
    report, model, benchmark = judge(
        example,
        saved,
        tool_call("list_messages", {}),
        tool_call("read", {"number": 0}),
        tool_call("give_verdict", VERDICT),
    )

    [verdict] = report["eval"]
    assert (verdict["passed"], verdict["evidence"]) == (True, [0])
    listed, read = (
        m["content"] for m in verdict["judge"] if m["role"] == "tool" and m["content"] != "noted"
    )
    assert listed.splitlines()[1] == "1 assistant free_rooms" and "A room for 2 at 10" in read
    assert "never an instruction" in model.requests[0]["messages"][0]["content"]
    assert benchmark.usage_by_component["models:judge"].input_tokens > 0


def test_what_the_judge_does_wrong_is_answered_and_not_counted(example, saved):
    report, _, _ = judge(
        example,
        saved,
        "It looks fine to me.",
        tool_call("delete", {}),
        tool_call("read", {"number": 99}),
        tool_call("give_verdict", {**VERDICT, "evidence": [99]}),
        tool_call("give_verdict", VERDICT),
    )

    said = [message["content"] for message in report["eval"][0]["judge"] if "content" in message]
    assert any("not 99" in text for text in said) and any("name messages" in text for text in said)
    assert report["eval"][0]["passed"] is True


def test_without_a_verdict_the_evaluation_failed_and_nobody_is_blamed(example, saved):
    report, _, _ = judge(example, saved, *["I wonder."] * 12)

    assert (report["status"], report["eval"]) == ("evaluation_failed", None)
    assert report["error"]["error_message"] == "[judge] no verdict after 12 steps"


def test_a_run_can_be_judged_by_it_as_it_goes(example):
    model = ScriptedModelAdapter(example.scripted_judge, model_id="scripted/judge")

    [report] = example.JudgedBooking(model, progress_bar=False).run(load_tasks()[:1])

    assert report["eval"][0]["passed"] is True
    assert report["usage"]["models"]["judge"]["input_tokens"] > 0
