"""What a run costs: prices, budgets in money, and where the cost is shown."""

import json
from pathlib import Path

import pytest

from tests.cli.commandline import last_json, maseval, slow_agent

LIBRARY = ("tau2", "run", "--domain", "library", "-n", 2, "--concurrency", 1)
pytestmark = pytest.mark.usefixtures("in_a_folder_of_its_own")


@pytest.fixture
def agent(tmp_path: Path) -> list[str]:
    return slow_agent(tmp_path, 0)


@pytest.fixture
def prices(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "prices.json").write_text(
        json.dumps({f"scripted/{tmp_path}/slow.json": {"input": 10, "output": 30}})
    )
    return ("--prices", "prices.json")


def test_a_budget_that_cannot_be_watched_is_refused_before_the_first_call(agent, tmp_path):
    refused = maseval(*LIBRARY, *agent, "--budget", "20usd")

    assert refused.exit_code == 2
    told = " ".join(refused.stderr.split())
    assert f"the price of 'scripted/{tmp_path}/slow.json' is not known" in told
    assert "--prices FILE" in told and "'2M tokens'" in told
    assert not (tmp_path / "runs").exists()


def test_an_address_in_the_environment_is_a_server_of_ones_own_too(monkeypatch):
    pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    own = ("--agent-model", "openai/gpt-4.1", "--user", "scripted")

    refused = maseval(*LIBRARY, *own, "--budget", "20usd")

    assert "the price of 'openai/gpt-4.1' is not known" in " ".join(refused.stderr.split())


def test_the_cost_is_in_the_run_the_list_and_the_report_and_the_prices_in_the_run(
    agent, prices, tmp_path
):
    ran = maseval(*LIBRARY, *agent, *prices, "--output", "runs/r", "--json")

    told = last_json(ran.stdout)
    (noted,) = told["prices"]["models"].values()
    assert noted["source"] == "prices.json" and (noted["input"], noted["output"]) == (10, 30)
    shown = f"${told['cost']:.4f}"
    assert shown in ran.stderr and shown in maseval("show", "r").stdout
    assert shown in maseval("runs").stdout
    (listed,) = json.loads(maseval("runs", "--json").stdout)
    assert listed["cost"] == pytest.approx(told["cost"]) and listed["tokens"] == told["tokens"]
    maseval("report", "r", "--output", "report.html")
    assert '"cost"' in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_model_without_a_price_is_named_where_the_cost_should_stand(agent, tmp_path):
    ran = maseval(*LIBRARY, *agent, "--output", "runs/r")

    assert "cost not known (no price for scripted/" in " ".join(ran.stdout.split())
    assert "not known" in maseval("runs").stdout


def test_a_model_that_costs_nothing_is_believed(agent, tmp_path):
    name = f"scripted/{tmp_path}/slow.json"
    (tmp_path / "free.toml").write_text(f'["{name}"]\ninput = 0\noutput = 0\n')

    ran = maseval(*LIBRARY, *agent, "--prices", "free.toml", "--budget", "$1", "--json")

    assert ran.exit_code == 0 and last_json(ran.stdout)["cost"] == 0
    assert "$0.00" in ran.stderr


def test_a_budget_in_money_stops_a_run_which_other_prices_do_not_keep_from_being_resumed(
    agent, prices
):
    run = [*LIBRARY, *agent, "--output", "r", "--json"]
    stopped = maseval(*run, *prices, "--budget", "0.0001usd")
    told = last_json(stopped.stdout)
    assert stopped.exit_code == 3 and told["ran"] == 1
    assert told["cost"] > 0.0001 and "budget of $0.0001 is reached" in told["stopped"]

    resumed = maseval(*run)

    assert resumed.exit_code == 0 and last_json(resumed.stdout)["ran"] == 1


def test_a_run_remembers_the_prices_it_was_started_with(agent, prices):
    first = last_json(maseval(*LIBRARY, *agent, *prices, "--output", "r", "--json").stdout)
    second = maseval(*LIBRARY, *agent, "-k", 2, "--output", "r", "--json")
    third = last_json(maseval(*LIBRARY, *agent, "-k", 3, "--output", "r", "--json").stdout)

    told = last_json(second.stdout)
    assert first["cost"] > 0 and told["cost"] == pytest.approx(2 * first["cost"])
    assert third["cost"] == pytest.approx(3 * first["cost"])
    assert "unknown cost" not in second.stderr


def test_a_part_of_the_cost_is_not_shown_as_the_whole(agent, prices):
    maseval(*LIBRARY, *agent, "--output", "r")
    again = maseval(*LIBRARY, *agent, *prices, "-k", 2, "--output", "r")

    for printed in (again.stdout, maseval("show", "r").stdout):
        assert "and the unknown cost of 2 simulations" in " ".join(printed.split())
