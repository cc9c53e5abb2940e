"""``maseval reliability``: one sheet, from runs of agents that differ in one thing each."""

import json
from pathlib import Path

import pytest

from examples.reliable_agents import careful, erratic, fragile, generous
from maseval import commands, frames
from maseval.app.comparing.reliability import ReliabilitySheet
from maseval.app.comparing.reliability_blocks import sheet_blocks, sheet_page
from maseval.commands import reliability, tau2
from maseval.runs import RunFolder
from tests.cli.commandline import maseval


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reliability")

    def play(agent, name, **more):
        options = {"domain": "library", "user": "scripted", "trials": 4, **more}
        return tau2.run(agent=agent, output=folder / name, **options).folder

    found = {each.__name__: play(each, each.__name__) for each in (careful, fragile, generous)}
    found["erratic"] = play(erratic, "erratic", ask_confidence=True)
    for agent in (careful, fragile):
        name = f"{agent.__name__}-faults"
        found[name] = play(agent, name, perturb="faults=0.3")
    return found


@pytest.fixture(scope="module")
def sheet(runs: dict[str, Path]) -> ReliabilitySheet:
    return reliability([*runs.values()])


def test_each_agent_is_told_apart_by_the_one_thing_that_it_does(sheet):
    assert list(sheet.systems) == ["careful", "fragile", "generous", "erratic"]
    values = {
        name: [sheet.row(row, name).value for row in ("outcome", "any harm", "wrong money, USD")]
        for name in sheet.systems
    }
    assert values["careful"] == values["fragile"] == [1.0, 0.0, 0.0]
    assert values["generous"] == [1.0, 1.0, 9.0]
    assert values["erratic"][0] < 0.6 and values["erratic"][1:] == [0.0, 0.0]


def test_faults_break_the_agent_that_does_not_try_again(sheet):
    held, broken = (sheet.row("faults", name) for name in ("careful", "fragile"))
    assert held.value == 0.0 and held.published == 1.0
    assert broken.value < -0.2 and broken.values.interval().high < 0
    assert broken.published == pytest.approx(1 + broken.value / (11 / 12))


def test_perturbed_answers_are_marked_everywhere_and_scored_as_if_there_were_none(runs):
    folder = RunFolder.read(runs["careful-faults"])
    assert folder.config.values["perturb"] == {"kind": "faults", "rate": 0.3}
    messages = [
        message
        for report in folder.reports()
        for message in report["traces"]["environment"]["simulation"]["messages"]
    ]
    faults = [each for each in messages if "perturbed" in each]
    assert faults and all(each["override"]["calls"] == [] for each in faults)
    assert all("Try again" in each["content"] for each in faults)

    shown = maseval("show", runs["careful-faults"])
    assert "perturbed by faults=0.3" in shown.stdout.replace("\n", " ").lower()
    assert json.loads(maseval("show", runs["careful-faults"], "--json").stdout)["perturbed"]
    scored = maseval("score", runs["careful-faults"])
    assert "48 of 48 recorded verdicts confirmed" in scored.stdout
    assert "perturbed by faults=0.3" in scored.stdout
    compared = maseval("compare", runs["careful"], runs["careful-faults"], "--json")
    assert "perturbed by faults=0.3" in compared.stdout
    assert "perturbed by faults=0.3" in maseval("comply", runs["careful-faults"]).stdout


def test_what_leaves_a_perturbed_run_is_marked(runs, tmp_path):
    run, mark = runs["careful-faults"], "perturbed by faults=0.3"
    (exported,) = commands.export(run, "atif", tmp_path / "all.jsonl", single=True)
    certificate, again = tmp_path / "one.json", tmp_path / "two.json"
    maseval("tau2", "certify", run, "--output", certificate)
    maseval("tau2", "certify", exported.path, "--output", again)

    for file in (certificate, again):
        assert mark in file.read_text()
    assert mark in commands.show(exported.path).summary.marks[0]
    assert mark in maseval("export", run, "--format", "tau2-bench").stderr
    for name, source in (("run", run), ("file", exported.path)):
        (results,) = commands.export(source, "eee", tmp_path / name)
        (document,) = (path for path in results.path.rglob("*.json"))
        for each in json.loads(document.read_text())["evaluation_results"]:
            assert ".perturbed.pass_" in each["evaluation_name"]
            assert mark in each["score_details"]["details"]["marks"]


