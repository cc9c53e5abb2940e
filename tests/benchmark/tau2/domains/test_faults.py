"""What is found in a domain before it is used."""

from pathlib import Path

import pytest

from maseval.benchmark.tau2.domains import DOMAINS
from maseval.benchmark.tau2.domains.base import ToolKitBase, is_tool
from maseval.benchmark.tau2.domains.domain import PermanenceRule, faults, policy_file, stays
from maseval.benchmark.tau2.formats.message import STOP_TOKENS
from maseval.benchmark.tau2.review.policy.rules import Kind, Rule
from tests.benchmark.tau2.domains.kiosk import KioskDB, KioskTools, kiosk


class Mute(ToolKitBase[KioskDB]):
    @is_tool()
    def look(self) -> str:
        return "a kiosk"


class Unexplained(ToolKitBase[KioskDB]):
    @is_tool()
    def sell(self, count: int) -> str:
        """Sell tickets."""
        return "sold"


class Unreadable(ToolKitBase[KioskDB]):
    @is_tool()
    def sell(self, count: "Number") -> str:  # noqa: F821
        """Sell tickets."""
        return "sold"


BUYING = Rule("kiosk.buying", Kind.STATE, "Nobody buys.", "Buying", {"buy"}, lambda moment: ())
GREETING = Rule("kiosk.greeting", Kind.PROTOCOL, "Be kind.", "Greeting", (), lambda talk: ())
TABLE_RULE = PermanenceRule("tickets", (), stays, "a ticket stays sold")


@pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)
def test_the_built_in_domains_have_none(domain):
    assert faults(domain) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"name": "../kiosk"}, "the name '../kiosk' must be lower-case letters"),
        ({"name": ""}, "the name '' must be lower-case letters"),
        ({"db_file": "db.toml"}, "has no db.toml"),
        ({"task_files": {"base": "tasks.json", "large": "large.json"}}, "has no large.json"),
        ({"task_files": {"all": "tasks.json"}}, "task_files names no 'base'"),
        ({"policy_text": policy_file("rules.md")}, "the policy cannot be read"),
        ({"policy_text": policy_file("policy.md", "solo.md")}, "the solo policy cannot be read"),
        (
            {"user_toolkit": Mute, "user_db": KioskDB},
            "a customer with tools needs user_db_file too",
        ),
        ({"sync": lambda desk, customer: None}, "sync couples two sides"),
        ({"toolkit": Mute}, "Mute.look has no docstring"),
        ({"toolkit": Unexplained}, "Unexplained.sell does not describe 'count'"),
        ({"toolkit": Unreadable}, "Unreadable: the signature of"),
        ({"rules": [BUYING]}, "rule 'kiosk.buying' names a tool 'buy' that the agent"),
        ({"rules": [GREETING, GREETING]}, "two rules have the id 'kiosk.greeting'"),
        ({"permanence": [TABLE_RULE]}, "permanence names 'tickets', which neither database has"),
        (
            {"user_toolkit": KioskTools, "user_db": KioskDB, "user_db_file": "db.json"},
            "both sides have a tool named sell",
        ),
    ],
)
def test_each_fault_is_told_with_what_is_wrong(tmp_path, changes, expected):
    found = faults(kiosk(tmp_path, **changes))

    assert any(expected in fault for fault in found), found


def test_both_sides_may_share_a_name_where_there_is_no_solo_mode(tmp_path):
    customer = {"user_toolkit": KioskTools, "user_db": KioskDB, "user_db_file": "db.json"}

    assert faults(kiosk(tmp_path, **customer, solo_refusal="nobody works alone here")) == []


@pytest.mark.parametrize("with_tools", [True, False])
def test_a_domain_of_ones_own_has_guidelines_that_explain_how_to_end(tmp_path, with_tools):
    text = kiosk(tmp_path).guidelines(with_tools)

    assert text is not None
    assert all(token in text for token in STOP_TOKENS)
    assert ("You have tools" in text) is with_tools


def test_guidelines_in_the_domains_own_folder_come_first(tmp_path):
    (tmp_path / "user_guidelines_tools.md").write_text("Be brief.")
    domain = kiosk(tmp_path)

    assert domain.guidelines(with_tools=True) == "Be brief."
    assert domain.guidelines(with_tools=False) != "Be brief."


def test_the_data_folder_stays_where_it_is_when_the_working_folder_changes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    domain = kiosk(Path())
    monkeypatch.chdir("/")

    assert domain.data_dir == tmp_path
