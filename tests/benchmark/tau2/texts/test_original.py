"""Only what the recorded requests do not show; these are compared in tests/contract."""

import copy
from pathlib import Path

import pytest

from maseval.benchmark.tau2.benchmark import describe_tools
from maseval.benchmark.tau2.domains.releases import RELEASES
from maseval.benchmark.tau2.domains.telecom import TELECOM
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.texts.loading import load_texts
from maseval.benchmark.tau2.texts.original import OriginalWording
from maseval.benchmark.tau2.texts.texts import TextsError
from maseval.core.seeding import DefaultSeedGenerator
from maseval.core.tool import tool_definition

pytestmark = pytest.mark.data


@pytest.fixture(scope="module", params=["0.2.0", "1.0.1"])
def original(request: pytest.FixtureRequest, shared_data: Path) -> OriginalWording:
    texts = load_texts(request.param, shared_data / "tau2-texts")
    return OriginalWording(texts, RELEASES[texts.version].rules.participants)


def test_policy_ticket_scenario_and_conversation_are_inserted_as_they_are(original):
    sly = "{domain_policy} {{ticket}} {0} {x"
    action = {"name": "look", "arguments": {"at": sly}, "requestor": "user"}
    said = [{"role": "user", "content": sly}]

    assert sly in original.agent_prompt(sly)
    assert original.solo_prompt("p", sly).count(sly) == 1
    assert f"look(at={sly})" in original.oracle_prompt("p", [action])
    assert original.user_prompt(sly, sly).count(sly) == 2
    assert f"user: {sly}" in original.judge_prompts(said, ["a"])[1]


def test_every_trial_has_one_seed_whatever_the_task_and_the_judge_has_none(original):
    def seeds(task, trial, role):
        return original.seed(role, DefaultSeedGenerator(300).for_task(task).for_repetition(trial))

    assert [seeds("a", trial, "agent") for trial in (0, 1)] == [626729, 373753]
    assert seeds("b", 1, "user") == 373753
    assert seeds("a", 0, "judge") is None
    assert original.seed("agent", DefaultSeedGenerator().for_task("a").for_repetition(0)) is None


def test_what_is_asked_for_replaces_the_default(original):
    assert original.params("m", None) == {"temperature": 0.0}
    assert original.params("m", {}) == {}
    assert original.params("m", {"max_tokens": 9}) == {"max_tokens": 9}


def test_a_domain_that_the_original_does_not_have_describes_its_own_tools(original):
    mine = {"type": "function", "function": {"name": "mine", "description": "Mine."}}
    assert original.tools([mine], "allotment") == [mine]


def test_a_user_may_have_only_some_of_the_tools(original):
    every = TELECOM.user_toolkit.definitions()
    shown = original.tools(every, "telecom", "user")
    assert original.tools(every[3:5], "telecom", "user") == shown[3:5]
    with pytest.raises(TextsError):
        original.tools(TELECOM.toolkit.definitions()[1:], "telecom")


def test_other_definitions_of_the_same_names_are_described_anew(original):
    ours = TELECOM.toolkit.definitions()
    others = copy.deepcopy(ours)
    others[0]["function"]["parameters"]["type"] = "array"

    original.tools(ours, "telecom")[0]["type"] = "changed by its owner"
    shown = [original.tools(each, "telecom")[0] for each in (ours, others, ours)]

    assert [each["type"] for each in shown] == ["function"] * 3
    kinds = [each["function"]["parameters"]["type"] for each in shown]
    assert kinds == ["object", "array", "object"]


@pytest.mark.parametrize("domain", ["airline", "retail", "telecom"])
def test_an_agent_of_any_framework_is_shown_the_tools_in_the_same_words(
    original, domain, tau2_data_of_1_0_1
):
    version = original.texts.version
    environment = Tau2Environment({"domain": domain, "version": version})
    describe_tools(environment, original)

    definitions = environment.toolkit.definitions()
    assert [tool_definition(tool) for tool in environment.tools.values()] == original.tools(
        definitions, domain
    )
    fresh = Tau2Environment({"domain": domain, "version": version})
    assert [tool_definition(tool) for tool in fresh.tools.values()] == [*definitions]
