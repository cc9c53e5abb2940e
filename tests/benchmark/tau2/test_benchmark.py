"""tau2 run live: modes, models that misbehave, agents of any framework, and what reports carry."""

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from maseval import AgentAdapter, ChatResponse, tool_call
from maseval.benchmark.tau2 import Tau2Benchmark, load_tasks, score_simulation
from maseval.benchmark.tau2.environment import AFTER_END, OUT_OF_TURN, Tau2Environment
from maseval.benchmark.tau2.results import export_results
from maseval.core.engine.participants import Agents
from maseval.core.exceptions import ConfigurationError
from maseval.core.storage.strict_json import dumps
from maseval.core.task.task import Task
from maseval.core.tracing import JsonObject
from maseval.core.user import User
from tests.benchmark.tau2.rooms import Live, action, conversation, room_task, said, simulation
from tests.core.worlds import Customer

RED = action("paint", colour="red")
PAINT_RED = tool_call("paint", {"colour": "red"})


def live(
    tasks: list[Task],
    agent: list[Any],
    user: list[ChatResponse | dict[str, Any] | str] | tuple[Any, ...] = (),
    judge: list[str] | tuple[Any, ...] = (),
    **settings: Any,
) -> list[dict[str, Any]]:
    return Live(agent, user, judge, **settings).run(tasks)


# Modes.


def test_a_conversation_from_the_greeting_to_the_verdict(room):
    task = room_task(room, RED, communicate_info=["It is red"])

    (report,) = live([task], [PAINT_RED, "It is red."], ["Red, please", "Thanks ###STOP###"])

    assert said(report) == [
        ("assistant", "Hi! How can I help you today?"),
        ("user", "Red, please"),
        ("assistant", None),
        ("tool", "The wall is red."),
        ("assistant", "It is red."),
        ("user", "Thanks ###STOP###"),
    ]
    assert report["eval"][0]["reward"] == 1.0
    assert report["final_answer"] == "It is red."  # the agent's, not the last words


BLACK = tool_call("paint", {"colour": "black"})  # which is refused


def test_failed_calls_end_a_simulation_of_1_0_1_and_none_of_0_2_0(room):
    task = room_task(room, RED)
    agent, user = [BLACK, BLACK, BLACK, "I cannot."], ["Black, please", "###STOP###"]

    (new,) = live([task], agent, user, version="1.0.1", max_errors=2)
    (old,) = live([task], agent, user, version="0.2.0", max_errors=2)

    assert simulation(new)["termination_reason"] == "too_many_errors"
    assert simulation(old)["termination_reason"] == "user_stop"
    assert new["config"]["benchmark"]["tau2"]["max_errors"] == 2


def test_a_simulation_of_1_0_1_may_have_a_time_limit(room):
    task = room_task(room, RED)

    (report,) = live([task], ["Wait."] * 9, ["Hello"] * 9, version="1.0.1", timeout=1e-9)

    assert simulation(report)["termination_reason"] == "timeout"
    assert report["status"] == "success"
    assert report["eval"][0]["reward"] == 0.0
    assert report["config"]["benchmark"]["tau2"]["timeout"] == 1e-9


def test_a_time_limit_that_the_release_does_not_know_is_refused(room):
    (report,) = live([room_task(room, RED)], ["Wait."], ["Hello"], timeout=1.0)

    assert report["error"]["error_type"] == "ConfigurationError"
    assert "'timeout', which tau2-bench 0.2.0 does not know" in report["error"]["error_message"]


@pytest.mark.parametrize("limit", [{"max_errors": 0}, {"timeout": 0.0}])
def test_a_limit_of_nothing_is_refused(limit):
    with pytest.raises(ConfigurationError, match="is 0; give a number above 0"):
        Live([], **limit)


def test_alone_the_agent_works_from_the_ticket_with_both_sides_tools(room):
    task = room_task(room, RED, action("press_switch", "user"), communicate_info=["anything"])
    benchmark = Live(
        [[PAINT_RED, tool_call("press_switch", {})], tool_call("done", {})], mode="solo"
    )

    (report,) = benchmark.run([task])

    (first, _) = benchmark.requests("agent_model")
    assert [tool["function"]["name"] for tool in first["tools"]] == [
        *("look", "paint", "press_switch", "set_lamp", "done")
    ]
    assert first["tool_choice"] == "required"
    prompt = first["messages"][0]["content"]
    assert "<ticket>\nThe tenant sits in the dark.\n</ticket>" in prompt
    assert "<policy>\nLook, and do not speak.\n</policy>" in prompt
    assert benchmark.models["user_simulator"] == []
    verdict = report["eval"][0]
    assert verdict["termination_reason"] == "agent_stop"
    assert verdict["env_check"]["db_match"]
    assert report["config"]["environment"]["solo"] is True
    requestors = {
        call["requestor"] for m in conversation(report) for call in m.get("tool_calls") or ()
    }
    assert requestors == {"assistant"}


