"""``maseval tau2 play``, typed into a pipe."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from maseval.cli.app import app
from maseval.runs import RunFolder, run_state

GOLD = [
    *("/call get_member", "B 1184 2011"),
    *("/call get_account", "M-2011"),
    *("/call renew_loan", "L-5001"),
]


def played(
    folder: Path, *lines: str, options: list[str] | tuple[Any, ...] = (), domain: str = "library"
) -> Any:
    arguments = ["tau2", "play", "--domain", domain, "--output", str(folder), *options]
    typed = "".join(f"{line}\n" for line in lines)
    return CliRunner().invoke(app, arguments, input=typed, prog_name="maseval")


def test_the_gold_solution_passes_when_it_is_typed(tmp_path):
    result = played(tmp_path / "run", "What is your card number?", *GOLD, "/stop Goodbye!")

    assert result.exit_code == 0
    assert "+ pass, reward 1, ended by agent_stop" in result.stdout
    assert "Saved as a run: maseval show" in result.stdout
    assert run_state(tmp_path / "run").state == "complete"
    shown = CliRunner().invoke(app, ["show", str(tmp_path / "run")]).stdout
    assert "Human: a person played the agent." in shown


def test_a_newcomer_is_told_what_to_do_and_reads_policy_and_tools(tmp_path):
    result = played(tmp_path / "run", "/text", "/tools", "/stop")

    assert "You are the agent of library." in result.stdout
    assert "Good standing" in result.stdout and "/call NAME" in result.stdout
    assert "Extend an open loan" in result.stdout
    # What the customer was told is for whoever plays the customer.
    assert "Ask for your own book first" not in result.stdout


def test_mistakes_at_the_keyboard_are_explained_and_recorded_nowhere(tmp_path):
    result = played(tmp_path / "run", "/nothing", "/call", "/call fly", "", "/stop")

    for words in ("There is no /nothing", "'' is not a tool", "'fly' is not a tool"):
        assert words in result.stdout
    messages = recorded_messages(tmp_path / "run")
    said = [each["content"] for each in messages if each["role"] == "assistant"]
    assert said[1:] == ["Goodbye. ###STOP###"]
    assert not any(each.get("tool_calls") for each in messages)


def recorded_messages(folder: Path) -> list[dict[str, Any]]:
    [report] = RunFolder.read(folder).reports()
    return report["traces"]["environment"]["simulation"]["messages"]


@pytest.mark.data
def test_parameters_are_asked_for_one_by_one_and_are_json_unless_they_are_texts(
    tau2_data, tmp_path
):
    typed = ["/call return_delivered_order_items", "123", '["1", "2"]', "", "/stop"]
    played(tmp_path / "run", *typed, domain="retail")

    messages = recorded_messages(tmp_path / "run")
    [[call]] = [each["tool_calls"] for each in messages if each.get("tool_calls")]
    assert call["arguments"] == {"order_id": "123", "item_ids": ["1", "2"]}


def test_input_that_ends_interrupts_and_the_same_command_plays_it_again(tmp_path):
    result = played(tmp_path / "run", "Hello")

    assert result.exit_code == 3 and "No verdict: interrupted" in result.stdout
    assert run_state(tmp_path / "run").state == "incomplete"
    assert played(tmp_path / "run", *GOLD, "/stop").exit_code == 0
    assert run_state(tmp_path / "run").state == "complete"


def test_a_model_that_the_environment_names_for_the_played_side_is_not_meant(tmp_path, monkeypatch):
    monkeypatch.setenv("MASEVAL_AGENT_MODEL", "openai/gpt-4.1")

    assert played(tmp_path / "run", "/stop").exit_code == 0


def test_escape_sequences_of_the_other_side_are_shown_inert(tmp_path):
    script = tmp_path / "replies.json"
    script.write_text(json.dumps(["Hello \x1b[2J[bold]x[/bold]\x07", "###STOP###"]))
    options = ["--user-model", f"scripted/{script}", "--texts", "ours"]
    result = played(tmp_path / "run", "Goodbye", options=options)

    assert "\x1b[2J" not in result.stdout and "\x07" not in result.stdout
    assert "[bold]x[/bold]" in result.stdout
