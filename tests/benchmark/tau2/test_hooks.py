"""Every public method of the documented classes is heard when a subclass overrides it, or refused.

Those that a run calls are counted while a whole simulation runs; those that only their own callers
call are listed, and need no more than Python.
"""

from typing import Any

import pytest

from maseval.benchmark.tau2 import (
    DefaultTau2Agent,
    DefaultTau2AgentAdapter,
    Tau2Environment,
    Tau2Evaluator,
    Tau2User,
)
from maseval.benchmark.tau2.domains.domain import Domain
from maseval.core.messages import tool_call
from tests.benchmark.overriding import overriding, rows
from tests.benchmark.tau2.rooms import Live, action, conversation, room_task, said

GREETING = "Hi! How can I help you today?"

HEARD = {
    Live: """
        setup_environment setup_user setup_agents setup_evaluators get_model_adapter run_agents
        evaluate execution_loop collect_all_traces collect_all_configs collect_all_usage register
        run seed_generator
    """,
    Tau2User: "get_initial_query respond inject_greeting is_done gather_traces gather_config",
    Tau2Environment: """
        setup_state create_tools create_user_tools get_response make_tool_call make_user_tool_call
        sync_tools to_json_str get_db_hash get_user_db_hash get_initial_db_hash gather_traces
        gather_config domain policy
    """,
    Tau2Evaluator: "__call__ filter_traces",
    DefaultTau2Agent: "run reset get_messages",
    DefaultTau2AgentAdapter: """
        run _run_agent get_messages gather_traces gather_config gather_usage
    """,
}
REFUSED = {
    Live: "clear_registry",
    Tau2Environment: """
        db toolkit user_toolkit set_state run_env_function_call run_env_assertion get_tools get_tool
    """,
}
# Of these, who overrides one is the caller's own business.
FOR_CALLERS = {
    Live: "add_callback get_failed_tasks usage usage_by_component",
    Tau2User: "get_tool",
}


AGENT = [tool_call("paint", {"colour": "red"}), "It is red.", "Bye.", "Bye."]
USER = ["Paint it.", tool_call("press_switch"), "I see it.", "###STOP###"]


def play(
    room: Domain, *classes: type[Any], benchmark: type[Any] = Live, **settings: Any
) -> tuple[Live, dict[str, Any]]:
    """Run one simulation in which these classes take the place of those they derive from."""

    def own(base):
        return next((each for each in classes if issubclass(each, base)), base)

    class Playing(benchmark):
        def setup_environment(self, agent_data, task, seed_generator):
            plain = super().setup_environment(agent_data, task, seed_generator)
            kind = own(Tau2Environment)
            return plain if kind is Tau2Environment else kind(task.environment_data)

        def setup_user(self, agent_data, environment, task, seed_generator):
            user = super().setup_user(agent_data, environment, task, seed_generator)
            if user is not None:
                user.__class__ = own(Tau2User)
            return user

        def setup_agents(self, *args, **kwargs):
            agents, named = super().setup_agents(*args, **kwargs)
            agents[0].__class__ = own(DefaultTau2AgentAdapter)
            if own(DefaultTau2Agent) is not DefaultTau2Agent:
                agents[0].agent.__class__ = own(DefaultTau2Agent)
            return agents, named

        def setup_evaluators(self, *args, **kwargs):
            evaluators = super().setup_evaluators(*args, **kwargs)
            evaluators[0].__class__ = own(Tau2Evaluator)
            return evaluators

    gold = (action("paint", colour="red"), action("press_switch", "user"))
    live = Playing(AGENT, settings.pop("user", USER), **settings)
    (report,) = live.run([room_task(room, *gold, reward_basis=["DB"])])
    return live, report


@pytest.mark.parametrize(("kind", "name"), rows(HEARD))
def test_a_method_that_is_overridden_is_called_in_a_run_and_the_verdict_stays(room, kind, name):
    own, calls = overriding(kind, name)
    benchmark = {"benchmark": own} if kind is Live else {}
    _, report = play(room, *([] if kind is Live else [own]), **benchmark, seed=1)

    assert name in calls
    assert report["status"] == "success", report["error"]
    assert report["eval"][0]["passed"]


@pytest.mark.parametrize(("kind", "name"), rows(REFUSED))
def test_a_method_that_no_run_can_call_is_refused_by_its_name(room, kind, name):
    own, _ = overriding(kind, name)
    if kind is Live:
        with pytest.raises(ValueError, match=f"OwnLive overrides {name}, which"):
            own([])
        return
    _, report = play(room, own)

    assert report["status"] == "setup_failed"
    assert f"Own{kind.__name__} overrides {name}, which" in report["error"]["error_message"]


@pytest.mark.parametrize("kind", HEARD)
def test_no_public_method_is_forgotten(kind):
    listed = {
        name for table in (HEARD, REFUSED, FOR_CALLERS) for name in table.get(kind, "").split()
    }
    documented = {
        Live: """
            add_callback clear_registry collect_all_configs collect_all_traces collect_all_usage
            evaluate execution_loop get_failed_tasks get_model_adapter register run run_agents
            setup_agents setup_environment setup_evaluators setup_user seed_generator usage
            usage_by_component
        """,
        Tau2User: """
            gather_config gather_traces get_initial_query get_tool inject_greeting is_done respond
        """,
        Tau2Environment: """
            create_tools create_user_tools gather_config gather_traces get_db_hash
            get_initial_db_hash get_response get_tool get_tools get_user_db_hash make_tool_call
            make_user_tool_call run_env_assertion run_env_function_call set_state setup_state
            sync_tools to_json_str db domain policy toolkit user_toolkit
        """,
        Tau2Evaluator: "__call__ filter_traces",
        DefaultTau2Agent: "run reset get_messages",
        DefaultTau2AgentAdapter: "run get_messages gather_traces gather_config gather_usage",
    }

    assert set(documented[kind].split()) <= listed


