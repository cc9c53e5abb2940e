"""Every public method of the documented classes of MACS is called in a run, or for its callers."""

from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.macs import MACSEnvironment, MACSEvaluator, MACSGenericTool, MACSUser
from tests.benchmark.macs.team import SCRIPT, TEAM, Played, a_task
from tests.benchmark.overriding import overriding, rows

pytestmark = pytest.mark.data

HEARD = {
    Played: """
        setup_environment setup_user setup_agents setup_evaluators get_model_adapter run_agents
        evaluate execution_loop collect_all_traces collect_all_configs collect_all_usage register
        run seed_generator
    """,
    MACSUser: """
        get_initial_query respond is_done termination_reason increment_turn gather_traces
        gather_config
    """,
    MACSEnvironment: """
        setup_state create_tools get_tools_for_agent gather_traces gather_config
    """,
    MACSGenericTool: "__call__ gather_traces gather_config",
    MACSEvaluator: "__call__ filter_traces",
}
REFUSED = {Played: "clear_registry"}
# Of these, who overrides one is the caller's own business.
FOR_CALLERS = {
    Played: "add_callback get_failed_tasks usage usage_by_component",
    MACSUser: "reset get_tool",
    MACSEnvironment: "get_tools get_tool",
}


@pytest.fixture(autouse=True)
def templates_at_hand(macs_data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("MASEVAL_MACS_DATA", str(macs_data))


def play(
    kind: type[Any] = Played,
    own: type[Any] | None = None,
    script: dict[str, Any] = SCRIPT,
    **settings: int,
) -> dict[str, Any]:
    """Run one simulation in which ``own`` takes the place of the class it derives from."""

    class Playing(own if kind is Played and own else Played):
        def setup_environment(self, *args, **kwargs):
            environment = super().setup_environment(*args, **kwargs)
            if kind is MACSEnvironment:
                environment.__class__ = own
                environment.__init__(args[1].environment_data, environment._model_factory)
            if kind is MACSGenericTool:
                for tool in environment.tools.values():
                    tool.__class__ = own
            return environment

        def setup_user(self, *args, **kwargs):
            user = super().setup_user(*args, **kwargs)
            user.__class__ = own if kind is MACSUser else type(user)
            return user

        def setup_evaluators(self, *args, **kwargs):
            evaluators = super().setup_evaluators(*args, **kwargs)
            for each in evaluators:
                each.__class__ = own if kind is MACSEvaluator else type(each)
            return evaluators

    (report,) = Playing(script, **settings).run(
        [a_task()], agent_data={**TEAM, "model_id": "play/part"}
    )
    return report


@pytest.mark.parametrize(("kind", "name"), rows(HEARD))
def test_a_method_that_is_overridden_is_called_in_a_run_and_the_verdict_stays(kind, name):
    own, calls = overriding(kind, name)
    twice = {**SCRIPT, "user_simulator": ['{"text": "And now?"}', *SCRIPT["user_simulator"]]}
    report = play(kind, own, {**twice, "agent_desk": [*SCRIPT["agent_desk"], "Done."]}, seed=1)

    assert name in calls
    assert report["status"] == "success", report["error"]
    assert report["eval"][0]["passed"]


@pytest.mark.parametrize(("kind", "name"), rows(REFUSED))
def test_a_method_that_no_run_can_call_is_refused_by_its_name(kind, name):
    own, _ = overriding(kind, name)

    with pytest.raises(ValueError, match=f"OwnPlayed overrides {name}, which no run calls"):
        own()


@pytest.mark.parametrize("kind", HEARD)
def test_no_public_method_is_forgotten(kind):
    tables = (HEARD, REFUSED, FOR_CALLERS)
    listed = {name for table in tables for name in table.get(kind, "").split()}
    documented = {
        Played: """
            add_callback clear_registry collect_all_configs collect_all_traces collect_all_usage
            evaluate execution_loop get_failed_tasks get_model_adapter register run run_agents
            setup_agents setup_environment setup_evaluators setup_user seed_generator usage
            usage_by_component
        """,
        MACSUser: """
            gather_config gather_traces get_initial_query get_tool increment_turn is_done reset
            respond termination_reason
        """,
        MACSEnvironment: """
            create_tools gather_config gather_traces get_tool get_tools get_tools_for_agent
            setup_state
        """,
        MACSGenericTool: "__call__ gather_traces gather_config",
        MACSEvaluator: "__call__ filter_traces",
    }

    assert set(documented[kind].split()) <= listed


def test_the_agents_hear_what_respond_returns():
    class Shouting(MACSUser):
        def respond(self, message):
            return super().respond(message).upper()

    script = {
        **SCRIPT,
        "user_simulator": ['{"text": "And now?"}', *SCRIPT["user_simulator"]],
        "agent_desk": [*SCRIPT["agent_desk"], "Done."],
    }
    report = play(MACSUser, Shouting, script)

    messages = report["traces"]["agents"]["desk"]["messages"]
    assert [each["content"] for each in messages if each["role"] == "user"] == [
        *("A room, please", "AND NOW?"),
    ]


def test_hooks_are_called_in_the_documented_order():
    hooks = ("setup_environment", "setup_user", "setup_agents", "setup_evaluators")
    own, calls = overriding(Played, *hooks, "execution_loop", "run_agents", "evaluate")
    user, said_by_user = overriding(MACSUser, "get_initial_query", "respond", "is_done")
    play(Played, own)
    play(MACSUser, user)

    assert calls == [*hooks, "execution_loop", "run_agents", "evaluate"]
    assert said_by_user == ["get_initial_query", "is_done", "respond", "is_done", "is_done"]
