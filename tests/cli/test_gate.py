"""``maseval gate`` as a CI service calls it."""

from pathlib import Path

import pytest

from maseval.commands import tau2
from tests.cli.commandline import last_json, maseval


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gate")
    for agent in ("gold", "noop"):
        tau2.run(domain="library", agent=agent, output=folder / "runs" / agent)
    return folder


@pytest.fixture(autouse=True)
def beside_the_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


@pytest.mark.parametrize(
    ("run", "baseline", "code"),
    [("noop", "gold", 1), ("gold", "noop", 0), ("gold", "nowhere", 2), ("gold", "gold", 2)],
)
def test_the_exit_code_says_whether_a_run_is_worse(run: str, baseline: str, code: int) -> None:
    assert maseval("gate", run, "--baseline", baseline).exit_code == code


def test_too_few_tasks_to_fail_are_no_pass(tmp_path: Path) -> None:
    for agent in ("gold", "noop"):
        tau2.run(domain="library", agent=agent, num_tasks=3, output=tmp_path / agent)
    words = ("gate", tmp_path / "noop", "--baseline", tmp_path / "gold")

    refused = maseval(*words)
    accepted = maseval(*words, "--allow-undecidable")

    assert refused.exit_code == 2 and accepted.exit_code == 0
    words = "not decided: 3 tasks can never decide it, as at least 5 are needed; "
    assert f"{words}--allow-undecidable accepts it" in " ".join(refused.stdout.split())
    assert f"{words}passed, as --allow-undecidable says" in " ".join(accepted.stdout.split())


@pytest.mark.parametrize("options", [("cut.json",), ("gold", "--junit", "runs")])
def test_no_error_looks_like_a_verdict(folder: Path, options: tuple[str, ...]) -> None:
    (folder / "cut.json").write_text('{"simulations": [', "utf-8")

    result = maseval("gate", "noop", "--baseline", *options)

    assert result.exit_code == 2
    assert "Errno" not in result.stderr


def test_a_run_that_is_worse_still_writes_its_files(folder: Path) -> None:
    options = ("--junit", "out/gate.xml", "--markdown", "out/gate.md", "--json")
    result = maseval("gate", "noop", "--baseline", "gold", *options)
    assert result.exit_code == 1
    assert last_json(result.stdout)["verdict"] == "worse"
    assert b"<testsuites>" in (folder / "out" / "gate.xml").read_bytes()
    assert (folder / "out" / "gate.md").read_text("utf-8").startswith("### ❌ noop is worse")
