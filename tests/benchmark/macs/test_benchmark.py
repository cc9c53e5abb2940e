import json
from pathlib import Path

import pytest

from maseval.benchmark.macs import score_conversation
from maseval.benchmark.macs.default_benchmark import team_of
from maseval.benchmark.macs.evaluator import load_templates
from maseval.benchmark.macs.scoring import conversation_text
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import RecordedReport
from maseval.core.recorded import LoggedCall
from maseval.core.scripted import ScriptedModelAdapter
from tests.benchmark.macs.team import SCRIPT, TEAM, Played, a_task, agent, played, verdict

pytestmark = pytest.mark.data


@pytest.fixture(autouse=True)
def templates_at_hand(macs_data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("MASEVAL_MACS_DATA", str(macs_data))


def test_a_team_books_a_room_and_both_judges_agree():
    report, benchmark = played()
    assert report["status"] == "success"
    assert report["final_answer"] == "It is booked."
    (evaluation,) = report["eval"]
    assert evaluation["overall_gsr"] == 1.0
    assert evaluation["passed"] is True
    assert evaluation["coverage"]["user"]["true"] == 1
    assert {name for name, model in benchmark.asked.items() if model.requests} == set(SCRIPT)


def test_the_conversation_is_recorded_in_the_original_s_form_and_judged_by_it():
    report, benchmark = played()
    rows = report["traces"]["environment"]["trajectories"]
    assert [(row["source"], row["destination"], row["content"]) for row in rows["desk"]] == [
        ("User", "desk", "A room, please"),
        ("desk", "hotel", "Two nights"),
        ("hotel", "desk", "Booked."),
        ("desk", "User", "It is booked."),
    ]
    called = {"tool_name": "Hotel::book", "tool_parameters": {"nights": 2}}
    asked = benchmark.asked["evaluator_system_gsr"].requests[0]["messages"][0]["content"]
    assert f"[hotel Action]: {called}\n[hotel Observation]: number 7" in asked
    assert "[desk -> User]: It is booked." in asked


def test_an_exported_conversation_is_scored_again_with_the_same_numbers():
    report, _ = played({**SCRIPT, "evaluator_system_gsr": [verdict("FALSE")]})
    written = json.loads(conversation_text(report["traces"]["environment"]["trajectories"]))
    assert "CC BY 4.0" in written["attribution"]
    scenario = {
        "scenario": "Goals: a room",
        "input_problem": "A room, please",
        "assertions": ["user: told", "agent: booked"],
    }
    judge = ScriptedModelAdapter([verdict("TRUE"), verdict("FALSE")])
    ids = {"primary_agent_id": "desk", "human_id": "User"}
    result = score_conversation(
        written, scenario, judge, templates=load_templates(), strict=True, **ids
    )
    (evaluation,) = report["eval"]
    assert result["partial_gsr"] == evaluation["overall_partial_gsr"] == 0.5
    assert result["report"] == evaluation["report"]


def test_traces_hold_every_agent_every_tool_and_the_user():
    report, _ = played()
    assert list(report["traces"]["agents"]) == ["desk", "hotel", "cleaner"]
    (invocation,) = report["traces"]["tools"]["book"]["invocations"]
    assert (invocation["inputs"], invocation["outputs"]) == ({"nights": 2}, "number 7")
    assert report["traces"]["user"]["stopped_by_user"] is True
    assert len(report["traces"]["agents"]["hotel"]["messages"]) == 4


def test_the_record_names_who_asked_each_model_in_order_of_time():
    report, _ = played()

    asked = [e.agent for e in RecordedReport(report).events() if isinstance(e.entry, LoggedCall)]
    team = ["desk", "hotel", "hotel", "hotel", "desk"]  # the second one of hotel's plays its tool
    assert asked == [*team, "user"]


def test_the_configuration_says_what_the_number_depends_on():
    report, _ = played(seed=1)
    judge = report["config"]["evaluators"]["system_gsr"]
    assert judge["max_try"] == 2
    assert judge["generation_params"]["temperature"] == 0
    settings = report["config"]["benchmark"]["macs"]
    assert settings["data_commit"].startswith("cb82575c")
    assert settings["use_output_schema"] is True
    seeds = report["config"]["seeding"]["seed_generator"]["seeds"]
    assert list(seeds) == [
        "environment/tools/tool_book",
        "simulators/user",
        "agents/desk",
        "agents/hotel",
        "agents/cleaner",
        "evaluators/user_gsr",
        "evaluators/system_gsr",
    ]


def test_an_agent_s_mistake_is_told_to_it_and_seen_by_the_judge():
    wrong = [
        {"name": "book", "arguments": {"nights": "two"}},
        {"name": "fly", "arguments": {}},
        {"name": "desk", "arguments": {"message": "How many?"}},
        {"name": "cleaner", "arguments": {}},
        "I cannot.",
    ]
    report, benchmark = played({**SCRIPT, "agent_hotel": wrong})
    said = [
        message["content"]
        for message in report["traces"]["agents"]["hotel"]["messages"]
        if message["role"] == "tool"
    ]
    for text, expected in zip(
        said,
        ["expected integer", "there is no tool 'fly'", "desk waits for", "needs a 'message'"],
        strict=True,
    ):
        assert text.startswith("Error: ")
        assert expected in text
    asked = benchmark.asked["evaluator_system_gsr"].requests[0]["messages"][0]["content"]
    assert "[hotel Observation]: Error: [book] Argument 'nights' expected integer" in asked


def test_an_agent_that_never_answers_is_an_agent_error():
    forever = [{"name": "book", "arguments": {"nights": 1}}] * 9
    script = {**SCRIPT, "agent_desk": [{"name": "hotel", "arguments": {"message": "go"}}] * 9}
    benchmark = Played({**script, "agent_hotel": forever, "tool_book": ['{"text": "ok"}'] * 9})
    data = {**TEAM, "model_id": "play/part", "max_steps": 2}
    (report,) = benchmark.run([a_task()], agent_data=data)
    assert report["status"] == "agent_error"
    assert report["error"]["error_message"].startswith("[desk] agent 'desk' gave no answer within")


def test_a_tool_that_cannot_be_played_is_not_the_agents_fault():
    report, _ = played({**SCRIPT, "tool_book": ["nonsense"] * 3})
    assert report["status"] == "environment_error"
    assert report["eval"] is None


def test_the_fifth_message_of_the_user_is_never_answered():
    report, _ = played(
        {
            **SCRIPT,
            "agent_desk": [f"answer {n}" for n in range(9)],
            "user_simulator": ['{"text": "more"}'] * 9,
        }
    )
    assert report["final_answer"] == "answer 3"
    assert report["traces"]["user"]["turns_used"] == 5


def test_a_finished_run_can_be_judged_again_without_running_it():
    report, benchmark = played()
    benchmark.script = {**SCRIPT, "evaluator_system_gsr": [verdict("FALSE")]}
    benchmark.tasks[0].environment_data.pop("model_id")  # nobody plays the tools any more
    (again,) = benchmark.rescore([report], agent_data={**TEAM, "model_id": "play/part"})
    assert again["eval"][0]["system_gsr"] == 0.0
    assert again["eval"][0]["user_gsr"] == 1.0


@pytest.mark.parametrize(
    ("part", "role"),
    [("environment_data", "tool"), ("user_data", "user"), ("evaluation_data", "evaluator")],
)
def test_a_missing_model_names_its_role_and_the_way_out(part, role):
    task = a_task()
    getattr(task, part).pop("model_id")
    (report,) = Played().run([task], agent_data={**TEAM, "model_id": "play/part"})
    assert report["status"] == "setup_failed"
    assert f"configure_model_ids(tasks, {role}_model_id=...)" in report["error"]["error_message"]


def test_a_team_without_a_model_or_a_domain_is_refused_with_the_way_out():
    (report,) = Played().run([a_task()], agent_data=TEAM)
    assert 'agent_data={"model_id": ...}' in report["error"]["error_message"]
    (report,) = Played().run([a_task()], agent_data={"model_id": "play/part"})
    assert "names no domain" in report["error"]["error_message"]


def test_a_team_with_another_primary_agent_than_the_task_s_is_refused():
    (report,) = Played().run([a_task(domain="travel")], agent_data={"model_id": "play/part"})
    assert report["status"] == "setup_failed"
    assert (
        "'desk' talks to the user, but 'travel_agent' does in" in (report["error"]["error_message"])
    )


def test_the_team_of_the_task_s_domain_is_loaded_if_none_is_given():
    task = a_task(domain="travel")
    task.environment_data["primary_agent_id"] = "travel_agent"
    benchmark = Played({"agent_travel_agent": ["Hello."], **SCRIPT})
    (report,) = benchmark.run([task], agent_data={"model_id": "play/part"})
    assert report["status"] == "success"
    assert len(report["traces"]["agents"]) == 10


def test_a_team_is_what_can_be_reached_from_its_primary_agent_each_once():
    assert [spec["agent_id"] for spec in team_of(TEAM)] == ["desk", "hotel", "cleaner"]
    with pytest.raises(ConfigurationError, match="'chef', which is none of the agents: desk"):
        team_of({"agents": [agent("desk")], "primary_agent_id": "chef"})


@pytest.mark.parametrize(("policy", "sent"), [(None, 0), ("auto", 1)])
@pytest.mark.parametrize("how", ["agent_data", "benchmark"])
def test_a_team_is_sent_its_own_thoughts_if_that_is_asked_for(policy, sent, how):
    call = {"name": "book", "arguments": {"nights": 2}}
    thinking = {"tool_calls": [call], "reasoning": "a secret thought"}
    benchmark = Played({**SCRIPT, "agent_hotel": [thinking, "Booked."]})
    data = {**TEAM, "model_id": "play/part"}
    if how == "benchmark":
        benchmark.reasoning_policy = policy
    else:
        data["reasoning_policy"] = policy

    benchmark.run([a_task()], agent_data=data)

    asked = {name: json.dumps(model.requests) for name, model in benchmark.asked.items()}
    assert asked.pop("agent_hotel").count("a secret thought") == sent
    assert "a secret thought" not in json.dumps(asked)
