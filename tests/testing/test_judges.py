"""The scripted judge errs as often as it is told, and about the same conversations each time."""

import json
from typing import Any

import pytest

from maseval.core.exceptions import ConfigurationError
from maseval.testing import EVIDENCE_FAULTS, ScriptedJudge
from maseval.testing.faulty_judge import UNREADABLE

POLICY = "Rules.\n\nThe policy:\n\nAsk first.\nThen act."


def answers(number: int = 400, broken: bool = True, **given: Any) -> list[str]:
    judge = ScriptedJudge(lambda text: 1 if broken else None, **given)
    found = []
    for each in range(number):
        said = f"The conversation:\n\n[0] agent: Hi!\n[1] customer: I am number {each}."
        messages = [{"role": "system", "content": POLICY}, {"role": "user", "content": said}]
        found.append(judge.chat(messages).content)
    return found


def test_a_claim_has_true_evidence():
    [answer] = answers(1)
    [claim] = json.loads(answer)["claims"]
    assert (claim["message"], claim["quote"]) == (1, "customer: I am number 0.")
    assert claim["policy"] == "Ask first."


@pytest.mark.parametrize(("found", "flagged"), [(0.95, 0.02), (0.8, 0.05), (0.6, 0.1)])
def test_it_errs_at_the_rates_that_it_is_given(found, flagged):
    for broken, rate in ((True, found), (False, flagged)):
        said = answers(broken=broken, found=found, flagged=flagged)
        share = sum(bool(json.loads(each)["claims"]) for each in said) / len(said)
        assert share == pytest.approx(rate, abs=3.3 * (rate * (1 - rate) / len(said)) ** 0.5)


def test_the_seed_decides_about_which_conversations_it_errs():
    first, again, other = (answers(60, found=0.5, seed=seed) for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize("fault", [*UNREADABLE, *EVIDENCE_FAULTS])
def test_each_fault_is_another_answer(fault):
    [sound], [spoilt] = answers(1), answers(1, faults={fault: 1.0})
    assert sound != spoilt


def test_faults_come_as_often_as_they_are_told():
    said = answers(faults={"garbage": 0.2, "empty": 0.1})
    assert said.count("") / len(said) == pytest.approx(0.1, abs=0.05)
    assert sum("lorem" in each for each in said) / len(said) == pytest.approx(0.2, abs=0.07)


@pytest.mark.parametrize(
    "given", [{"found": 1.2}, {"faults": {"garbage": 0.7, "empty": 0.6}}, {"faults": {"late": 1}}]
)
def test_rates_that_are_none_are_refused(given):
    with pytest.raises(ConfigurationError, match=r"shares between 0 and 1|no fault 'late'"):
        ScriptedJudge(lambda text: None, **given)