def test_the_same_seed_gives_the_same_faults(runs, tmp_path):
    again = tau2.run(
        domain="library",
        agent=careful,
        user="scripted",
        trials=4,
        perturb="faults=0.3",
        output=tmp_path / "again",
    ).folder

    def faults(run):
        return {
            (report["task_id"], report["repeat_idx"]): [
                (at, each["content"])
                for at, each in enumerate(report["traces"]["environment"]["simulation"]["messages"])
                if "perturbed" in each
            ]
            for report in RunFolder.read(run).reports()
        }

    assert faults(again) == faults(runs["careful-faults"])


def test_confidence_is_recorded_outside_the_conversation(runs, sheet):
    reports = list(RunFolder.read(runs["erratic"]).reports())
    told = [each["traces"]["confidence"]["agent"] for each in reports]
    assert {each["value"] for each in told} == {0.35, 0.95}
    for report in reports:
        said = json.dumps(report["traces"]["environment"]["simulation"]["messages"])
        assert "How sure are you" not in said
    row = sheet.row("discrimination", "erratic")
    assert row.value > 0.7 and row.grade == "asked"
    assert sheet.row("discrimination", "careful") is None


def test_every_harmful_simulation_is_listed_with_its_call(sheet):
    assert {each.run for each in sheet.harmful} == {"generous"}
    assert len(sheet.harmful) == 48
    assert all("waive_fine" in each.harms[0].call for each in sheet.harmful)


def test_systems_are_compared_on_the_tasks_they_share(sheet):
    found = {(e.measure, e.names): e for e in sheet.differences}
    harm = found["any harm", ("generous", "careful")]
    assert harm.values.mean == 1.0 and len(harm.values.values) == 12
    assert harm.values.interval().low > 0


def test_the_command_prints_writes_and_says_what_is_missing(runs, tmp_path):
    page = tmp_path / "sheet.html"
    printed = maseval("reliability", runs["generous"], "--page", page)
    assert printed.exit_code == 0, printed.stderr
    assert "wrong money, USD" in printed.stdout and "--perturb faults=0.2" in printed.stdout
    assert "<script" not in page.read_text() and "wrong money" in page.read_text()

    found = json.loads(maseval("reliability", runs["generous"], "--json").stdout)
    rows = found["systems"]["generous"]
    assert len(rows) <= 15
    assert {"value", "low", "high", "tasks", "trials", "grade", "published"} <= set(rows[0])
    assert next(iter(frames.reliability(runs["generous"])))["measure"] == "outcome"


def test_a_sheet_never_has_more_than_fifteen_rows(sheet):
    for rows in sheet.systems.values():
        assert len(rows) <= 15
    assert "careful" in sheet_page(sheet) and sheet_blocks(sheet)


def test_a_perturbed_run_alone_is_a_system_of_its_own_and_says_so(runs):
    sheet = reliability([runs["fragile-faults"]])
    assert list(sheet.systems) == ["fragile-faults"]
    assert "no run of the same agent without it" in sheet.notes[-1]


def test_one_trial_has_no_consistency_and_names_the_run_that_gives_it(tmp_path):
    run = tau2.run(domain="library", agent="gold", output=tmp_path / "once").folder
    sheet = reliability([run])
    assert sheet.row("outcome") is None
    assert "--trials 2" in sheet.missing[0] and "12 simulations" in sheet.missing[0]


@pytest.mark.parametrize("given", ["fault", "faults=2", "faults=x", "prompt", "structure=1"])
def test_a_perturbation_that_is_none_is_refused(given, tmp_path):
    result = maseval("tau2", "run", "-d", "library", "--agent", "gold", "--perturb", given)
    assert result.exit_code and "faults=0.2" in result.stderr and given in result.stderr


def test_a_scripted_agent_has_no_confidence():
    result = maseval("tau2", "run", "-d", "library", "--agent", "gold", "--ask-confidence")
    assert result.exit_code and "ask_confidence" in result.stderr
