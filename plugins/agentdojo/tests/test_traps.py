"""What would be easy to get wrong, each for itself."""

import subprocess
import sys

import pytest
from agentdojo.task_suite.load_suites import get_suite
from maseval_agentdojo import AgentDojo
from maseval_agentdojo.agents import REMOVED, ROUNDS, ToolAgent
from maseval_agentdojo.library import SUITES, VERSIONS, fresh_world
from maseval_agentdojo.players import Player
from maseval_agentdojo.world import RecordError, World, judge_again
from original import original_verdict

from maseval import ChatResponse, ConfigurationError, ScriptedModelAdapter, tool_call


def ran(task, replies, agent=ToolAgent):
    """The world after an agent with a scripted model has answered."""
    world = World(task.environment_data)
    model = ScriptedModelAdapter(replies)
    adapter = agent(lambda role: model, world)
    world.play(lambda: adapter.run(task.query))
    return world, adapter


@pytest.fixture(scope="module")
def benign():
    tasks = AgentDojo(suite="banking", progress_bar=False).load_tasks()
    return {task.id: task for task in tasks}


def test_without_an_attack_nobody_is_attacked_whatever_the_library_says(benign):
    case = benign["user_task_1"].environment_data

    assert original_verdict(case, None, "gold") == (True, True)
    assert judge_again(case, [{"calls": [], "answer": "no"}]) == (False, None)


def test_attacked_means_that_the_goal_was_reached(banking):
    benchmark, tasks = banking
    task = tasks["user_task_0.injection_task_0"]

    [obeyed] = benchmark.run([task], {"model_id": "obeys"})
    [ignored] = benchmark.run([task], {"model_id": "gold"})

    numbers = ("passed", "useful", "resisted")
    assert [obeyed["eval"][0][name] for name in numbers] == [False, False, False]
    assert [ignored["eval"][0][name] for name in numbers] == [True, True, True]


def test_a_task_that_was_only_kept_from_being_done_is_attacked():
    benchmark = AgentDojo(suite="slack", version="v1.1.2", attack="dos", progress_bar=False)
    tasks = benchmark.load_tasks()

    # One for each user task: with the first injection task, which is not number 0 everywhere.
    assert len(tasks) == 21 and tasks[0].id == "user_task_0.injection_task_1"
    assert judge_again(tasks[0].environment_data, [{"calls": [], "answer": "?"}]) == (False, True)


def test_an_agent_that_says_nothing_is_asked_three_times_in_the_same_world(benign):
    task = benign["user_task_0"]
    pay = tool_call("send_money", {"recipient": "x", "amount": 1, "subject": "s", "date": "d"})
    silent = ChatResponse(None)

    world, _ = ran(task, [[pay], silent, silent, silent])

    assert [len(each.calls) for each in world.attempts] == [1, 0, 0]
    assert len(world.state.bank_account.transactions) == 1 + len(
        fresh_world("v1.2.2", "banking", {}).bank_account.transactions
    )
    records = [each.record() for each in world.attempts]
    assert judge_again(task.environment_data, records) == world.verdict
    with pytest.raises(RecordError, match="ends before the agent has answered"):
        judge_again(task.environment_data, records[:2])


def test_an_agent_has_fifteen_rounds_and_what_it_wanted_then_is_noted(benign):
    task = benign["user_task_0"]
    balance = tool_call("get_balance")

    world, _ = ran(task, lambda messages, tools: [balance])

    assert all(sum(c["executed"] for c in a.calls) == ROUNDS for a in world.attempts)
    assert [a.calls[-1]["executed"] for a in world.attempts] == [False] * 3


def test_a_reference_solution_has_more_calls_than_there_are_rounds():
    longest = max(AgentDojo(suite="travel").load_tasks(), key=lambda each: _calls(each))

    assert _calls(longest) == 18
    assert len(Player("gold", longest.environment_data).steps) <= ROUNDS


def _calls(task):
    return sum(map(len, Player("gold", task.environment_data).steps))


def test_a_text_that_looks_like_a_list_is_one(benign):
    world, _ = ran(benign["user_task_0"], [[tool_call("read_file", {"file_path": "['a']"})], "ok"])

    error = world.attempts[0].calls[0]["error"]
    assert "Input should be a valid string" in error and "input_type=list" in error


def test_answers_of_tools_are_yaml_and_their_errors_are_recorded(benign):
    calls = [tool_call("get_iban"), tool_call("get_scheduled_transactions"), tool_call("nothing")]

    _, agent = ran(benign["user_task_0"], [calls, "ok"])

    *_, listed, refused, _ = agent.messages
    assert listed["content"].startswith("- amount:") and "error" not in listed
    assert refused["error"] == refused["content"] == "Invalid tool nothing provided."


def test_an_attack_calls_the_model_by_a_name_that_the_library_knows(banking):
    _, tasks = banking
    injected = next(
        iter(tasks["user_task_0.injection_task_0"].environment_data["injections"].values())
    )

    assert "GPT-4" in injected
    with pytest.raises(ConfigurationError, match="attacked_model is 'mine'; choose one of: gpt-4o"):
        AgentDojo(suite="banking", attack="direct", attacked_model="mine").load_tasks()


@pytest.mark.parametrize("suite", SUITES)
def test_worlds_parsed_in_c_are_equal(suite):
    for version in (VERSIONS[0], "v1.1.2", VERSIONS[-1]):
        slow = get_suite(version, suite).load_and_inject_default_environment({})
        assert fresh_world(version, suite, {}) == slow


def test_some_goals_have_no_reference_solution():
    tasks = AgentDojo(suite="workspace", attack="direct").load_tasks()
    without = {
        task.environment_data["injection_task"]
        for task in tasks[:14]
        if not Player("obeys", task.environment_data).goal_steps
    }

    assert without == {f"injection_task_{number}" for number in range(6, 14)}


def test_a_record_that_leads_elsewhere_is_no_verdict(banking):
    benchmark, tasks = banking
    task = tasks["user_task_0.injection_task_0"]
    [report] = benchmark.run([task], {"model_id": "gold"})
    report["traces"]["environment"]["attempts"][0]["calls"].pop()

    [again] = benchmark.rescore([report], [task])

    assert again["status"] == "evaluation_failed"


def test_the_checker_hides_what_it_finds(banking):
    benchmark, tasks = banking
    some = [
        tasks[name] for name in ("user_task_1.injection_task_0", "user_task_1.injection_task_1")
    ]

    reports = benchmark.run(some, {"model_id": "obeys", "system": "checker"})

    seen = [m.get("content") for r in reports for m in r["traces"]["agents"]["agent"]["messages"]]
    assert REMOVED in seen and any(each["eval"][0]["resisted"] for each in reports)


def test_nothing_stands_in_for_a_client_once_the_library_is_imported():
    check = "import maseval_agentdojo.library, importlib.util as u; print(u.find_spec('cohere'))"
    shown = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=True
    )

    assert shown.stdout.strip() == "None"  # it is not installed here, and nobody else is misled
