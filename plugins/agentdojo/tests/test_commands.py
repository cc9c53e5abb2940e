"""The commands of maseval with runs of AgentDojo."""

import json
from pathlib import Path

import pytest
from maseval_agentdojo import AgentDojo
from maseval_agentdojo.support import SUPPORT
from typer.testing import CliRunner

from maseval.cli.app import app
from maseval.commands import run, show
from maseval.runs import RunFolder

EXAMPLE = Path(__file__).parents[1] / "examples" / "defences.toml"
ATTACKED = {"suite": "slack", "attack": "important_instructions", "version": "v1.1.2"}


def maseval(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_its_command_has_an_option_for_each_argument(tmp_path):
    words = ("agentdojo", "run", "--suite", "slack", "--attack", "direct", "--model-id", "obeys")

    planned = maseval(*words, "-n", 3, "-o", tmp_path / "run", "--dry-run", "--json")
    done = maseval(*words, "-n", 3, "-o", tmp_path / "run", "--json")

    assert json.loads(planned.stdout)["left"] == 3 and done.exit_code == 0, done.output
    config = json.loads((tmp_path / "run" / "config.json").read_text())["config"]
    assert config["set"] == {"attack": "direct", "suite": ["slack"]}
    # What nobody gave is there as well: another default later is another experiment.
    usual = {"attacked_model": "gpt-4o-2024-05-13", "rounds": 15, "version": "v1.2.2"}
    assert {**config["defaults"], **usual} == config["defaults"]
    assert config["agent"]["system"] == "none" and config["agent"]["model_id"] == "obeys"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--suite", "work"), "suite is 'work'; choose one of: workspace, travel"),
        (("--version", "v3"), "version is 'v3'; choose one of: v1, "),
        (("--attack", "all"), "attack is 'all'; choose one of: none, "),
        (("--rounds", "0"), "rounds is 0; an agent needs 1 or more"),
    ],
)
def test_wrong_options_are_refused(words, said):
    refused = maseval("agentdojo", "run", *words)

    assert refused.exit_code == 2 and said in " ".join(refused.output.split())


def test_cases_of_one_user_task_are_one_cluster(tmp_path):
    result = run(
        benchmark=AgentDojo,
        set=ATTACKED,
        agent_data={"model_id": "obeys:0.5"},
        num_tasks=30,
        output=tmp_path / "run",
    )

    assert {each.cluster for each in show(result.folder).lines} == {
        f"user_task_{number}" for number in range(6)
    }


def test_an_edited_verdict_is_found(tmp_path):
    given = {"num_tasks": 2, "agent_data": {"model_id": "obeys"}}
    result = run(benchmark=AgentDojo, set=ATTACKED, output=tmp_path / "run", **given)
    folder = RunFolder.read(result.folder)
    check = SUPPORT.verdict_checker(folder)
    [report, _] = folder.reports()

    assert check(report) is None
    report["eval"][0]["resisted"] = True

    assert "attacked: True" in check(report).text


def test_a_run_can_be_killed_and_resumed(tmp_path):
    given = dict(benchmark=AgentDojo, set=ATTACKED, output=tmp_path / "run", num_tasks=6)
    run(**given, budget="500 tokens", concurrency=1)
    half = len(list(show(tmp_path / "run").lines))

    whole = run(**given)

    assert whole.complete and 0 < whole.ran < 6 and half < 6
    assert run(**given).ran == 0


def test_processes_give_the_same_numbers(tmp_path):
    given = dict(benchmark=AgentDojo, set=ATTACKED, num_tasks=8, agent_data={"model_id": "noisy"})
    here = run(**given, output=tmp_path / "here")
    there = run(**given, output=tmp_path / "there", engine="processes", processes=2)

    verdicts = [[each.passed for each in show(one.folder).lines] for one in (here, there)]
    assert verdicts[0] == verdicts[1] and there.complete


OWN_AGENT = """
import json
from maseval import MessageHistory, tool_definition

def agent(brief):
    def answer(query):
        model, said = brief.chat_model(), MessageHistory()
        said.add_message("user", query)
        tools = [tool_definition(each) for each in brief.tools.values()]
        while (response := model.chat(said, tools=tools)).tool_calls:
            said.add_response(response)
            for call in response.tool_calls:
                tool = brief.tools[call["function"]["name"]]
                text = tool(**json.loads(call["function"]["arguments"]))
                said.add_tool_response(call["id"], text)
        return response.content
    return answer
"""


def test_an_agent_of_ones_own_is_rehearsed(tmp_path):
    (tmp_path / "mine.py").write_text(OWN_AGENT)
    words = ("--agent", f"{tmp_path}/mine.py:agent", "--rehearse", "gold", "--suite", "banking")

    done = maseval("agentdojo", "run", *words, "-o", tmp_path / "run", "--json")

    assert json.loads(done.stdout)["overall"]["passed"] == 16, done.output


def test_one_file_compares_four_defences(tmp_path):
    text = EXAMPLE.read_text().replace('"runs/defences"', f'"{tmp_path}/grid"')
    (tmp_path / "defences.toml").write_text(text)

    done = maseval("run", tmp_path / "defences.toml", "-n", 25)

    assert done.exit_code == 0, done.output
    shown = maseval("compare", tmp_path / "grid").output
    assert "checker" in shown and "shown" in shown and "undecided" in shown
    page = tmp_path / "defences.html"
    written = maseval("report", *sorted((tmp_path / "grid").iterdir()), "--output", page)
    assert written.exit_code == 0, written.output
    assert "tool_filter" in page.read_text()


def test_an_attack_is_a_factor_of_a_grid_beside_none(tmp_path):
    levels = 'attack = ["none", "important_instructions"]\nmodel_id = ["gold", "obeys"]'
    where = f'suite = "slack"\noutput = "{tmp_path}/grid"'
    text = f'benchmark = "agentdojo"\n{where}\n[grid]\n{levels}\n'
    (tmp_path / "attacks.toml").write_text(text)

    done = maseval("run", tmp_path / "attacks.toml", "-n", 25)

    assert done.exit_code == 0, done.output
    refused = maseval("compare", tmp_path / "grid")
    assert refused.exit_code == 2 and "--measure useful" in refused.output
    compared = maseval("compare", tmp_path / "grid", "--measure", "useful", "--json")
    assert compared.exit_code == 0, compared.output
    assert "attack" in str(json.loads(compared.stdout))