def test_alone_an_agent_that_writes_the_word_for_the_end_is_not_scored(room):
    (report,) = Live(["###STOP###"], mode="solo").run([room_task(room)])

    assert report["status"] == "agent_error"
    assert report["eval"] is None
    assert report["error"]["error_message"] == "LLMSoloAgent only supports tool calls."


def test_alone_the_word_for_the_end_beside_a_call_ends_it_and_cannot_be_scored(room):
    last = ChatResponse("###STOP###", [tool_call("look", {})])
    (report,) = Live([tool_call("look", {}), last], mode="solo").run([room_task(room)])

    assert conversation(report)[-1]["content"] == "###STOP###"
    verdict = report["eval"][0]
    assert verdict["termination_reason"] == "agent_stop" and verdict["reward"] == 0.0
    assert "Tool message expected. Got None." in json.dumps(verdict)


def test_an_argument_that_is_no_number_is_null_in_the_file_as_in_the_originals(room, tmp_path):
    call = tool_call("paint", {"colour": "red", "coats": float("nan")})
    (report,) = Live([call, "Done."], ["Red.", "###STOP###"]).run([room_task(room)])
    export_results([report], tmp_path / "results.json", domain=room)

    (exported,) = json.loads((tmp_path / "results.json").read_text())["simulations"]
    (made,) = [m["tool_calls"][0] for m in exported["messages"] if m.get("tool_calls")]
    assert made["arguments"] == {"colour": "red", "coats": None}
    assert json.loads(dumps(report))["status"] == "success"


def test_solo_mode_needs_a_ticket(room):
    task = room_task(room)
    task.metadata["ticket"] = None

    (report,) = live([task], [], mode="solo")

    assert report["status"] == "setup_failed"
    assert "'dark' has no ticket" in report["error"]["error_message"]


def test_with_the_oracles_plan_the_agent_is_shown_the_steps(room):
    task = room_task(room, RED, action("press_switch", "user"))
    benchmark = Live(["Hello"], ["Dark", "###STOP###"], mode="oracle-plan")

    benchmark.run([task])

    prompt = benchmark.requests("agent_model")[0]["messages"][0]["content"]
    assert "<resolution_steps>" in prompt
    assert "[Step 1] Perform the following action: paint(colour=red)." in prompt
    step = "[Step 2] Instruct the user to perform the following action: press_switch()."
    assert step in prompt
    assert (
        "resolution_steps" not in benchmark.requests("user_simulator")[0]["messages"][0]["content"]
    )


def test_an_unknown_mode_is_refused_with_the_choices():
    with pytest.raises(ConfigurationError, match="'duo'; choose one of: normal, solo, oracle-plan"):
        Live([], mode="duo")


def test_users_can_be_asked_to_be_brief(room):
    benchmark = Live(["Hello"], ["Dark", "###STOP###"], short_conversations=True)

    (report,) = benchmark.run([room_task(room)])

    prompt = benchmark.requests("user_simulator")[0]["messages"][0]["content"]
    assert "Keep the conversation short" in prompt
    assert report["config"]["benchmark"]["tau2"]["short_conversations"] is True


# Models that misbehave.

NONSENSE = ChatResponse(
    tool_calls=[
        {"id": "x", "type": "function", "function": {"name": "press_switch", "arguments": "{oops"}}
    ]
)
AGENT_NONSENSE = ChatResponse(
    tool_calls=[
        {"id": "x", "type": "function", "function": {"name": "paint", "arguments": '["red"]'}}
    ]
)


@pytest.mark.parametrize("reply", ["", " \n", ChatResponse(None)])
@pytest.mark.parametrize(("side", "messages"), [("user", 1), ("agent", 2)])
def test_a_model_that_says_nothing_is_an_error_of_its_side(room, reply, side, messages):
    words = ([], [reply]) if side == "user" else ([reply], ["Dark"])

    (report,) = live([room_task(room)], *words)

    assert report["status"] == f"{side}_error"
    assert report["error"]["error_type"] == f"Empty{side.title()}TurnError"
    assert report["eval"] is None
    assert len(conversation(report)) == messages


