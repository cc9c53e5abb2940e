"""What the shell offers, asked as a shell asks it."""

import pytest

from maseval.commands import tau2
from tests.cli.commandline import finished, maseval


def asked_for(line):
    """What bash tells a command that it wants the words at the end of the line of."""
    return {
        "_MASEVAL_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(line.count(" ")),
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("completing")
    tau2.run(domain="library", agent="gold", num_tasks=2, output=folder / "runs" / "mine")
    (folder / "sent").mkdir()
    for name in ("theirs.json", "notes.txt", "sent/packed.json.gz"):
        (folder / name).touch()
    return folder


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("maseval tau2 run --domain lib", ["library"]),
        ("maseval tau2 tasks --domain ret", ["retail"]),
        ("maseval tau2 tasks tools --domain telecom-", ["telecom-workflow"]),
        ("maseval show ", ["mine", "last", "theirs.json", "runs/", "sent/"]),
        ("maseval score th", ["theirs.json"]),
        ("maseval score last sent/", ["sent/packed.json.gz"]),
        ("maseval compare mine t", ["theirs.json"]),
        ("maseval report m", ["mine"]),
        ("maseval explain la", ["last"]),
        ("maseval show mine library/renewal", ["library/renewal_somebody_waits"]),
        ("maseval tau2 run --domain library --task-id library/first", ["library/first_waiver"]),
        ("maseval new d", ["domain"]),
        ("maseval show nowhere li", []),
    ],
)
def test_domains_runs_files_and_tasks_are_offered(line, words, folder, monkeypatch):
    monkeypatch.chdir(folder)
    for name, value in asked_for(line).items():
        monkeypatch.setenv(name, value)

    offered = maseval()

    assert (offered.exit_code, offered.stdout.split()) == (0, words)


def test_a_shell_asks_a_process(folder):
    code, offered, _ = finished(folder=folder, **asked_for("maseval tau2 run --domain l"))

    assert (code, offered.split()) == (0, ["library"])
