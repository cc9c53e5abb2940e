"""Who takes part: what the arguments of a run mean."""

from typing import Any

import pytest

from maseval.benchmark.tau2.app.running.options import RunOptions
from maseval.benchmark.tau2.app.running.participants import ModelSpec
from maseval.benchmark.tau2.app.running.run import Tau2Run
from maseval.core.exceptions import ConfigurationError


def setup(**given: Any) -> Tau2Run:
    return Tau2Run.of(RunOptions(domain="library", **given))


def test_a_scripted_agent_talks_to_the_scripted_user_unless_a_model_is_named():
    assert setup(agent="gold").user == "scripted"
    assert setup(agent="gold", user_model="openai/x").user == ModelSpec("openai/x")
    assert setup(agent_model="a/x", user_model="a/y").user == ModelSpec("a/y")


def test_what_leads_to_a_model_is_told_from_what_steers_it():
    model = ModelSpec.of("x", {"temperature": 0.5, "api_base": "http://here", "api_key": "k"})

    assert model.args == {"temperature": 0.5}
    assert model.options == {"base_url": "http://here", "api_key": "k"}


def test_a_base_url_is_for_all_models_but_an_argument_goes_first():
    both = setup(
        agent_model="x",
        user_model="y",
        judge_model="z",
        base_url="http://all",
        user_args={"base_url": "http://own"},
    )

    addresses = {role: model.options["base_url"] for role, model in both.models.items()}
    assert addresses == {
        "agent_model": "http://all",
        "user_simulator": "http://own",
        "nl_evaluator": "http://all",
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"agent": "gold", "mode": "oracle-plan"},
        {"agent": "gold", "timeout": -1.0},
        {"agent": "gold", "max_steps": 0},
        {"agent": "noisy", "agent_args": {"error_rate": True}},
        {"agent_model": "x"},
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_begun(wrong):
    with pytest.raises(ConfigurationError):
        setup(**wrong)


@pytest.mark.parametrize("url", ["localhost:8000", "htp://here/v1", "http://", "/v1", ""])
def test_what_is_no_address_is_refused(url):
    with pytest.raises(ConfigurationError, match="like http://localhost:8000/v1"):
        setup(agent_model="x", user="scripted", base_url=url)
    with pytest.raises(ConfigurationError, match="like http://localhost:8000/v1"):
        setup(agent="gold", user_model="x", user_args={"api_base": url})


def test_the_configuration_has_all_that_results_depend_on():
    config = setup(agent="noisy", agent_args={"error_rate": 0.3}).config

    assert config["agent"] == {"player": "noisy", "error_rate": 0.3}
    assert config["rules"] == "tau2-bench v0.2.0"
    assert {"user", "judge", "mode", "max_steps", "seed", "timeout"} <= config.keys()
