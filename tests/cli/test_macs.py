"""``maseval macs``, with scripted models in files."""

import json
from pathlib import Path
from typing import Any

import pytest

from maseval.core.judge_record import JudgeRecord, record_path
from maseval.runs import RunFolder
from tests.cli.commandline import last_json, maseval

pytestmark = pytest.mark.data


@pytest.fixture(autouse=True)
def with_the_data_in_a_folder_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, macs_data: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("MASEVAL_MACS_DATA", str(macs_data))


def rows(*answers: str) -> str:
    return json.dumps([{"assertion": "a", "answer": each, "evidence": "e"} for each in answers])


def scripted(name: str, *replies: str) -> str:
    with open(f"{name}.json", "w", encoding="utf-8") as file:
        json.dump(list(replies), file)
    return f"scripted/{name}.json"


def models(judge: tuple[str, str] = ("TRUE", "TRUE")) -> list[str]:
    return [
        *("--agent-model", scripted("agent", "It is done.")),
        *("--user-model", scripted("user", '{"text": "Thanks </stop>"}')),
        *("--judge-model", scripted("judge", rows(*judge))),
    ]


def run(output: str, *options: int | str, judge: tuple[str, str] = ("TRUE", "TRUE")) -> Any:
    return maseval("macs", "run", "-d", "travel", "-o", output, *options, *models(judge))


def test_a_run_is_kept_resumed_compared_and_looked_at_like_any_other(tmp_path):
    done = run("a", "-n", 2, "-k", 2)
    assert done.exit_code == 0
    assert "4/4" in done.stdout
    assert "100.0%" in done.stdout
    again = run("a", "-n", 2, "-k", 2, "--json")
    assert last_json(again.stdout)["ran"] == 0
    run("b", "-n", 2, "-k", 2, judge=("TRUE", "FALSE"))
    assert "percentage points" in maseval("compare", "a", "b").stdout
    assert "agent: goal not met" in maseval("show", "b").stdout
    assert maseval("report", "a").exit_code == 0
    assert "CC BY 4.0" in (tmp_path / "a" / "report.html").read_text()
    assert "travel" in maseval("runs", ".").stdout
    assert "maseval macs run -d travel -o a" in maseval("show", "a").stdout


def test_a_judge_that_cannot_be_read_is_asked_again_and_no_conversation_is_played_again():
    others = models()[:-2]

    def judged(*replies):
        judge = ("--judge-model", scripted("judge", *replies))
        return maseval("macs", "run", "-d", "travel", "-o", "a", "-n", 1, *others, *judge)

    first = judged("no JSON", "nor this")
    (before,) = RunFolder.read("a").reports()
    second = judged(rows("TRUE"))
    (after,) = RunFolder.read("a").reports()

    assert first.exit_code != 0 and before["status"] == "judge_undecided"
    assert second.exit_code == 0 and after["status"] == "success"
    assert after["traces"] == before["traces"] and after["eval"][0]["passed"] is True
    lines = JudgeRecord(record_path("a")).lines()
    assert [(line.question, line.attempt, line.answer is not None) for line in lines] == [
        (f"assertions: {side}", *attempt)
        for side in ("user", "system")
        for attempt in ((1, False), (2, False), (1, True))
    ]
    assert "Judged by" in maseval("show", "a").stdout
    assert "openai/gpt-4o" in maseval("show", "a").stdout  # another judge than the original's


def test_one_simulation_is_shown_with_every_agent_and_every_assertion():
    run("a", "-n", 1, judge=("TRUE", "FALSE"))
    shown = maseval("show", "a", "task-000001").stdout
    assert "Agent (travel_agent)" in shown
    assert "- SYSTEM: a" in shown
    assert "agent: goal not met" in shown


def test_another_judge_is_another_experiment():
    run("a", "-n", 1)
    config = RunFolder.read("a").config.values
    assert config["judge"]["model"] == "scripted/judge.json"
    assert config["judge"]["params"]["temperature"] == 0
    assert config["data_commit"].startswith("cb82575c")
    others = [*models()[:-1], scripted("other", rows("TRUE"))]
    refused = maseval("macs", "run", "-d", "travel", "-n", 1, "-o", "a", *others)
    assert refused.exit_code != 0
    assert "judge" in refused.stderr


def test_rates_have_error_bars_and_doubts_about_the_judge():
    run("a", "-n", 2, judge=("TRUE", "N/A"))
    shown = maseval("macs", "rates", "a").stdout
    assert "overall" in shown
    assert "100.0%" in shown
    assert "1 of 2 rows undecided" in shown
    found = last_json(maseval("macs", "rates", "a", "--json").stdout)
    assert found["domains"][0]["rates"]["overall_gsr"]["interval"]["low"] < 1
    assert found["domains"][0]["scored"] == 2


