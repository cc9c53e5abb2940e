"""A domain of one's own that is broken: said before a run, and by its audit, with a way to fail."""

from pathlib import Path

import pytest

from tests.cli.commandline import maseval

DESK = "helpdesk/helpdesk.py:DOMAIN"


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert maseval("new", "domain", "helpdesk").exit_code == 0


def misspell_the_gold() -> None:
    tasks = Path("helpdesk/tasks.json")
    tasks.write_text(tasks.read_text().replace('"close_ticket"', '"close_tickets"'))


def test_a_gold_that_calls_no_tool_is_named_before_the_run_and_in_its_plan(caplog):
    misspell_the_gold()
    run = ("tau2", "run", "--domain", DESK, "--agent", "gold")

    assert "'close_tickets'" in maseval(*run, "--dry-run").stdout
    maseval(*run, "--output", "run")

    assert "helpdesk/printer_has_paper: the gold calls 'close_tickets'" in caplog.text


def test_a_sound_domain_passes_its_audit_and_a_broken_one_fails_it():
    sound = maseval("tau2", "audit", DESK, "--fail-on", "error")
    misspell_the_gold()

    assert sound.exit_code == 0
    assert maseval("tau2", "audit", DESK).exit_code == 0
    assert maseval("tau2", "audit", "--domain", DESK, "--fail-on", "error").exit_code == 1
    assert maseval("tau2", "audit", DESK, "--fail-on", "x").exit_code == 2


def test_a_cut_database_is_named():
    Path("helpdesk/db.json").write_text("{")

    printed = maseval("tau2", "run", "--domain", DESK, "--agent", "gold", "--output", "run")

    # The path is long, and a line may end within it.
    assert "db.jsonisnotaJSONfile" in "".join(printed.stdout.split())


@pytest.mark.parametrize("command", ["tasks", "errata", "audit"])
def test_a_domain_may_stand_alone_or_after_its_option(command):
    alone = maseval("tau2", command, "library")

    assert alone.exit_code == 0
    assert alone.stdout == maseval("tau2", command, "--domain", "library").stdout
