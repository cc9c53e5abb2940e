"""A judge is measured on conversations with known answers, and what came out is kept."""

import json
from pathlib import Path
from typing import Any

import pytest

from maseval import commands
from maseval.app.judging.calibrate import CalibratedJudge
from maseval.app.results.calibrated import AskedJudge, calibrations_path, read_calibrations
from maseval.core.call_policy import CallPolicy
from maseval.core.exceptions import ConfigurationError
from maseval.core.provider_errors import OverloadedError
from maseval.core.scripted import ScriptedModelAdapter
from maseval.testing import EVIDENCE_FAULTS
from maseval.testing.faulty_judge import UNREADABLE, WITHHELD
from maseval.testing.judges import ScriptedJudge
from tests.app.judging.library import judge, truth, write_pairs
from tests.cli.commandline import maseval

PAIRS = 40


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    return write_pairs(tmp_path / "pairs.jsonl", PAIRS)


def measure(
    pairs: Path, model: ScriptedJudge | ScriptedModelAdapter | str, **more: Any
) -> CalibratedJudge:
    return commands.judge.calibrate(model, file=pairs, pairs=more.pop("number", None), **more)


def test_the_rates_are_those_with_which_the_judge_errs(pairs):
    model = judge(found=0.8, flagged=0.1)
    measured = measure(pairs, model).calibration

    texts = {text_of_case(request) for request in model.requests}
    broken = [text for text in texts if truth(text) is not None]
    seen = [model._draw("found", text) < 0.8 for text in broken]
    false = [model._draw("flagged", text) < 0.1 for text in texts - {*broken}]
    assert measured.found == (sum(seen), PAIRS) and 0 < sum(seen) < PAIRS
    assert measured.flagged == (sum(false), PAIRS) and sum(false)
    assert measured.exact == (sum(seen), sum(seen))
    assert [row.name for row in measured.rows] == [
        *("library", "weight: act", "weight: manner", "all")
    ]
    low, high = measured.found.limits
    assert low < 0.8 < high


def text_of_case(request: dict[str, Any]) -> str:
    return request["messages"][1]["content"]


@pytest.mark.parametrize("fault", [*UNREADABLE, *WITHHELD, *EVIDENCE_FAULTS])
def test_no_fault_of_a_judge_passes_as_nothing_found(pairs, fault):
    found = measure(pairs, judge(faults={fault: 1.0}), number=3)
    measured = found.calibration
    assert measured.undecided == 6
    assert measured.found.total == measured.flagged.total == 0
    invented = fault in ("invented quote", "invented policy", "wrong message")
    assert measured.dropped == (6 if invented else 0)
    # Whoever invents was asked once; whoever gives no answer that can be read, once more.
    assert measured.requests == (6 if invented else 12)


def test_the_measurement_stands_beside_the_findings_of_that_judge_alone(pairs):
    measure(pairs, judge(found=1.0, flagged=0.0))
    [kept] = read_calibrations()
    assert kept.in_words == f"found {PAIRS} of {PAIRS}, flagged 0 of {PAIRS} when measured"
    assert kept.key == AskedJudge("policy", "scripted-judge", {}, kept.version).key
    assert kept.key != AskedJudge("policy", "scripted-judge", {"temperature": 1}, kept.version).key
    assert kept.key != AskedJudge("policy", "scripted-judge", {}, "other words").key


def test_a_model_that_changed_behind_its_name_is_noticed(pairs):
    first = measure(pairs, judge(found=1.0))
    same = measure(pairs, judge(found=1.0))
    other = measure(pairs, judge(found=0.3))
    assert first.change is None
    assert (same.change.differing, same.change.p_value) == (0, 1.0)
    assert other.change.worse == other.change.differing > 10
    assert other.change.p_value < 0.001
    assert "The model behind this name changed" in str(other.change)
    assert len([*read_calibrations()]) == 3


def test_pairs_are_drawn_evenly_and_larger_draws_contain_smaller_ones(pairs):
    few, more = judge(), judge()
    measured = measure(pairs, few, number=4).calibration
    assert [row.found.total for row in measured.rows] == [4, 2, 2, 4]
    measure(pairs, more, number=10)
    asked = [{text_of_case(each) for each in model.requests} for model in (few, more)]
    assert asked[0] < asked[1] and len(asked[1]) == 20


def test_an_unfinished_measurement_is_resumed_and_a_finished_one_asks_anew(pairs, tmp_path):
    seen = []

    def fail_later(messages, tools):
        seen.append(messages)
        if len(seen) == 7:
            raise OverloadedError("too many requests", provider="scripted")
        return model._answer(messages, tools)

    model = judge()
    flaky = ScriptedModelAdapter(fail_later, model_id="scripted-judge")
    flaky.policy = CallPolicy(max_attempts=1)
    halted = measure(pairs, flaky, number=5)
    assert (halted.calibration, halted.unanswered) == (None, 1)
    assert not calibrations_path().exists()

    finished = measure(pairs, flaky, number=5)
    assert finished.calibration.found == (5, 5)
    assert len(seen) == 11  # ten questions, and the one that failed

    measure(pairs, flaky, number=5)
    assert len(seen) == 21


def test_the_budget_stops_and_the_dry_run_asks_nothing(pairs):
    model = judge()
    plan = measure(pairs, model, dry_run=True)
    assert plan.price.requests == 2 * PAIRS and not model.requests
    assert plan.price.input_tokens > 2 * PAIRS * 500
    stopped = measure(pairs, model, budget="3k tokens")
    assert "the budget of 3,000 tokens is reached" in stopped.stopped
    assert 0 < len(model.requests) < 2 * PAIRS
    assert stopped.calibration is None


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("not JSON", "cannot be read"),
        ('{"domain": "library", "broken": true}', "line 1 of .* is no labelled conversation"),
        ('{"domain": "library", "messages": []}', "it needs domain, messages, and broken"),
        ("", "there are no labelled conversations"),
    ],
)
def test_a_file_that_has_no_labelled_conversations_is_named(tmp_path, line, words):
    path = tmp_path / "own.jsonl"
    path.write_text(line, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=words):
        measure(path, judge())


def test_who_failed_needs_the_public_conversations(tmp_path):
    with pytest.raises(ConfigurationError, match="--conversations FILE"):
        commands.judge.calibrate(judge(), about="cause")
    with pytest.raises(
        ConfigurationError, match="no question 'weather'; ask about policy or cause"
    ):
        commands.judge.calibrate(judge(), about="weather")


def test_the_command_prints_limits_and_scripts_get_every_case(pairs, tmp_path):
    (tmp_path / "own_judge.py").write_text(
        "from tests.app.judging.library import judge\n\n\ndef steady():\n    return judge()\n"
    )
    words = ["judge", "calibrate", "--judge", f"{tmp_path}/own_judge.py:steady"]
    words += ["--file", str(pairs), "--pairs", "4"]
    shown = maseval(*words)
    assert "4 of 4 [40, 100]" in shown.stdout and "0 of 4 [0, 60]" in shown.stdout
    found = json.loads(maseval(*words, "--json").stdout)
    assert found["calibration"]["rows"][-1]["found"]["count"] == 4
    assert len(found["calibration"]["cases"]) == 8
    assert found["change"]["differing"] == 0


def test_the_price_is_known_without_a_key(pairs, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    plan = measure(pairs, "openai/gpt-4.1", number=2, dry_run=True)
    assert (plan.judge, plan.price.requests) == ("openai/gpt-4.1", 4)
