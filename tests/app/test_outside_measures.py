"""A benchmark from outside with several numbers, whose tasks are cases of user tasks."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from maseval.stats import Measure
from tests.cli.commandline import maseval
from tests.report.reading import index_of

BENCHMARK = '''
"""A bank whose users are attacked: useful, resisted, and how careful it was."""

from maseval import AgentAdapter, Benchmark, Environment, Evaluator, MessageHistory, Task, TaskQueue


class Counter(Environment):
    def setup_state(self, task_data):
        return {}

    def create_tools(self):
        return {}


class Clerk(AgentAdapter):
    def __init__(self, obeys):
        super().__init__(None, "clerk")
        self.obeys, self.messages = obeys, MessageHistory()

    def _run_agent(self, query):
        self.messages.add_message("user", query)
        answer = "transferred" if self.obeys > int(query.split()[1]) else "refused"
        self.messages.add_message("assistant", answer)
        return answer

    def get_messages(self):
        return self.messages


class Honest(Evaluator):
    def __init__(self, task, environment, user=None):
        self.task = task

    def filter_traces(self, traces):
        return traces

    def __call__(self, traces, final_answer=None):
        attacked = "attack" in self.task.id
        resisted = final_answer == "refused" or not attacked
        number = int(self.task.query.split()[1])
        return {"passed": resisted or number % 2 == 0, "resisted": resisted,
                "care": 0.5 if resisted else 0.25, "calls": 3 + number}


class Bank(Benchmark):
    evaluators_need_environment = False

    def setup_environment(self, agent_data, task, seed_generator):
        return Counter({})

    def setup_agents(self, agent_data, environment, task, user, seed_generator):
        agent = Clerk(agent_data.get("obeys", 0))
        return [agent], {"clerk": agent}

    def setup_evaluators(self, environment, task, agents, user, seed_generator):
        return [Honest(task, environment)]


def load_tasks():
    return TaskQueue([
        Task(f"user {user} attack {case}", id=f"user_{user}-attack_{case}", cluster=f"user_{user}")
        for user in range(8)
        for case in range(4)
    ])
'''
QUIET = """
from maseval import Task, TaskQueue
from my_bank import Bank as AttackedBank


class Bank(AttackedBank):
    pass


def load_tasks():
    return TaskQueue([Task(f"user {user}", id=f"user_{user}") for user in range(8)])
"""
SUPPORT = """
from maseval.commands import BenchmarkSupport
from maseval.stats import Measure


class BankSupport(BenchmarkSupport):
    def measures(self, folder):
        return [
            Measure("useful", "the user got what was asked for", decides=True),
            Measure("resisted", "no attack succeeded", complement="attack success"),
            Measure("care", kind="share"),
            Measure("calls", kind="quantity", higher_is_better=False, unit="calls"),
        ]


SUPPORT = BankSupport()
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    package, info = folder / "my_bank", folder / "my_bank-1.0.dist-info"
    for each in (package, info):
        each.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-bank\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[maseval.benchmarks]\nmy_bank = my_bank.support:SUPPORT\n"
    )
    (package / "__init__.py").write_text(BENCHMARK)
    (package / "quiet.py").write_text(QUIET)
    (package / "support.py").write_text(SUPPORT)
    return folder


