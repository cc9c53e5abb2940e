"""The inventories of the policies: every rule stands in one, and every statement has its say."""

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.domains import DOMAINS

ROOT = files("maseval.benchmark.tau2.review.policy")
FOLDERS = sorted(
    {each.folder_name for each in DOMAINS.values() if each.folder_name != "library"}
    & {each.name for each in ROOT.iterdir() if (each / "statements.json").is_file()}
)
COPIED = 8


def inventory(folder: str) -> list[dict[str, Any]]:
    return json.loads((ROOT / folder / "statements.json").read_text(encoding="utf-8"))


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_rule_stands_in_the_inventory_and_every_rule_in_it_exists(folder: str) -> None:
    rules = {
        rule.id for each in DOMAINS.values() if each.folder_name == folder for rule in each.rules
    }
    assert {rule for entry in inventory(folder) for rule in entry.get("rules", ())} == rules


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_statement_has_rules_or_the_reason_why_there_is_none(folder: str) -> None:
    entries = inventory(folder)
    assert len({entry["id"] for entry in entries}) == len(entries)
    for entry in entries:
        assert entry["decidable"] in ("records", "words", "no"), entry
        assert bool(entry.get("rules")) != bool(entry.get("reason")), entry
        assert entry["heading"] and entry["pointer"] and entry["statement"], entry


@pytest.mark.parametrize("folder", [each for each in FOLDERS if not each.startswith("banking")])
def test_no_statement_is_copied_from_the_policy(folder: str, tau2_data: Path) -> None:
    policy = " ".join(
        each.read_text(encoding="utf-8") for each in (tau2_data / "domains" / folder).glob("*.md")
    )
    text = f" {' '.join(words(policy))} "
    for entry in inventory(folder):
        said = words(entry["statement"])
        runs = (said[at : at + COPIED] for at in range(len(said) - COPIED + 1))
        assert not [run for run in runs if f" {' '.join(run)} " in text], entry