def test_commands_for_any_run_ask_the_benchmark():
    run("a", "-n", 1, judge=("TRUE", "FALSE"))

    explained = last_json(maseval("explain", "a", "0", "--json").stdout)
    assert explained["findings"][0]["kind"] == "goal not met"
    assert "the domain travel has no rules" in maseval("comply", "a").stdout
    refused = maseval("score", "a")
    assert refused.exit_code == 2 and "cannot judge recorded conversations" in refused.stderr


def test_an_exported_run_is_scored_again(tmp_path):
    run("a", "-n", 2, judge=("TRUE", "FALSE"))
    written = maseval("export", "a", "--format", "macs")
    assert written.exit_code == 0
    folder = tmp_path / "a" / "macs" / "travel"
    assert sorted(path.name for path in folder.iterdir()) == [
        "conversation_0.json",
        "conversation_1.json",
        "results.json",
    ]
    results = json.loads((folder / "results.json").read_text())
    assert (results["overall_gsr"], results["partial_gsr"]) == (0.0, 0.5)
    assert "CC BY 4.0" in results["attribution"]
    assert maseval("export", "a", "--format", "macs").exit_code != 0
    assert maseval("export", "a", "--format", "macs", "--overwrite").exit_code == 0
    judge = scripted("judges", *[rows("TRUE", "FALSE")] * 4)
    scored = maseval(
        *("macs", "score", folder, "-d", "travel", "--judge-model", judge, "-o", "again.json")
    )
    assert scored.exit_code == 0
    assert "2 of 30 conversations judged" in scored.stdout
    assert "partial goal success rate: 50.0%" in scored.stdout
    again = json.loads((tmp_path / "again.json").read_text())
    assert again["conversation_evals"] == results["conversation_evals"]


def test_scoring_says_what_could_not_be_judged(tmp_path, macs_data):
    folder = macs_data / "sample_conversations" / "travel"
    judge = scripted("judge", "no", "no", "no")
    arguments = ("macs", "score", folder, "--domain", "travel", "--judge-model", judge)
    scored = maseval(*arguments)
    assert scored.exit_code == 1
    assert "conversation 0 not scorable: JSON decode error" in scored.stdout
    strict = maseval(*arguments, "--strict")
    assert strict.exit_code != 0
    assert "JSON decode error" in strict.stderr
    (tmp_path / "there.json").write_text("{}")
    refused = maseval(*arguments, "--output", "there.json")
    assert "--overwrite" in refused.stderr
    assert (tmp_path / "there.json").read_text() == "{}"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("run", "-d", "travel"), "--user-model"),
        (("run", "-d", "travel", "--user-model", "m"), "--agent-model"),
        (("run", "-d", "bank", "--user-model", "m", "--agent-model", "m"), "Invalid domain 'bank'"),
        (("score", "nowhere", "-d", "travel"), "there is no folder 'nowhere'"),
        (("rates", "nowhere"), "no run at nowhere"),
    ],
)
def test_what_cannot_be_done_is_said_without_a_traceback(arguments, complaint):
    result = maseval("macs", *arguments)
    assert result.exit_code != 0
    assert complaint in result.stderr
    assert "Traceback" not in result.stderr


def test_a_team_of_one_s_own_takes_part(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from maseval.benchmark.macs import MACSBenchmark\n"
        "from maseval.core.agent import AgentAdapter\n\n"
        "class One(AgentAdapter):\n"
        "    def _run_agent(self, query):\n"
        "        return 'done'\n\n"
        "class Mine(MACSBenchmark):\n"
        "    def setup_agents(self, agent_data, environment, task, user, seed_generator):\n"
        "        agent = One(None, 'one')\n"
        "        return [agent], {'one': agent}\n"
    )
    run_it = ("macs", "run", "-d", "software", "-n", 1, "-o", "a", "--team", "mine.py:Mine")
    done = maseval(*run_it, *models()[2:])
    assert done.exit_code == 0
    assert "100.0%" in done.stdout
    wrong = "examples.booking:BookingBenchmark"
    refused = maseval("macs", "run", "-d", "travel", "--team", wrong, *models()[2:])
    assert "is not a MACSBenchmark" in refused.stderr
    written = maseval("export", "a", "--format", "macs")
    conversation = json.loads((tmp_path / "a/macs/software/conversation_0.json").read_text())
    assert written.exit_code == 0
    assert list(conversation["trajectories"]) == ["User", "one"]


def test_data_is_fetched_found_and_verified(tmp_path):
    assert maseval("macs", "data", "verify").exit_code == 1
    folder = maseval("macs", "data", "fetch").stdout.strip()
    assert folder == maseval("macs", "data", "path").stdout.strip()
    assert maseval("macs", "data", "fetch", "--force").exit_code == 0
    verified = maseval("macs", "data", "verify")
    assert verified.exit_code == 0
    assert "src/prompt_templates.py: ok" in verified.stdout
