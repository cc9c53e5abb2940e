"""The causes that the demo shows, beside what else its page says of the same simulation."""

from collections.abc import Iterator
from typing import Any

import pytest

from maseval.commands import show, tau2
from maseval.core.finding import SOUND_PASS, Finding
from maseval.core.outcome import Simulation

pytestmark = [pytest.mark.data, pytest.mark.usefixtures("tau2_data")]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[Simulation, Any]:
    """The findings on each simulation of the demo's agent in airline and retail."""
    folder = tmp_path_factory.mktemp("runs") / "demo"
    tau2.run(domain=["airline", "retail"], agent="noisy", trials=4, output=folder)
    return show(folder).findings


def causes(
    found: dict[Simulation, Any],
) -> Iterator[tuple[Simulation, Finding, tuple[Finding, ...]]]:
    """Each failure's cause, with the other findings on it."""
    for simulation, findings in found.items():
        for each in findings:
            if each.source == "cause":
                yield simulation, each, findings


def test_no_cause_contradicts_the_sound_verdict_or_the_policy_on_the_same_page(found):
    seen = list(causes(found))
    decided = [each for each in seen if each[1].grade == "proven"]
    for simulation, cause, findings in decided:
        if any(each.kind == SOUND_PASS for each in findings):
            assert cause.who == "task", simulation
        if any(each.source == "policy" and each.counts for each in findings):
            assert "agent" in (cause.who, cause.also), simulation
    assert any(each.kind == SOUND_PASS for _, _, findings in decided for each in findings)


def test_a_payment_method_that_the_tool_refused_is_not_a_choice_left_open(found):
    names = [cause.name for _, cause, _ in causes(found)]

    assert names.count("agent: invented value") >= 20
    assert not any("choice left open" in name for name in names)


def test_where_no_fact_decides_nobody_is_blamed(found):
    open_ones = [cause for _, cause, _ in causes(found) if cause.grade == "undecided"]

    assert {each.name for each in open_ones} == {"unclear: not decided by records"}
    assert open_ones and all(each.text for each in open_ones)