@pytest.fixture
def installed(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(site)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def ran(name: str, *more: str, module: str = "my_bank") -> Any:
    done = maseval("run", f"{module}:Bank", "--output", f"runs/{name}", *more)
    assert done.exit_code == 0, done.stderr
    return done


def test_a_run_shows_every_measure_and_counts_clusters(installed):
    done = ran("obeys", "--agent-data", "obeys=4")
    assert "resisted: no attack succeeded; attack success 50.0%" in done.stdout

    shown = maseval("show", "obeys").stdout
    summary = json.loads(maseval("show", "obeys", "--json").stdout)

    assert "over 8 clusters of 32 tasks" in shown
    assert "resisted^k" in shown and "attack success 50.0%" in shown
    assert "care" in shown and "6.5 [4.452, 8.548] calls" in shown
    assert summary["overall"]["clusters"] == 8
    assert summary["overall"]["pass^1"]["value"] == 0.75


def test_two_runs_are_compared_by_cluster_in_every_measure(installed):
    ran("obeys", "--agent-data", "obeys=4")
    ran("refuses")

    done = maseval("compare", "refuses", "obeys", "--json")
    found = json.loads(done.stdout)

    main = found["main"]
    assert main["clusters"] == 8 and main["test"]["p_value"] == 0.5
    assert main["difference"] == -0.25
    beside = {each["label"]: each for each in found["beside"]}
    assert beside["resisted"]["difference"] == -0.5
    assert beside["resisted"]["test"]["p_value"] == 0.125
    assert beside["care"]["first"] == 0.5 and beside["care"]["second"] == 0.375
    assert beside["calls"]["difference"] == 0 and beside["calls"]["unit"] == "calls"
    printed = maseval("compare", "refuses", "obeys").stdout
    assert "other measures" in printed and "6.5 calls" in printed
    assert "2 of 8 clusters differ" in printed


def test_another_measure_takes_the_place_of_the_verdict(installed):
    ran("obeys", "--agent-data", "obeys=4")
    ran("refuses")

    both = ("compare", "refuses", "obeys", "--measure")
    found = json.loads(maseval(*both, "resisted", "--json").stdout)
    printed = maseval(*both, "resisted").stdout
    share = json.loads(maseval(*both, "care", "--json").stdout)
    gated = maseval("gate", "obeys", "--at-least", "90", "--measure", "resisted")
    planned = maseval("plan", "obeys", "--difference", "10", "--measure", "resisted")

    assert found["main"]["label"] == "resisted^k" and found["main"]["difference"] == -0.5
    assert "resisted^1" in printed and "pass^1" not in printed
    assert share["main"]["difference"] == -0.125
    assert gated.exit_code == 1 and "resisted^1 50.0%" in gated.stdout
    assert "rates are those of resisted" in planned.stdout
    assert "resisted^1 50.0%" in planned.stdout
    wrong = maseval(*both, "safe")
    assert wrong.exit_code == 2
    assert "no measure 'safe'; its benchmark declares useful, resisted, care" in wrong.stderr
    quantity = maseval(*both, "calls")
    assert quantity.exit_code == 2 and "'calls' is a quantity" in quantity.stderr


def test_a_run_without_attacks_is_compared_by_user_task(installed):
    ran("quiet", module="my_bank.quiet")
    ran("obeys", "--agent-data", "obeys=4")

    done = maseval("compare", "quiet", "obeys", "--measure", "resisted", "--json")

    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["main"]["difference"] == -0.5 and found["main"]["clusters"] == 8
    assert found["main"]["test"]["p_value"] == 0.125
    assert found["dropped"] == []


def test_a_run_ends_when_a_measure_is_decided(installed):
    ran("refuses", "--trials", "4")

    done = maseval(
        *("run", "my_bank:Bank", "--output", "runs/new", "--agent-data", "obeys=8"),
        *("--until", "better-than refuses by resisted", "--trials", "4"),
    )

    config = json.loads(maseval("show", "new", "--json").stdout)
    assert done.exit_code == 0, done.stderr
    assert "worse than the baseline" in config["intervals"]
    assert "the difference in resisted is" in done.stdout
    share = maseval(
        *("run", "my_bank:Bank", "--output", "runs/share"),
        *("--until", "better-than refuses by care", "--trials", "4"),
    )
    assert share.exit_code == 2 and "cannot be about 'care', a share" in share.stderr
    wrong = maseval(
        *("run", "my_bank:Bank", "--output", "runs/wrong"),
        *("--until", "±10 by safe", "--trials", "4"),
    )
    assert wrong.exit_code == 2 and "no measure 'safe'" in wrong.stderr


def test_runs_whose_verdicts_say_something_else_are_not_compared_by_them(installed, monkeypatch):
    from maseval.app import benchmarks

    ran("attacked")
    ran("quiet", module="my_bank.quiet")
    support = benchmarks.support_by_name("my_bank")

    def measures(folder):
        decided_by = "useful" if "quiet" in str(folder.path) else "resisted"
        useful, resisted, *_ = type(support).measures(support, folder)
        return [replace(each, decides=each.name == decided_by) for each in (useful, resisted)]

    monkeypatch.setattr(support, "measures", measures, raising=False)
    both = ("compare", "attacked", "quiet")
    refused = maseval(*both)
    anyway = maseval(*both, "--anyway")

    assert refused.exit_code == 2
    words = "'resisted' in attacked, 'useful' in quiet; compare by --measure"
    assert words in " ".join(refused.stderr.split())
    assert anyway.exit_code == 0 and "says something else in each run" in anyway.stdout
    assert maseval(*both, "--measure", "resisted").exit_code == 0
    assert "pass^k is resisted: no attack succeeded" in maseval("show", "attacked").stdout


def test_a_value_that_is_impossible_leaves_the_other_numbers(installed, monkeypatch):
    from maseval.app import benchmarks

    ran("refuses")
    support = benchmarks.support_by_name("my_bank")
    wrong = [Measure("calls", kind="share"), Measure("care", kind="share")]
    monkeypatch.setattr(support, "measures", lambda folder: wrong, raising=False)

    shown = maseval("show", "refuses")

    assert shown.exit_code == 0 and "care" in shown.stdout
    assert "calls: the measure 'calls' is 3; return a number from 0 to 1" in shown.stdout
    monkeypatch.setattr(support, "measures", lambda folder: [wrong[1]] * 2, raising=False)
    assert "two measures 'care'" in maseval("show", "refuses").stderr


def test_the_measures_are_in_the_tables_and_on_the_page(installed, tmp_path):
    ran("obeys", "--agent-data", "obeys=4")

    table = maseval("export", "obeys", "--format", "jsonl", "--table", "scores", "-o", "-")
    page = maseval("report", "obeys", "-o", "page.html")

    rows = [json.loads(line) for line in table.stdout.splitlines()]
    values = {(row["counted"], row["k"]): row["value"] for row in rows}
    assert values["resisted", 1] == 0.5 and values["care", 1] == 0.375
    assert page.exit_code == 0 and "attack success 50.0%" in (tmp_path / "page.html").read_text()


def test_the_page_of_two_runs_is_about_the_measure_that_is_asked_for(installed, tmp_path):
    ran("obeys", "--agent-data", "obeys=4")
    ran("refuses")
    by = ("report", "refuses", "obeys", "-o", "page.html", "--measure")

    done = maseval(*by, "resisted")
    page = index_of(tmp_path / "page.html")["compared"]
    share = maseval(*by, "care")
    cells = index_of(tmp_path / "page.html")["compared"]

    assert done.exit_code == share.exit_code == 0, done.stderr + share.stderr
    assert page["pairs"][0]["measure"] == "resisted^1"
    assert page["pairs"][0]["difference"] == -0.5
    assert "resisted^1" in page["results"]["measures"]
    assert "resisted^k" in str(page["plots"]) and "pass^" not in str(page["plots"])
    [beside] = page["beside"]
    assert [row[0] for row in beside["rows"]] == ["care", "calls"]
    assert {task["cells"][1][0] for task in page["tasks"]} == {"p", "f"}
    values = {tuple(map(str, task["cells"][1])) for task in cells["tasks"]}
    assert values == {("s", "[0]", "[0.5]"), ("s", "[0]", "[0.25]")}
    alone = maseval("report", "obeys", "-o", "page.html", "--measure", "resisted")
    assert alone.exit_code == 2 and "name two to compare their 'resisted'" in alone.stderr


def test_the_viewer_compares_by_the_measure_in_its_address(installed, tmp_path):
    pytest.importorskip("starlette")
    from tests.view.builders import viewer

    ran("obeys", "--agent-data", "obeys=4")
    ran("refuses")
    view = viewer(tmp_path / "runs")
    asked = [("run", "refuses"), ("run", "obeys")]

    official = view.get("/api/compare", params=asked).json()
    resisted = view.get("/api/compare", params=[*asked, ("measure", "resisted")]).json()
    unknown = view.get("/api/compare", params=[*asked, ("measure", "safe")])

    assert official["measures"] == resisted["measures"] == ["", "resisted", "care"]
    assert official["pairs"][0]["measure"] == "pass^1"
    assert resisted["pairs"][0]["measure"] == "resisted^1"
    assert resisted["pairs"][0]["difference"] == -0.5
    assert unknown.status_code == 422 and "no measure 'safe'" in unknown.json()["error"]
