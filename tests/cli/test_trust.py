"""Commands that say how far a number can be trusted."""

import json
from pathlib import Path

import pytest

from maseval.commands import show, tau2
from maseval.core.outcome import Outcome
from tests.cli.commandline import last_json, maseval
from tests.noisy_runs import noisy_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trust")
    for name, rate in (("careful", 0.05), ("hurried", 0.4)):
        noisy_run(folder / "runs" / name, rate)
    tau2.run(domain="library", agent="gold", trials=1, output=folder / "runs" / "gold")
    tau2.export(folder / "runs" / "hurried", folder / "theirs.json")
    return folder


@pytest.fixture(autouse=True)
def beside_the_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


@pytest.fixture(scope="module")
def failed(folder: Path) -> Outcome:
    lines = show(folder / "runs" / "hurried", explain=False).lines
    return next(line for line in lines if line.kind == "fail")


def test_several_runs_are_compared_with_the_correction_stated(folder):
    result = maseval("compare", "careful", "hurried", "gold")

    assert result.exit_code == 0
    assert "gold \u2212 hurried" in result.stdout
    assert "Holm-corrected" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["careful"], "two or more"),
        (["careful", "nowhere"], "neither a results file nor a run"),
        (["careful", "hurried", "-k", "3"], "choose k from 1 to 2"),
    ],
)
def test_what_cannot_be_compared_is_told(arguments, words):
    result = maseval("compare", *arguments)

    assert result.exit_code == 2
    assert words in " ".join(result.stderr.split())


def test_a_verdict_is_explained_for_a_run_and_for_its_file(failed):
    ours = maseval("explain", "hurried", failed.task_id, failed.trial)
    theirs = maseval("explain", "theirs.json", failed.task_id, failed.trial)

    assert ours.exit_code == 0
    assert "unclear: not decided" in ours.stdout and "(rule: " in ours.stdout
    assert "DB             FAILED    scored" in ours.stdout
    assert "What would have made it pass" in ours.stdout
    assert theirs.stdout.endswith(ours.stdout.partition("\n")[2])


def test_without_a_trial_the_first_that_failed_is_explained(failed):
    run = last_json(maseval("explain", "hurried", failed.task_id, "--json").stdout)
    file = last_json(maseval("explain", "theirs.json", failed.task_id, "--json").stdout)

    assert (run["trial"], run["domain"]) == (failed.trial, "library")
    assert file["explanation"] == run["explanation"] and file["findings"] == run["findings"]
    assert not run["explanation"]["passed"] and run["explanation"]["checks"]


def test_a_verdict_that_passed_is_explained_too():
    result = maseval("explain", "gold", "first_waiver")

    assert "every scored check passed" in result.stdout
    assert "(rule: " not in result.stdout


def test_a_simulation_that_broke_is_explained_by_its_status(folder):
    (folder / "short.json").write_text('["Hello."]')
    tau2.run(
        domain="library",
        num_tasks=1,
        agent_model=f"scripted/{folder / 'short.json'}",
        user="scripted",
        output=folder / "broken",
    )
    task = show(folder / "broken").lines[0].task_id

    assert "(rule: status of the run)" in maseval("explain", "broken", task).stdout
    assert "(rule: status of the run)" in maseval("show", "broken", task, 0).stdout
    assert "Who failed in 1 simulation," in maseval("show", "broken").stdout


def test_what_cannot_be_audited_is_told():
    result = maseval("tau2", "audit", "nowhere")

    assert result.exit_code == 2 and "nowhere" in result.stderr


def test_a_certificate_is_written_and_holds(folder):
    certified = maseval("tau2", "certify", "theirs.json", "--output", "cert.json")
    again = maseval("tau2", "certify", "theirs.json", "--output", "cert.json")
    verified = maseval("tau2", "verify", "cert.json", "theirs.json")
    of_the_run = maseval("tau2", "verify", "cert.json", "careful", "--json")

    assert certified.exit_code == 0
    assert "24 of 24 recorded verdicts confirmed" in certified.stdout
    assert again.exit_code == 1
    assert "already exists; --overwrite (overwrite=True) replaces it" in again.stderr
    assert verified.exit_code == 0 and "holds" in verified.stdout
    assert of_the_run.exit_code == 1 and not last_json(of_the_run.stdout)["holds"]


def test_an_edited_reward_and_an_edited_certificate_are_found(folder):
    honest = json.loads(maseval("tau2", "certify", "theirs.json", "--json").stdout)
    results = json.loads((folder / "theirs.json").read_text())
    verdict = results["simulations"][0]["reward_info"]
    verdict["reward"] = 1.0 - verdict["reward"]
    (folder / "forged.json").write_text(json.dumps(results))
    honest["numbers"]["library"]["passed"] += 1
    (folder / "forged-cert.json").write_text(json.dumps(honest))

    told = maseval("tau2", "certify", "forged.json")
    changed = maseval("tau2", "verify", "forged-cert.json", "theirs.json")

    assert told.exit_code == 1
    assert told.stdout.startswith("edited rewards: in 1 of 24 simulations")
    assert "23 of 24 recorded verdicts confirmed" in told.stdout
    assert changed.exit_code == 2 and "was changed" in changed.stderr