def test_a_user_that_calls_tools_without_end_reaches_the_limit(room):
    press = tool_call("press_switch", {})

    (report,) = live([room_task(room)], [], [press] * 50, max_invocations=9)

    assert report["status"] == "success"
    verdict = report["eval"][0]
    assert (verdict["reward"], verdict["termination_reason"]) == (0.0, "max_steps")
    note = "Simulation terminated prematurely. Termination reason: TerminationReason.MAX_STEPS"
    assert verdict["note"] == note
    assert len(conversation(report)) == 10


def test_unknown_tools_and_malformed_arguments_are_answered_and_score_the_same_in_replay(room):
    task = room_task(room, RED, action("press_switch", "user"))
    agent = [
        tool_call("burn", {}),
        AGENT_NONSENSE,
        [tool_call("paint", {"color": "red"}), tool_call("none", {}), PAINT_RED],
        "Press it",
        "Bye",
    ]
    user = [
        "Dark",
        NONSENSE,
        tool_call("paint", {}),
        tool_call("press_switch", {}),
        "On",
        "###STOP###",
    ]

    (report,) = live([task], agent, user)

    answers = [message["content"] for message in conversation(report) if message["role"] == "tool"]
    assert [answer.partition(":")[0] for answer in answers[:4]] == ["Error"] * 4
    assert answers[4] == "The wall is red."
    verdict = report["eval"][0]
    assert verdict["reward"] == 1.0
    again = score_simulation(simulation(report), domain=room, task=task)
    assert again == verdict["reward_info"]
    assert score_simulation(simulation(report), domain=room, task=task, strict=True) == again


def test_a_run_can_be_judged_again_without_any_agent(room):
    task = room_task(room, RED)
    benchmark = Live([PAINT_RED, "Red"], ["Red, please", "###STOP###"])
    reports = benchmark.run([task])

    assert benchmark.rescore(reports)[0]["eval"] == reports[0]["eval"]


# Agents of any framework.


class Framework(AgentAdapter):
    """An agent that calls the environment's tools as functions, and answers with a text."""

    def __init__(self, work: Callable[..., Any], tools: dict[str, Any]) -> None:
        super().__init__(work, "framework")
        self.tools = tools

    def _run_agent(self, query: str) -> Any:
        return self.agent(self.tools, query)


class WithFramework(Tau2Benchmark):
    def __init__(self, work: Callable[..., Any], user: Customer | None, **settings: int) -> None:
        super().__init__(progress_bar=False, **settings)
        self.work, self.user = work, user

    def setup_user(
        self, agent_data: dict[str, object], environment: Tau2Environment, task: Task
    ) -> User | None:
        return self.user

    def setup_agents(
        self, agent_data: JsonObject, environment: Any, task: Task, user: User | None
    ) -> Agents:
        adapter = Framework(self.work, environment.tools)
        return [adapter], {adapter.name: adapter}


def test_a_frameworks_calls_are_in_the_one_trajectory_and_are_scored(room):
    def work(tools, query):
        tools["look"]()
        return f"{tools['paint']('red')} You said: {query}"

    task = room_task(room, RED, communicate_info=["The wall is red"])
    (report,) = WithFramework(work, Customer("Red", "Thanks")).run([task])

    assert said(report) == [
        ("assistant", "Hi! How can I help you today?"),
        ("user", "Red"),
        ("assistant", None),
        ("tool", '{"wall": "white", "coats": 1}'),
        ("assistant", None),
        ("tool", "The wall is red."),
        ("assistant", "The wall is red. You said: Red"),
        ("user", "Thanks ###STOP###"),
    ]
    assert report["eval"][0]["reward"] == 1.0
    again = score_simulation(simulation(report), domain=room, task=task)
    assert again == report["eval"][0]["reward_info"]


@pytest.mark.parametrize(("limit", "reason"), [(7, "max_steps"), (8, "user_stop")])
def test_a_frameworks_steps_count_like_anybodys(room, limit, reason):
    def work(tools, query):
        tools["look"]()
        tools["look"]()
        return "Done"

    # A text, two calls with their answers, a text: with the user's last word seven steps.
    (report,) = WithFramework(work, Customer("Red", "Thanks"), max_invocations=limit).run(
        [room_task(room)]
    )

    assert report["eval"][0]["termination_reason"] == reason


def test_a_framework_that_never_stops_is_told_that_it_is_over(room):
    heard = []

    def work(tools, query):
        while not heard or not heard[-1].startswith("Error: the simulation is over"):
            heard.append(tools["look"]())
        return "I give up"

    (report,) = WithFramework(work, Customer("Red", "Thanks"), max_invocations=11).run(
        [room_task(room)]
    )

    assert len(heard) == 6
    assert report["eval"][0]["termination_reason"] == "max_steps"


