"""A key that stands in a results file is shown, written and exported nowhere."""

import json
from pathlib import Path

import pytest

from maseval.commands import tau2
from tests.cli.commandline import maseval

KEY = "plain-9f8a7b6c5d4e3f2a1b0c"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two results files, whose authors left their keys in the arguments of the models."""
    folder = tmp_path_factory.mktemp("secrets")
    for agent in ("gold", "noisy"):
        run = tau2.run(domain="library", agent=agent, num_tasks=3, output=folder / "runs" / agent)
        (file,) = tau2.export(run.folder, output=folder / f"{agent}.json")
        content = json.loads(file.path.read_text("utf-8"))
        for side in ("agent_info", "user_info"):
            args = {"temperature": 0.5, "api_key": KEY + agent, "headers": {"Authorization": KEY}}
            content["info"][side] |= {"llm": f"model-{agent}", "llm_args": args}
        file.path.write_text(json.dumps(content), "utf-8")
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ["compare", "gold.json", "noisy.json"],
        ["compare", "gold.json", "noisy.json", "--json"],
        [
            "gate",
            "noisy.json",
            "--baseline",
            "gold.json",
            "--markdown",
            "m.md",
            "--junit",
            "j.xml",
            "--allow-undecidable",
        ],
        ["gate", "noisy.json", "--baseline", "gold.json", "--allow-undecidable", "--json"],
        ["show", "gold.json"],
        ["score", "gold.json", "--json"],
        ["tau2", "certify", "gold.json", "--output", "c.json"],
        ["report", "gold.json", "--output", "r.html"],
        ["export", "gold.json", "--format", "csv", "--table", "runs", "--output", "runs.csv"],
    ],
)
def test_no_command_shows_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.chdir(folder)
    found = maseval(*words)

    assert found.exit_code in (0, 1), found.stderr
    written = [
        each.read_text("utf-8")
        for each in folder.iterdir()
        if each.is_file() and each.name not in ("gold.json", "noisy.json")
    ]
    assert not [text for text in (found.stdout, found.stderr, *written) if KEY in text]
