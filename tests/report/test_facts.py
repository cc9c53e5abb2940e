from typing import Any

from maseval.core.index_line import facts_of
from maseval.core.outcome import RecordedReport
from maseval.report.index import run_facts, usage_rows
from tests.report.builders import report, simulated


def facts_in(
    reports: list[dict[str, Any]], more: list[tuple[str, str]] | tuple[Any, ...] = ()
) -> list[tuple[str, str]]:
    parsed = [RecordedReport(each) for each in reports]
    started = [each.started_at for each in parsed]
    return run_facts(started, more, map(facts_of, parsed), [each.benchmark for each in parsed])


def test_the_facts_of_all_reports_are_put_together():
    other = {"models": {"agent_model": {"model_id": "lab/agent-2"}}}
    facts = dict(facts_in([simulated(), simulated(domain="airline", config=other)]))

    assert facts["Domain"] == "retail, airline"
    assert facts["Model of agent"] == "lab/agent-1, lab/agent-2"
    assert "Seed" not in facts  # that of a trial is not that of the run


def test_a_player_is_named_with_its_error_rate():
    config = {
        "agents": {"a": {"agent_type": "ScriptedAgent", "player": "noisy", "error_rate": 0.1}}
    }
    assert dict(facts_in([report(config=config)]))["Agent"] == "noisy, error rate 0.1"


def test_many_values_are_cut():
    facts = dict(facts_in([report(run_id=str(run)) for run in range(9)]))
    assert facts["Run"] == "0, 1, 2, 3, 4, 5 and 3 more"


def test_rules_and_data_of_the_benchmark_are_facts_and_the_machine_is_not():
    benchmark = {
        "environment": {"HOME": "/home/somebody"},
        "system": {"hostname": "desk"},
        "packages": {"maseval": "1.0", "rich": "13"},
        "git": {"commit_hash_short": "abc1234", "is_dirty": True},
        "tau2": {"rules": "tau2-bench v0.2.0", "data": {"retail": {"db.json": "413a"}}},
    }
    facts = dict(facts_in([report(config={"benchmark": benchmark})]))

    assert facts["tau2 rules"] == "tau2-bench v0.2.0"
    assert facts["tau2 data retail db.json"] == "413a"
    assert facts["Commit"] == "abc1234 with changes"
    assert "desk" not in str(facts)
    assert "somebody" not in str(facts)


def test_usage_has_a_row_for_each_component_that_used_something():
    usage = {
        "models": {"clerk": {"input_tokens": 80, "output_tokens": 3, "cost": 0.5}},
        "agents": {"desk": {"cost": 0.0, "units": {}}},
        "user": {"input_tokens": 5, "cost": 0.25},
        "environment": None,
        "metadata": {"total_components": 2},
    }
    attempts = [{"usage": {"models": {"clerk": {"cost": 1.0}}}}]
    finished = report(usage=usage, attempts=attempts)

    assert [row["name"] for row in usage_rows(RecordedReport(finished))] == [
        "clerk",
        "user",
        "clerk (attempt 1)",
    ]
    assert [row["cost"] for row in usage_rows(RecordedReport(finished))] == [0.5, 0.25, 1.0]


def test_what_else_is_known_of_the_run_comes_before_what_its_reports_say():
    facts = facts_in(
        [report(started_at="2025-01-01T10:00:00")], [("Command", "maseval --k sk-" + 20 * "x")]
    )

    assert [name for name, _ in facts[:2]] == ["Date", "Command"]
    assert dict(facts)["Command"] == "maseval --k <redacted>"


def test_models_of_many_agents_and_tools_are_named_together():
    names = ("agent_desk", "agent_hotel", "tool_book", "user_simulator", "agent_model")
    models = {name: {"model_id": f"lab/{name[0]}"} for name in names}
    facts = dict(facts_in([report(config={"models": models})]))
    assert facts["Model of agents"] == "lab/a"
    assert facts["Model of tools"] == "lab/t"
    assert facts["Model of user simulator"] == "lab/u"
    assert facts["Model of agent"] == "lab/a"


def test_whose_texts_a_page_shows_is_a_fact_of_it():
    given = report()
    given["task"] = {"metadata": {"attribution": "Somebody, CC BY 4.0"}}
    assert dict(facts_in([given]))["Attribution"] == "Somebody, CC BY 4.0"


def test_a_run_is_named_by_its_models_and_not_by_the_class_that_asked_them():
    config = {
        "agents": {"a": {"agent_type": "OpenAIModelAdapter", "name": "OpenAIModelAdapter"}},
        "models": {"clerk": {"model_id": "lab/clerk"}, "user_simulator": {"model_id": "lab/user"}},
    }
    assert dict(facts_in([report(config=config)]))["Evaluated"] == "lab/clerk"


def test_what_the_configuration_names_comes_before_what_reports_say():
    facts = dict(facts_in([simulated()], more=[("Evaluated", "gpt-4.1 with team.py")]))
    assert facts["Evaluated"] == "gpt-4.1 with team.py"


def test_scripted_models_of_many_simulations_share_a_line():
    reports = [
        simulated(str(at), config={"models": {"agent_model": {"model_id": f"noisy-retail-{at}"}}})
        for at in range(9)
    ]
    facts = dict(facts_in(reports))
    assert facts["Model of agent"] == "noisy-retail-… (9 names)"
    assert facts["Evaluated"] == "9 models"