class Waiting(Customer):
    """A customer who speaks only when somebody has acted meanwhile."""

    def __init__(self, *lines: str) -> None:
        super().__init__(*lines)
        self.thinking, self.interrupted = threading.Event(), threading.Event()

    def respond(self, message: str) -> str:
        self.thinking.set()
        assert self.interrupted.wait(30)
        return super().respond(message)


def test_a_call_during_the_customers_turn_or_after_the_end_is_refused_without_a_trace(room, caplog):
    heard, customer = [], Waiting("Red", "Thanks")
    environments = []

    def meanwhile(tools):
        customer.thinking.wait(30)
        heard.append(tools["paint"]("blue"))
        heard.append(tools["look"]())
        customer.interrupted.set()

    def work(tools, query):
        threading.Thread(target=meanwhile, args=[tools], daemon=True).start()
        environments.append(tools)
        return tools["paint"]("red")

    with caplog.at_level("WARNING"):
        (report,) = WithFramework(work, customer).run([room_task(room, RED)])
        before = said(report)
        heard.append(environments[0]["paint"]("blue"))

    assert heard == [OUT_OF_TURN, OUT_OF_TURN, AFTER_END]
    assert (
        said(report)
        == before
        == [
            ("assistant", "Hi! How can I help you today?"),
            ("user", "Red"),
            ("assistant", None),
            ("tool", "The wall is red."),
            ("assistant", "The wall is red."),
            ("user", "Thanks ###STOP###"),
        ]
    )
    assert report["eval"][0]["reward"] == 1.0
    remarks = [each for each in caplog.messages if "out of turn" in each]
    assert len(remarks) == 1


def test_an_agent_whose_thread_never_stops_calling_has_one_verdict_in_every_run(room):
    def work(tools, query):
        def look_on():
            while tools["look"]() != AFTER_END:
                pass

        threading.Thread(target=look_on, daemon=True).start()
        return tools["paint"]("red")

    for _ in range(5):
        task = room_task(room, RED)
        benchmark = WithFramework(work, Customer("Red", "Thanks"), max_invocations=10**6)
        (report,) = benchmark.run([task])
        roles = [role for role, _ in said(report)]
        assert roles[-2:] == ["assistant", "user"]
        assert report["eval"][0]["reward"] == 1.0
        again = score_simulation(simulation(report), domain=room, task=task)
        assert again == report["eval"][0]["reward_info"]


def test_a_team_that_fails_is_over_as_well(room):
    kept = []

    def work(tools, query):
        kept.append(tools)
        raise RuntimeError("broken")

    WithFramework(work, Customer("Red", "Thanks")).run([room_task(room)])

    assert kept[0]["look"]() == AFTER_END


def test_without_a_user_the_agent_answers_the_tasks_query_once(room):
    def work(tools, query):
        return tools["paint"]("red") + query

    (report,) = WithFramework(work, None).run([room_task(room, RED)])

    assert [role for role, _ in said(report)] == ["user", "assistant", "tool", "assistant"]
    verdict = report["eval"][0]
    assert (verdict["reward"], verdict["termination_reason"]) == (1.0, "agent_stop")


# What reports carry.


def test_a_report_carries_what_is_needed_to_compute_it_again(room):
    task = room_task(room, RED)
    task.user_data["llm_args"] = {"temperature": 0.7}
    (report,) = live([task], [PAINT_RED, "Red"], ["Red, please", "###STOP###"], seed=3)

    rules = report["config"]["benchmark"]["tau2"]
    assert rules["rules"] == "tau2-bench v0.2.0"
    assert (rules["mode"], rules["max_steps"]) == ("normal", 200)
    assert set(rules["data"]["room"]) == {"db.json", "user_db.json", "tasks", "policy"}
    assert report["seed"] == 3
    seeds = report["config"]["seeding"]["seed_generator"]["seeds"]
    models = report["config"]["models"]
    assert models["agent_model"]["seed"] == seeds["agents/default_agent"]
    assert models["user_simulator"]["seed"] == seeds["simulators/user"]
    assert report["config"]["user"]["llm_args"] == {"temperature": 0.7}
    assert report["config"]["agents"]["default_agent"]["llm_args"] == {"temperature": 0.0}
    assert simulation(report)["termination_reason"] == "user_stop"
    checks = report["eval"][0]["action_check"]["action_checks"]
    assert checks == [{"action_id": "gold_0", "name": "paint", "matched": True}]
    json.dumps(report)


