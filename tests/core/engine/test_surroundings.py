"""What a program has set for its whole process."""

import pytest

from maseval import ScriptedModelAdapter, register_model, resolve_model
from maseval.core import call_policy, model
from maseval.core.call_policy import CallPolicy, default_policy, set_default_policy
from maseval.core.engine.shipping import ProcessSettings


@pytest.fixture(autouse=True)
def policy(monkeypatch):
    monkeypatch.setattr(call_policy, "_default", CallPolicy(max_attempts=2))


def mine(name, **options):
    return ScriptedModelAdapter([name])


def test_policy_and_registered_models_are_those_of_the_program(monkeypatch):
    register_model("mine", mine)
    register_model("stuck", lambda name: None)
    here = ProcessSettings.current(sendable=lambda factory: factory is mine)
    set_default_policy(CallPolicy())
    monkeypatch.setattr(model.MODELS, "registered", {})

    here.apply()

    assert default_policy().max_attempts == 2
    assert resolve_model("mine/hello").chat([]).content == "hello"
    assert set(model.MODELS.registered) == {"mine"}
