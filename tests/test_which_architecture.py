"""docs/which-architecture.md: commands print what it shows, and the analysis finds the truth."""

import re
import shlex
import shutil
import tomllib
from typing import Any

import pytest

from maseval.app.comparing.blocks import facts_table
from maseval.commands import compare
from tests.cli.commandline import maseval
from tests.interface.libraries import needing
from tests.test_docs import CHECKOUT, blocks_of

PAGE = CHECKOUT / "docs" / "which-architecture.md"
EXAMPLE = CHECKOUT / "examples" / "which_architecture"
# By design: each system loses these tasks of the library with the accurate model, and no others.
LOST = {"plain": 0, "forgetful": 4, "looping": 3, "hasty": 9}

pytestmark = [pytest.mark.slow, *needing("openai")]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """The folder in which the commands of the page were run, and what each printed."""
    folder = tmp_path_factory.mktemp("which")
    shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True)
    printed = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("COLUMNS", "100")
        for block in blocks_of(PAGE):
            for line in block.text.splitlines() if block.language == "sh" else ():
                program, *words = shlex.split(line, comments=True)
                if program == "maseval" and "retail.toml" not in line and "view" not in words:
                    printed[" ".join(words)] = maseval(*words).stdout
    return folder, printed


def without_times(text: str) -> str:
    """Return the text without what depends on the machine."""
    return re.sub(r"\d+ s │", "· s │", re.sub(r" +\n", "\n", text)).strip()


def test_the_page_shows_the_file_of_the_example_and_what_the_commands_print(played):
    blocks = [*blocks_of(PAGE)]
    (shown,) = [block.text for block in blocks if block.language == "toml"]
    assert tomllib.loads(shown) == tomllib.loads((EXAMPLE / "grid.toml").read_text())

    _, printed = played
    (compared,) = [text for words, text in printed.items() if words.startswith("compare")]
    first = next(block.text for block in blocks if block.language == "text")
    rest = without_times(compared) + "\n"
    parts = [without_times(part) for part in first.split("…\n") if part]
    assert len(parts) > 3
    for part in parts:
        before, found, rest = rest.partition(part)
        assert found, f"{part!r} is not in {before!r}"


def test_the_effects_found_are_those_that_the_systems_were_given(played):
    found = compare([played[0] / "runs" / "grid"])
    cells = {(each.levels["system"], each.levels["agent_model"]): each for each in found.grid.cells}
    for system, lost in LOST.items():
        assert cells[system, "accurate"].passed == f"{12 - lost}/12"

    accurate = [played[0] / "runs" / "grid" / f"{system}-accurate" for system in LOST]
    contrasts = {each.levels[0]: each for each in compare(accurate).grid.effects.contrasts}
    for system, lost in LOST.items():
        if lost:
            assert contrasts["plain", system].difference == pytest.approx(-lost / 12)
    assert {system for (first, system), each in contrasts.items() if each.grade == "shown"} == {
        "hasty"
    }
    (table,) = facts_table(found)
    assert table.rows[0][0] == "reference call not made"
    facts = {name: counts for name, *counts in table.rows}
    assert facts["step limit reached"] == facts["call repeated"] == [*"0070"]
