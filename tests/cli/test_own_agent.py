"""An agent of one's own on the command line: its mistakes, shown where they are."""

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest

from maseval.runs import RunFolder
from tests.cli.commandline import last_json, maseval

LIBRARY = ("tau2", "run", "--domain", "library", "--user", "scripted", "-n", 2)

AGENTS = """\
    from maseval import AgentAdapter
    from maseval.benchmark.tau2 import DefaultTau2Agent, DefaultTau2AgentAdapter

    def crashing(brief):
        def answer(query):
            return {}["a mistake in the agent"]
        return answer

    def crashing_early(brief):
        return brief.tools["no such tool"]

    def forgetful(brief):
        def answer(query):
            len(query)
        return answer

    def returning_nothing(brief):
        pass

    class Silent(AgentAdapter):
        def _run_agent(self, query):
            pass

    def silent(brief):
        return Silent(None, "silent")

    class Stepwise(DefaultTau2AgentAdapter):
        def reply(self, incoming):
            raise ValueError("a mistake in a step")

    def stepwise(brief):
        return Stepwise(DefaultTau2Agent(brief.tools, brief.policy, None))

    def unreachable(brief):
        def answer(query):
            import openai
            client = openai.OpenAI(base_url="http://127.0.0.1:9/v1", api_key="k", max_retries=0)
            client.chat.completions.create(model="m", messages=[])
        return answer
"""


@pytest.fixture(autouse=True)
def in_a_folder_with_agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_agent.py").write_text(textwrap.dedent(AGENTS))


def plain(text: str) -> str:
    return " ".join(text.replace("│", " ").split())


@pytest.mark.parametrize(
    ("function", "frame", "error"),
    [
        (
            "crashing",
            """my_agent.py, line 6, in answer, `return {}["a mistake in the agent"]`:""",
            "KeyError: 'a mistake in the agent'",
        ),
        (
            "crashing_early",
            """my_agent.py, line 10, in crashing_early, `return brief.tools["no such tool"]`:""",
            "KeyError: 'no such tool'",
        ),
        (
            "stepwise",
            """my_agent.py, line 29, in reply, `raise ValueError("a mistake in a step")`:""",
            "ValueError: a mistake in a step",
        ),
    ],
)
def test_a_crash_in_the_agents_file_shows_its_last_frame_everywhere(function, frame, error):
    ran = maseval(*LIBRARY, "--agent", f"my_agent.py:{function}", "--output", "runs/r")

    assert ran.exit_code == 1, "complete, but nothing ran to its end"
    assert f"! agent_error: {frame} {error}" in plain(ran.stdout)
    assert "and 1 more" in ran.stdout and "0.0%" in ran.stdout
    assert "Traceback" not in ran.stdout + ran.stderr
    reports = list(RunFolder.read("runs/r").reports())
    assert {report["status"] for report in reports} == {"agent_error"}
    assert reports[0]["error"]["details"]["file"].endswith("my_agent.py")
    task = reports[0]["task_id"]
    assert frame in plain(maseval("show", "r").stdout)
    assert frame in plain(maseval("show", "r", task).stdout)
    explained = maseval("explain", "r", task)
    assert explained.exit_code == 0 and frame in plain(explained.stdout)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("forgetful", "the agent 'answer' returned None, as a function without a return"),
        ("silent", "the agent 'silent' returned None, as a function without a return"),
        ("returning_nothing", "returning_nothing returned None; it must return an AgentAdapter"),
    ],
)
def test_an_agent_that_returns_nothing_is_told_what_to_return(function, words):
    ran = maseval(*LIBRARY, "--agent", f"my_agent.py:{function}", "--output", "r")

    assert f"agent_error: {words}" in plain(ran.stdout)
    assert {report["status"] for report in RunFolder.read("r").reports()} == {"agent_error"}


def test_debug_gives_the_whole_traceback():
    run = [*LIBRARY, "--agent", "my_agent.py:crashing"]

    shown = maseval("--debug", *run)
    quiet = maseval(*run)

    assert shown.exit_code == 1
    assert "Traceback (most recent call last):" in shown.stdout
    assert 'my_agent.py", line 6, in answer' in shown.stdout
    assert 'return {}["a mistake' in shown.stdout
    assert "Traceback" not in quiet.stdout + quiet.stderr + shown.stderr


def test_a_provider_that_cannot_be_reached_is_not_the_agents_fault():
    pytest.importorskip("openai")

    ran = maseval(*LIBRARY, "--agent", "my_agent.py:unreachable", "--output", "r", "--json")

    assert ran.exit_code == 3 and last_json(ran.stdout)["overall"]["failed"] == 2
    assert "could not be reached" in ran.stderr
    statuses = {report["status"] for report in RunFolder.read("r").reports()}
    assert statuses == {"provider_error"}