def test_keys_among_a_models_parameters_do_not_reach_the_report(room):
    benchmark = Live(["Hello"], ["Dark", "###STOP###"])

    (report,) = benchmark.run(
        [room_task(room)],
        agent_data={"model_id": "caretaker", "llm_args": {"api_key": "sk-canary-0123456789"}},
    )

    assert "sk-canary-0123456789" not in json.dumps(report, default=str)


def test_the_rules_of_a_run_are_those_of_its_own_tasks(room):
    benchmark = Live(lambda *_: "Hello", lambda *_: "###STOP###")

    (first,) = benchmark.run([room_task(room)])
    benchmark.run([])

    assert list(first["config"]["benchmark"]["tau2"]["data"]) == ["room"]
    assert benchmark.benchmark_level_config["tau2"]["data"] == {}


def test_models_that_are_not_named_are_asked_for(room):
    task = room_task(room)
    (no_agent,) = Live([], []).run([task], agent_data={})
    task.user_data["model_id"] = None
    (no_user,) = Live([], []).run([task])

    assert 'agent_data={"model_id": ...}' in no_agent["error"]["error_message"]
    assert "configure_model_ids(tasks, user_model_id=...)" in no_user["error"]["error_message"]


def test_a_judge_is_asked_only_if_a_task_names_one(room):
    task = room_task(room, nl_assertions=["The agent is kind."], reward_basis=["NL_ASSERTION"])
    task.evaluation_data["model_id"] = "judge"
    verdict = json.dumps(
        {"results": [{"expectedOutcome": "kind", "metExpectation": True, "reasoning": "is"}]}
    )

    (report,) = live([task], ["Hello"], ["Dark", "###STOP###"], [verdict])

    assert report["eval"][0]["reward"] == 1.0
    assert report["config"]["models"]["nl_evaluator"]["model_id"] == "judge"
    task.evaluation_data["model_id"] = None
    (report,) = live([task], ["Hello"], ["Dark", "###STOP###"])
    assert report["eval"][0]["reward"] is None and report["eval"][0]["needs_judge"] is True


# Nothing of the solution reaches a model.


def secrets(task: Task) -> Iterator[str]:
    """Everything that only an evaluator may know, as it would look if it leaked."""
    data = task.evaluation_data
    for gold in data["actions"] or ():
        if not gold["action_id"].replace("_", "").isdecimal():  # "1_2" is a part of many ids
            yield gold["action_id"]
        if len(gold["arguments"]) > 1:
            yield json.dumps(gold["arguments"])
            yield str(gold["arguments"])
    for assertion in data["env_assertions"] or ():
        yield assertion["func_name"]
    yield from data["nl_assertions"] or ()
    if data["communicate_info"]:
        yield json.dumps(data["communicate_info"])
        yield str(data["communicate_info"])
    yield from ("evaluation_criteria", "resolution_steps", "reward_basis", "communicate_info")


@pytest.mark.data
@pytest.mark.parametrize("domain", ["airline", "retail", "telecom", "telecom-workflow"])
def test_neither_side_is_sent_anything_of_the_solution(domain, tau2_data):
    tasks = load_tasks(domain, limit=40).to_list()
    benchmark = Live(
        lambda *_: "How can I help?",
        lambda messages, _: "###STOP###" if len(messages) > 5 else "Please help me.",
    )
    for task in tasks:
        task.user_data["model_id"] = "user"
        (report,) = benchmark.run([task])
        assert report["status"] == "success"
        everything = sent(benchmark)
        assert len(everything) > 10_000
        told = json.dumps([task.user_data, task.environment_data["policy"]])
        assert [one for one in secrets(task) if one in everything and one not in told] == []
        benchmark.models = {name: [] for name in benchmark.models}


@pytest.mark.data
def test_the_search_for_leaks_finds_them_where_the_plan_is_shown(tau2_data):
    task = load_tasks("telecom")[0]
    task.user_data["model_id"] = "user"
    benchmark = Live(["How can I help?"], ["Hello", "###STOP###"], mode="oracle-plan")

    benchmark.run([task])

    assert "resolution_steps" in sent(benchmark)
    assert "resolution_steps" in set(secrets(task))


def sent(benchmark: Live) -> str:
    """Everything that was sent to a model, both as it is and as JSON."""
    requests = [*benchmark.requests("agent_model"), *benchmark.requests("user_simulator")]
    texts = [message["content"] or "" for one in requests for message in one["messages"]]
    return "\n".join([json.dumps(requests), *texts])
