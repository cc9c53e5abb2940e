"""A domain of one's own, named by its file."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.app.running.tasks import domain_name
from maseval.commands import compare, tau2
from maseval.core.exceptions import ConfigurationError
from maseval.runs import RunFolder
from maseval.runs.exceptions import RunConfigError
from tests.cli.commandline import finished, maseval

SHOP = '''
from pathlib import Path

from maseval.benchmark.tau2 import DB, ToolKitBase, ToolType, is_tool
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.world.state.records import Record, Table
from maseval.core.exceptions import ConfigurationError


class Kite(Record):
    kite_id: str
    sold: bool = False


class ShopDB(DB):
    kites: Table[Kite]


class ShopTools(ToolKitBase[ShopDB]):
    @is_tool(ToolType.WRITE)
    def sell(self, kite_id: str) -> Kite:
        """Sell a kite.

        Args:
            kite_id: The kite.
        """
        kite = self.db.kites[kite_id]
        kite.sold = True
        return kite


SHOP = Domain(name="NAME", db=ShopDB, toolkit=ShopTools, data_dir=Path(__file__).parent)
NOT_ONE = 3
'''


def task(name: str) -> dict[str, Any]:
    sell = {"action_id": name, "name": "sell", "arguments": {"kite_id": "K1"}}
    return {
        "id": name,
        "user_scenario": {
            "instructions": {
                "domain": "kites",
                "reason_for_call": "You want kite K1.",
                "task_instructions": "You are a private person.",
            }
        },
        "evaluation_criteria": {"actions": [sell], "reward_basis": ["DB"]},
    }


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """A folder with the file of a domain; its name is that of the test, as names are for good."""
    name = "kites-" + request.node.name.casefold().replace("_", "-")[:30].rstrip("-[")
    (tmp_path / "shop.py").write_text(SHOP.replace("NAME", name))
    (tmp_path / "db.json").write_text(json.dumps({"kites": {"K1": {"kite_id": "K1"}}}))
    (tmp_path / "policy.md").write_text("# Sell kites\n")
    (tmp_path / "tasks.json").write_text(json.dumps([task("buys_one"), task("buys_another")]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_domain_in_a_file_is_run_listed_shown_and_audited(folder):
    ran = maseval("tau2", "run", "--domain", "shop.py:SHOP", "--agent", "gold", "--output", "r")
    listed = maseval("tau2", "tasks", "--domain", "shop.py:SHOP", "--ids")
    tools = maseval("tau2", "tasks", "tools", "--domain", "shop.py:SHOP")
    shown = maseval("tau2", "tasks", "another", "--domain", "shop.py:SHOP")
    audited = maseval("tau2", "audit", "shop.py:SHOP")

    assert ran.exit_code == 0 and "2/2" in ran.stdout and "100.0%" in ran.stdout
    assert [line.partition("/")[2] for line in listed.stdout.split()] == [
        "buys_one",
        "buys_another",
    ]
    assert "sell(kite_id)" in tools.stdout and "You want kite K1." in shown.stdout
    assert audited.exit_code == 0


def test_a_run_remembers_the_file_and_is_not_mixed_of_two_versions_of_it(folder):
    first = tau2.run(domain="shop.py:SHOP", agent="gold", output="r")
    (recorded,) = RunFolder.read("r").config.values["own_domains"].values()
    (folder / "shop.py").write_text((folder / "shop.py").read_text() + "VERSION = 2\n")

    assert first.complete and recorded == {"reference": "shop.py:SHOP"}
    with pytest.raises(RunConfigError, match=r"shop\.py: changed"):
        tau2.run(domain="shop.py:SHOP", agent="gold", output="r")


def test_a_run_in_it_is_scored_by_its_file(folder):
    tau2.run(domain="shop.py:SHOP", agent="noop", output="r")

    certified = maseval("tau2", "certify", "r", "--domain", "shop.py:SHOP")

    assert certified.exit_code == 0 and "0 of 2 passed" in certified.stdout


@pytest.mark.parametrize(
    "words",
    [
        ["score", "r"],
        ["explain", "r", "buys_one"],
        ["tau2", "certify", "r"],
        ["export", "r", "--format", "tau2-bench"],
        ["bundle", "r"],
    ],
)
def test_another_process_finds_the_file_that_was_typed(folder, words):
    tau2.run(domain="shop.py:SHOP", agent="noop", output="r")

    code, _, errors = finished(*words, folder=folder)

    assert code == 0 and "domain" not in errors, errors


def test_a_file_that_has_moved_is_named_with_the_way_out(folder):
    tau2.run(domain="shop.py:SHOP", agent="noop", output="r")
    (folder / "new").mkdir()
    for name in ("shop.py", "db.json", "policy.md", "tasks.json"):
        (folder / name).rename(folder / "new" / name)

    lost = finished("score", "r", folder=folder)
    finished("tau2", "tasks", "--domain", "new/shop.py:SHOP", folder=folder)
    found = finished("score", "r", folder=folder)

    assert lost[0] == 2 and "shop.py, which is not there any more; name its file once" in lost[2]
    assert found[0] == 0


def test_a_task_may_be_added_to_a_domain_whose_runs_go_on(folder):
    tau2.run(domain="shop.py:SHOP", agent="gold", output="r")
    tau2.run(domain="shop.py:SHOP", agent="noop", output="before")
    more = [task("buys_one"), task("buys_another"), task("buys_a_third")]
    (folder / "tasks.json").write_text(json.dumps(more))

    extended = tau2.run(domain="shop.py:SHOP", agent="gold", output="r")
    found = compare(["before", "r"])

    assert extended.ran == 1 and extended.summary.overall.planned == 3
    assert found.two.main.tasks == 2 and found.two.main.difference == 1.0
    assert not [note for note in found.notes if "not recomputed" in note]


def test_a_task_that_has_changed_is_not_mixed_with_what_it_was(folder):
    tau2.run(domain="shop.py:SHOP", agent="gold", output="r")
    other = task("buys_one") | {"evaluation_criteria": {"actions": [], "reward_basis": ["DB"]}}
    (folder / "tasks.json").write_text(json.dumps([other, task("buys_another")]))

    with pytest.raises(RunConfigError, match=r"tasks\.buys_one"):
        tau2.run(domain="shop.py:SHOP", agent="gold", output="r")


def test_a_run_in_it_is_shown_by_whoever_does_not_know_it_and_explained_with_its_file(
    folder, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "nowhere"))
    ran = ("tau2", "run", "--domain", "shop.py:SHOP", "--agent", "noop", "--output", "r")
    assert finished(*ran, folder=folder)[0] == 0  # by a process that knows it, and ends
    shutil.rmtree(folder / "nowhere")

    alone, one = maseval("show", "r"), maseval("show", "r", "buys_one")
    page = maseval("report", "r")
    explained = maseval("show", "r", "--domain", "shop.py:SHOP", "--failed")

    assert {each.exit_code for each in (alone, one, page, explained)} == {0}
    assert (
        "0/1" in alone.stdout and "name the file of your own: --domain FILE.py:NAME" in alone.stdout
    )
    assert "unclear: unknown domain" in one.stdout and "--domain FILE.py:NAME" in one.stdout
    assert page.stdout.strip() == "r/report.html"
    assert "2 of 2 simulations" in explained.stdout and "unknown" not in explained.stdout
    assert re.search(r"(agent|user|task): \w", explained.stdout)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("shop.py:SHPO", "did you mean 'SHOP'?"),
        ("shop.py:NOT_ONE", "is 3; it must be a Domain"),
        ("nowhere.py:SHOP", "there is no file 'nowhere.py'"),
        (":SHOP", "write it like shop.py:SHOP"),
        ("broken.py:SHOP", "cannot load the domain in broken.py: SyntaxError"),
    ],
)
def test_what_cannot_be_loaded_is_one_message(folder, given, words):
    (folder / "broken.py").write_text("def")

    with pytest.raises(ConfigurationError) as caught:
        domain_name(given)
    result = maseval("tau2", "tasks", "--domain", given)

    assert words in str(caught.value)
    assert result.exit_code == 2 and "Traceback" not in result.stderr


def test_the_name_of_a_domain_of_maseval_is_not_to_be_taken(folder):
    (folder / "shop.py").write_text(SHOP.replace("NAME", "retail"))

    with pytest.raises(ConfigurationError, match="give yours another"):
        domain_name("shop.py:SHOP")


def test_a_name_in_a_file_loads_nothing(folder):
    (folder / "evil.py").write_text("open('ran', 'w').close()\n")
    result = tau2.run(domain="library", agent="gold", num_tasks=1, output="r")
    log = result.folder / "log.jsonl"
    exported = tau2.export("r")[0].path
    exported.write_text(exported.read_text().replace('"library"', '"evil.py:X"'))

    maseval("score", exported)

    assert log.is_file() and not (folder / "ran").exists()
