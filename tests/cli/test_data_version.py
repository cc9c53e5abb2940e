"""``--data-version``: which release of tau2-bench a command works with, and says so."""

import json

import pytest

from tests.cli.commandline import maseval

pytestmark = pytest.mark.data


def test_a_run_is_by_the_release_that_was_asked_for(tau2_data_of_1_0_1, tmp_path):
    folder = tmp_path / "run"
    done = maseval(
        *("tau2", "run", "--domain", "airline", "--agent", "gold", "--num-tasks", "2"),
        *("--split", "test", "--data-version", "1.0.1", "--output", folder),
    )

    assert done.exit_code == 0, done.output
    assert "tau2-bench v1.0.1" in done.output
    config = json.loads((folder / "config.json").read_text())
    assert config["config"]["rules"] == "tau2-bench v1.0.1"

    again = maseval("score", folder, "--json")

    assert json.loads(again.stdout)["files"][0]["version"] == "1.0.1"


def test_limits_of_1_0_1_end_simulations_and_are_part_of_the_configuration(
    tau2_data_of_1_0_1, tmp_path
):
    folder = tmp_path / "run"
    done = maseval(
        *("tau2", "run", "--domain", "airline", "--agent", "gold", "--num-tasks", "1"),
        *("--data-version", "1.0.1", "--output", folder),
        *("--max-errors", "3", "--timeout", "0.000001"),
    )

    assert done.exit_code == 0, done.output
    assert "the limit of 1e-06 s ended 1 simulation" in " ".join(done.output.split())
    config = json.loads((folder / "config.json").read_text())["config"]
    assert (config["max_errors"], config["timeout"]) == (3, 1e-06)
    exported = tmp_path / "airline.json"
    maseval("export", folder, "--format", "tau2-bench", "--output", exported)
    results = json.loads(exported.read_text())
    assert results["info"]["max_errors"] == 3
    assert results["simulations"][0]["termination_reason"] == "timeout"


def test_tasks_tools_and_audits_are_those_of_a_release(tau2_data, tau2_data_of_1_0_1):
    listed = maseval("tau2", "tasks", "-d", "retail", "--split", "test", "--data-version", "1.0.1")
    assert "40 tasks of tau2-bench 1.0.1" in listed.output

    tools = {
        version: maseval("tau2", "tasks", "tools", "-d", "retail", "--data-version", version).output
        for version in ("0.2.0", "1.0.1")
    }
    assert "get_item_details" not in tools["0.2.0"]
    assert "get_item_details" in tools["1.0.1"]

    audit = maseval("tau2", "audit", "airline", "--data-version", "1.0.1", "--json")
    assert json.loads(audit.stdout)["data_version"] == "1.0.1"


def test_the_audit_finds_what_1_0_1_repaired(tau2_data, tau2_data_of_1_0_1):
    kinds = ("gold raises", "gold breaks the policy", "doing nothing passes")
    found = {}
    for version in ("0.2.0", "1.0.1"):
        audit = maseval("tau2", "audit", "airline", "retail", "--data-version", version, "--json")
        findings = json.loads(audit.stdout)["findings"]
        found[version] = [sum(each["kind"] == kind for each in findings) for kind in kinds]

    assert found == {"0.2.0": [23, 16, 26], "1.0.1": [18, 3, 29]}


def test_an_unknown_release_is_an_error_with_the_choices():
    refused = maseval("tau2", "tasks", "--data-version", "2.0")

    assert refused.exit_code != 0
    assert "choose one of: 0.2.0, 1.0.1" in " ".join(refused.output.split())