def test_errors_of_some_simulations_are_shown_beside_the_score(tmp_path):
    (tmp_path / "fickle.py").write_text(
        "made = []\n"
        "def agent(brief):\n"
        "    made.append(1)\n"
        "    assert len(made) < 2, 'enough'\n"
        "    return lambda query: 'Yes.'\n"
    )

    ran = maseval(
        *(*LIBRARY, "--agent", "fickle.py:agent", "--concurrency", 1, "--max-steps", 6, "--json")
    )

    assert ran.exit_code == 0
    assert json.loads(ran.stdout)["overall"]["pass^1"]["value"] == 0
    assert "`assert len(made) < 2, 'enough'`: AssertionError: enough" in plain(ran.stderr)


REHEARSED = """\
    import json
    from maseval import tool_definition
    from maseval.benchmark.tau2 import DefaultTau2Agent, DefaultTau2AgentAdapter

    def whole(brief):
        model = brief.chat_model()
        return DefaultTau2AgentAdapter(DefaultTau2Agent(brief.tools, brief.policy, model))

    def deaf(brief):
        return lambda query: "I know it all by myself."

    def mangling(brief):
        model, messages = brief.chat_model(), [{"role": "system", "content": brief.policy}]
        definitions = [tool_definition(tool) for tool in brief.tools.values()]

        def answer(query):
            messages.append({"role": "user", "content": query})
            while calls := (reply := model.chat(messages, tools=definitions)).tool_calls:
                messages.append({"role": "assistant", "content": None, "tool_calls": calls})
                for call in calls:
                    arguments = json.loads(call["function"]["arguments"].replace("L-", "l-"))
                    done = brief.tools[call["function"]["name"]](**arguments)
                    messages.append({"role": "tool", "tool_call_id": call["id"], "content": done})
            messages.append({"role": "assistant", "content": reply.content})
            return reply.content

        return answer
"""
REHEARSAL = ("tau2", "run", "--domain", "library", "-n", 2, "--rehearse", "gold", "--max-steps", 40)


def rehearsed(tmp_path: Path, function: str, *options: Path | str) -> Any:
    pytest.importorskip("openai")
    (tmp_path / "rehearsed.py").write_text(textwrap.dedent(REHEARSED))
    return maseval(*REHEARSAL, "--agent", f"rehearsed.py:{function}", "--json", *options)


def test_a_rehearsal_counts_what_reached_the_model(tmp_path):
    ran = rehearsed(tmp_path, "whole", "--junit", "rehearsal.xml")

    result = last_json(ran.stdout)
    seen, counted = result["notes"]
    assert ran.exit_code == 0, ran.stdout
    asked = sum(
        len(report["traces"]["models"]["agent_model"]["logs"])
        for report in RunFolder.read(result["folder"]).reports()
    )
    assert asked > 2 and counted.startswith(f"{asked} requests in 2 simulations")
    assert "nothing was paid" in counted and result["cost"] == 0
    assert result["rehearsal"]["items"]["policy"]["cases"] == asked
    assert f"policy seen whole and once in {asked} of {asked} requests" in plain(ran.stderr)
    assert 'failures="0"' in (tmp_path / "rehearsal.xml").read_text()
    assert seen in plain(maseval("show", result["folder"]).stdout)


def test_an_agent_that_never_asked_the_rehearsal_model_is_told_so(tmp_path):
    ran = rehearsed(tmp_path, "deaf")

    note = last_json(ran.stdout)["notes"][0]
    assert note.startswith("Missed (asked): the rehearsal model was asked in 0 of 2 simulations")
    assert ran.exit_code == 1
    assert "brief.model.base_url" in note and note in plain(ran.stderr)


def test_what_a_rehearsal_missed_is_told_and_a_failure_unless_it_is_allowed(tmp_path):
    options = ("--output", tmp_path / "runs" / "lost")
    ran = rehearsed(tmp_path, "mangling", *options)

    notes = " ".join(last_json(ran.stdout)["notes"])
    assert "Missed (tasks): tasks passed 1 of 2" in notes and "Missed (calls): " in notes
    assert "refused renew_loan(l-5001)" in plain(maseval("show", options[1], "--failed").stdout)
    assert "Missed (tasks)" in maseval("show", options[1]).stdout
    resumed = rehearsed(tmp_path, "mangling", *options)
    allowed = rehearsed(tmp_path, "mangling", *options, "--allow", "tasks", "--allow", "calls")
    assert [each.exit_code for each in (ran, resumed, allowed)] == [1, 1, 0], allowed.stderr
    assert rehearsed(tmp_path, "mangling", *options, "--allow", "everything").exit_code == 2
    assert last_json(resumed.stdout)["ran"] == 0