class Shouting(Tau2User):
    def respond(self, message: str) -> str:
        return super().respond(message).upper()


def test_the_agent_hears_what_respond_returns_and_calls_on_the_way_are_recorded(room):
    live, report = play(room, Shouting)
    _, plain = play(room)

    assert said(report) == [
        (role, content.upper() if role == "user" and content else content)
        for role, content in said(plain)
    ]
    heard = live.requests("agent_model")[0]["messages"]
    assert heard[-1] == {"role": "user", "content": "PAINT IT."}
    assert report["eval"][0] == plain["eval"][0]
    assert live.requests("user_simulator")[1]["messages"][2]["content"] == "Paint it."


def test_a_user_that_respond_silences_ends_the_conversation_by_is_done(room):
    class Polite(Tau2User):
        def respond(self, message):
            return super().respond(message).replace("###STOP###", "Goodbye.")

    _, report = play(room, Polite)

    assert said(report)[-1] == ("user", "Goodbye.")
    assert report["eval"][0]["passed"]


def test_respond_may_end_the_conversation_without_any_model(room):
    class Brief(Tau2User):
        def respond(self, message):
            return "Paint it." if message == GREETING else "###STOP###"

    live, report = play(room, Brief)

    assert live.requests("user_simulator") == []
    assert said(report)[-1] == ("user", "###STOP###")


def test_is_done_decides_when_a_conversation_ends(room):
    class Impatient(Tau2User):
        def is_done(self):
            return self.turns == 1

    class Stubborn(Tau2User):
        def is_done(self):
            return self.turns == 3

    _, early = play(room, Impatient)
    _, late = play(room, Stubborn, user=["Paint it.", "###STOP###", "Thanks."])

    assert said(early) == [("assistant", GREETING), ("user", "Paint it.")]
    assert [text for role, text in said(late) if role == "user"] == [
        *("Paint it.", "###STOP###", "Thanks."),
    ]


def test_a_first_query_of_ones_own_opens_and_the_greeting_follows(room):
    order = []

    class Opening(Tau2User):
        def get_initial_query(self):
            order.append("get_initial_query")
            return "White, please."

        def inject_greeting(self, greeting):
            order.append("inject_greeting")
            super().inject_greeting(greeting.upper())

    live, report = play(room, Opening, user=["###STOP###"])

    assert order == ["get_initial_query", "inject_greeting"]
    assert said(report)[1] == ("user", "White, please.")
    seen = [each["content"] for each in live.requests("user_simulator")[0]["messages"][1:]]
    assert seen == [GREETING.upper(), "White, please.", "It is red."]


@pytest.mark.parametrize("base", [Tau2User, Shouting])
def test_a_greeting_of_ones_own_is_what_the_user_answers(room, base):
    class Greeted(base):
        def inject_greeting(self, greeting):
            super().inject_greeting("Hello, tenant.")

    live, _ = play(room, Greeted)

    first = live.requests("user_simulator")[0]["messages"]
    assert [each["content"] for each in first[1:]] == ["Hello, tenant."]


def test_run_agents_of_the_reference_benchmark_sees_every_query_and_gives_the_answer(room):
    queries = []

    class Signing(Live):
        def run_agents(self, agents, task, environment, query=""):
            queries.append(query)
            return f"{super().run_agents(agents, task, environment, query)} (signed)"

    _, report = play(room, benchmark=Signing)
    _, plain = play(room)

    assert queries == ["Paint it.", "I see it."]
    assert [text for role, text in said(report) if role == "assistant"] == [
        *(GREETING, None, "It is red. (signed)", "Bye. (signed)"),
    ]
    assert [each.get("tool_calls") for each in conversation(report)] == [
        each.get("tool_calls") for each in conversation(plain)
    ]
    assert report["eval"][0]["passed"]


def test_run_of_an_agent_may_ask_twice_and_gives_the_answer(room):
    class Doubtful(DefaultTau2Agent):
        def run(self, query):
            return super().run(query) + " " + super().run("Are you sure?")

    _, report = play(room, Doubtful, user=["Paint it.", "###STOP###"])

    assert said(report)[-2] == ("assistant", "It is red. Bye.")


def test_what_answers_a_message_is_refused_where_nobody_writes_one(room):
    own, _ = overriding(Live, "run_agents")

    with pytest.raises(ValueError, match="OwnLive overrides run_agents, which answers a user's"):
        own([], mode="solo")


def test_a_limit_ends_the_turn_of_a_side_that_is_asked_by_texts(room):
    endless = [tool_call("press_switch")] * 9
    _, report = play(room, Shouting, user=endless, max_invocations=4)

    assert report["traces"]["environment"]["simulation"]["termination_reason"] == "max_steps"
    assert len([each for each in conversation(report) if each["role"] == "tool"]) == 2


def test_hooks_are_called_in_the_documented_order(room):
    users = ("get_initial_query", "inject_greeting", "respond", "is_done")
    hooks = ("setup_environment", "setup_user", "setup_agents", "setup_evaluators")
    flow = ("execution_loop", "run_agents", "evaluate")
    own, calls = overriding(Live, *hooks, *flow)
    user, said_by_user = overriding(Tau2User, *users)
    play(room, user, benchmark=own, user=USER[1:])

    assert calls == [*hooks, "execution_loop", *["run_agents"] * 2, "evaluate"]
    assert [each for each in said_by_user if each != "is_done"] == [
        *("get_initial_query", "inject_greeting", "respond", "respond"),
    ]
