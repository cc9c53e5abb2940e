"""A run is one state of one's own code: all files count, and resuming with others is marked."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from maseval.app.comparing.compare import RunComparison
from maseval.app.results.run_summary import RunResult
from maseval.app.running import code_version
from maseval.app.running.code_version import code_of
from maseval.app.running.own_agents import load_agent
from maseval.app.sharing.sync import _tracked_run
from maseval.commands import compare, gate, report, run, show, tau2
from maseval.runs import RunConfigError, RunFolder
from maseval.stats import IncomparableRunsError
from maseval.stats.settings import ANYWAY
from tests.cli.commandline import maseval

SHOP = '''
"""A shop."""
from maseval import AgentAdapter, Benchmark, Environment, Task
from own_judges import Judge
from own_kitchen import *

IDS = ("tea", "milk", "bread")
TASKS = [Task(query=name, id=name, evaluation_data={"wanted": name}) for name in IDS]

class World(Environment):
    def setup_state(self, task_data):
        return {}
    def create_tools(self):
        return {}

class Clerk(AgentAdapter):
    def _run_agent(self, query):
        return answer(query)

class Base(Benchmark):
    strictness = 1

    def setup_environment(self, agent_data, task):
        return World({})

    def setup_agents(self, agent_data, environment, task, user):
        return [Clerk(None, "clerk")], {}

    def setup_evaluators(self, environment, task, agents, user):
        return [Judge(task, self.strictness)]

class Shop(Base):
    """Sells."""

class Polite(Base):
    def setup_agents(self, agent_data, environment, task, user):
        return [Clerk("please", "polite clerk")], {}

class Lenient(Base):
    strictness = 0
'''
JUDGES = '''
from maseval import Evaluator

class Judge(Evaluator):
    """Compares."""
    def __init__(self, task, strictness):
        self.task = task

    def __call__(self, traces, final_answer=None):
        from own_rules.texts import equal  # only when it is needed
        return {"passed": equal(final_answer, self.task.evaluation_data["wanted"])}
'''
KITCHEN = """
def answer(query):
    if query == "milk" and BROKEN:
        raise RuntimeError("spilt")
    return query

BROKEN = False
"""
TEXTS = "from . import basis\ndef equal(one, other): return basis.equal(one, other)\n"
BASIS = "def equal(one, other):\n    return one == other\n"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    rules = tmp_path / "own_rules"
    rules.mkdir()
    files = {
        "own_shop.py": SHOP,
        "own_judges.py": JUDGES,
        "own_kitchen.py": KITCHEN,
        "own_rules/__init__.py": "",
        "own_rules/texts.py": TEXTS,
        "own_rules/basis.py": BASIS,
    }
    for name, text in files.items():
        Path(name).write_text(text)
    yield
    forget()


def forget() -> None:
    """Let the next run import the files anew, as another process would."""
    for name in [name for name in sys.modules if name.startswith("own_")]:
        del sys.modules[name]


def change(name: str, old: str, new: str) -> None:
    text = Path(name).read_text()
    assert old in text
    Path(name).write_text(text.replace(old, new))
    forget()


def run_shop(name: str = "Shop", output: str = "r", **options: int) -> RunResult:
    return run(benchmark=f"own_shop.py:{name}", output=output, **options)


def test_all_files_of_ones_own_are_recorded_however_they_are_imported():
    run_shop()

    code = RunFolder.read("r").config.values["code"]
    assert sorted(code["files"]) == [
        "own_judges.py",
        "own_kitchen.py",
        "own_rules/__init__.py",
        "own_rules/basis.py",
        "own_rules/texts.py",
        "own_shop.py",
    ]


@pytest.mark.parametrize("name", ["own_judges.py", "own_kitchen.py", "own_rules/basis.py"])
def test_a_change_in_any_imported_file_is_refused_by_its_name(name):
    run_shop()
    Path(name).write_text(Path(name).read_text() + "\nVERSION = 2\n")
    forget()

    with pytest.raises(RunConfigError, match=rf"other code:\n  {name}: changed\n--resume-ch"):
        run_shop(trials=2)
    assert run_shop(trials=2, fork=True).folder.name == "r-2"


def test_a_file_that_a_condition_or_a_call_may_import_counts_too():
    Path("own_shop.py").write_text(
        f"{SHOP}\nimport importlib\ntry:\n    import own_extras\nexcept ImportError:\n    pass\n"
        "def later():\n    return importlib.import_module('own_later')\n"
    )
    Path("own_later.py").write_text("A = 1")
    run_shop()
    Path("own_extras.py").write_text("B = 1")
    change("own_later.py", "1", "2")

    with pytest.raises(RunConfigError, match=r"own_extras\.py: new\n  own_later\.py: changed"):
        run_shop()


def test_what_the_code_found_by_other_ways_counts_if_it_is_there_when_the_run_begins():
    Path("own_shop.py").write_text(
        f"{SHOP}\nimport importlib\nsauce = importlib.import_module('_'.join(['own', 'sauce']))\n"
    )
    Path("own_sauce.py").write_text("A = 1")

    run_shop()

    assert "own_sauce.py" in RunFolder.read("r").config.values["code"]["files"]


def test_a_file_that_is_called_like_a_secret_counts_like_any_other():
    change("own_kitchen.py", "BROKEN = False", "from own_api_key import BROKEN")
    Path("own_api_key.py").write_text("BROKEN = False")
    run_shop()
    change("own_api_key.py", "False", "0")

    with pytest.raises(RunConfigError, match=r"own_api_key\.py: changed"):
        run_shop()


def test_a_run_of_a_release_that_recorded_one_file_only_is_resumed_on_demand():
    run_shop()
    config = RunFolder.read("r").config.values
    code = config.pop("code")
    RunFolder.open("s", {**config, "source_sha256": "0" * 64}).close()

    with pytest.raises(RunConfigError, match="code: not recorded by the release that began"):
        RunFolder.open("s", {**config, "code": code})
    RunFolder.open("s", {**config, "code": code}, resume_changed=True).close()
    assert RunFolder.read("s").config.values["code"] == code


def test_comments_layout_and_docstrings_are_no_change():
    run_shop()
    change("own_shop.py", "Sells.", "Sells what there is.")
    change("own_shop.py", '"""A shop."""', '"""Another\n\nshop."""\n# open all day')
    change("own_rules/basis.py", "    return one == other", "    return (one ==\n        other)")

    assert run_shop(trials=2).ran == 3


def test_the_docstring_of_a_decorated_function_is_one_as_models_may_read_it():
    tool = "\n@print\ndef tool():\n    '''Sell tea.'''\n"
    change("own_kitchen.py", "BROKEN = False", f"BROKEN = False\n{tool}")
    run_shop()
    change("own_kitchen.py", "Sell tea.", "Sell milk.")

    with pytest.raises(RunConfigError, match=r"own_kitchen\.py: changed"):
        run_shop()


def test_a_package_that_was_installed_from_a_folder_is_ones_own(tmp_path, monkeypatch):
    place = tmp_path / "site-packages"
    for name, version in (("own_local", "1.0"), ("own_published", "2.0")):
        (place / name).mkdir(parents=True)
        (place / name / "__init__.py").write_text("A = 1\n")
        about = place / f"{name}-{version}.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}")
        (about / "RECORD").write_text(f"{name}/__init__.py,,\n")
    (place / "own_local-1.0.dist-info" / "direct_url.json").write_text(
        json.dumps({"url": "file:///here", "dir_info": {}})
    )
    monkeypatch.syspath_prepend(place)
    monkeypatch.setattr(code_version, "_local_installs", code_version._local_installs.__wrapped__)
    Path("own_main.py").write_text("import own_local, own_published, json\n")

    code = code_of(Path("own_main.py"))

    assert sorted(code["files"]) == ["own_local/__init__.py", "own_main.py"]
    assert code["distributions"] == {"own_published": "2.0"}


def test_another_version_of_a_distribution_is_another_code():
    run_shop()
    folder = RunFolder.read("r")
    config = folder.config.values
    config["code"] = {**config["code"], "distributions": {"frame": "1.0"}}
    RunFolder.open("s", config).close()
    config["code"]["distributions"] = {"frame": "1.1"}

    with pytest.raises(RunConfigError, match=r"frame: version 1\.0 -> version 1\.1"):
        RunFolder.open("s", config)


@pytest.fixture
def resumed() -> RunResult:
    """A run whose second task failed by a fault in the code, and was run again without it."""
    change("own_kitchen.py", "BROKEN = False", "BROKEN = True")
    run_shop(trials=4)
    change("own_kitchen.py", "BROKEN = True", "BROKEN = False")
    with pytest.raises(RunConfigError):
        run_shop(trials=4)
    return run_shop(trials=4, resume_changed=True)


WORDS = "Two versions of the code: 8 and 4 simulations."


def test_with_changed_code_what_is_finished_stays_and_what_failed_runs_again(resumed):
    folder = RunFolder.read("r")

    assert resumed.ran == 4 and resumed.summary.overall.passed == 12
    by_code = {(each["config"]["code"], each["task_id"]) for each in folder.reports()}
    assert len({code for code, _ in by_code}) == 2 and len(by_code) == 3
    assert folder.config.code_version in {code for code, task in by_code if task == "milk"}
    assert f"code {folder.config.code_version}" in maseval("show", "r", "milk").stdout
    assert f"code {folder.config.code_version}" not in maseval("show", "r", "tea").stdout
    assert run_shop(trials=4).ran == 0  # from here on the new code is the run's


def test_every_command_says_that_there_are_two_versions(resumed):
    run_shop(trials=4, output="s")
    page = report("r").read_text()

    assert WORDS in resumed.summary.method and WORDS in show("r").summary.method and WORDS in page
    assert f"r: {WORDS}" in compare(["s", "r"]).cautions
    assert f"r: {WORDS}" in gate("r", "s", min_comparable=0).cautions
    assert "versions of the code" not in show("s").summary.method


@pytest.mark.needs(library="starlette")
def test_the_viewer_says_so_too(resumed):
    pytest.importorskip("starlette")
    from tests.view.builders import viewer

    client = viewer(Path())
    results = client.get("/api/run/index", params={"run": "r"}).json()["results"]

    assert WORDS in " ".join(results["notes"])


def test_trackers_get_one_name_for_the_code(tmp_path):
    run_shop()
    with _tracked_run(RunFolder.read("r")) as tracked:
        told = {name: each for name, each in tracked.parameters.items() if name.startswith("code")}

    assert told == {"code": RunFolder.read("r").config.code_version}


def test_worker_processes_record_the_same_code(tmp_path):
    run_shop(trials=2)
    ran = maseval("run", "own_shop.py:Shop", "--trials", "3", "-o", "r", "--processes", "2")

    assert ran.exit_code == 0
    assert {each["config"]["code"] for each in RunFolder.read("r").reports()} == {
        RunFolder.read("r").config.code_version
    }


def compared(*names: str, **options: Any) -> RunComparison:
    for name in names:
        run_shop(name, output=name, trials=2)
    return compare(names, **options)


def test_classes_of_other_names_with_the_same_evaluators_can_be_compared():
    found = compared("Shop", "Polite")

    assert found.differing == [
        "benchmark: 'own_shop.py:Shop' and 'own_shop.py:Polite'",
        "the code of the agents",
    ]
    assert not any("evaluator" in each for each in found.cautions)
    shown = maseval("compare", "Shop", "Polite", "--no-explain").stdout
    assert "Compared: benchmark: 'own_shop.py:Shop' and" in shown
    assert maseval("gate", "Shop", "--baseline", "Polite", "--allow-undecidable").exit_code == 0


def test_so_can_the_same_evaluators_in_another_file():
    for old, new in (("own_shop.py", "own_store.py"), ("own_judges.py", "own_verdicts.py")):
        text = Path(old).read_text().replace("own_judges", "own_verdicts")
        Path(new).write_text(text.replace("class Shop", "class Store"))
    run_shop(output="a")
    run(benchmark="own_store.py:Store", output="b")

    assert compare(["a", "b"]).differing == [
        "benchmark: 'own_shop.py:Shop' and 'own_store.py:Store'",
        "files of code: own_judges.py, own_shop.py, own_store.py, own_verdicts.py",
    ]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("own_judges.py", '{"passed": equal', '{"passed": not equal'),
        ("own_rules/basis.py", "one == other", "one != other"),
        ("own_shop.py", "strictness = 1", "strictness = 2"),
    ],
)
def test_other_code_that_judges_is_refused_unless_it_is_compared_anyway(name, old, new):
    run_shop(output="a")
    change(name, old, new)
    run_shop(output="b")

    with pytest.raises(IncomparableRunsError, match=r"evaluator differs.*--anyway"):
        compare(["a", "b"])
    found = compare(["a", "b"], anyway=True)
    assert found.headline.endswith(ANYWAY) and ANYWAY in found.cautions[0]
    assert ANYWAY in maseval("gate", "a", "--baseline", "b", "--anyway").stdout


def test_another_class_attribute_that_evaluators_are_made_with_is_another_judge():
    with pytest.raises(IncomparableRunsError, match="evaluator"):
        compared("Shop", "Lenient")


def test_code_that_judges_nothing_is_not_the_evaluators():
    run_shop(output="a")
    change("own_kitchen.py", "return query", "return str(query)")
    run_shop(output="b")

    assert compare(["a", "b"]).differing == [
        "the code of the agents",
        "files of code: own_kitchen.py",
    ]


def test_files_that_import_each_other_have_an_end():
    change("own_kitchen.py", "BROKEN = False", "BROKEN = False\nfrom own_circle import *")
    Path("own_circle.py").write_text("from own_kitchen import *\nfrom own_kitchen import BROKEN")

    assert run_shop(trials=2).complete
    assert "own_circle.py" in RunFolder.read("r").config.values["code"]["files"]


def test_what_a_benchmark_was_given_judges_too():
    Path("own_given.py").write_text(
        "from own_shop import *\n"
        "class Given(Base):\n"
        "    def __init__(self, judge):\n        super().__init__()\n        self.judge = judge\n"
        "    def setup_evaluators(self, environment, task, agents, user):\n"
        "        return [self.judge(task, 1)]\n"
    )
    Path("own_other.py").write_text("from own_judges import Judge\nclass Other(Judge):\n    pass\n")
    sys.path.insert(0, ".")
    from own_given import TASKS, Given
    from own_judges import Judge
    from own_other import Other

    for name, judge in (("a", Judge), ("b", Judge), ("c", Other)):
        run(benchmark=Given(judge), tasks=TASKS, output=name)

    assert compare(["a", "b"]).differing == []
    with pytest.raises(IncomparableRunsError, match="evaluator"):
        compare(["a", "c"])
    assert "own_other.py" in RunFolder.read("c").config.values["code"]["files"]


def test_a_run_that_two_evaluators_judged_is_compared_with_neither():
    run_shop(output="a")
    change("own_rules/basis.py", "one == other", "other == one")
    run_shop(output="b", trials=2)
    run_shop(output="a", trials=2, resume_changed=True)
    run_shop(output="a", trials=3)

    with pytest.raises(IncomparableRunsError, match="evaluator"):
        compare(["a", "b"])


def files_of_code_that(tmp_path: Path, loading: str, playing: str = "None") -> RunResult:
    (tmp_path / "helper.py").write_text("ANSWER = 1\n")
    (tmp_path / "prompt.txt").write_text("Be kind.\n")
    file = tmp_path / "agent_that_opens.py"
    file.write_text(
        "import pathlib, runpy, subprocess, sys\n"
        "HERE = pathlib.Path(__file__).parent\n"
        f"{loading}\n"
        f"def agent(brief):\n    return lambda query: str({playing})\n"
    )
    result = tau2.run(
        domain="library", num_tasks=1, agent=f"{file}:agent", user="scripted", max_steps=6
    )
    return result


@pytest.mark.parametrize(
    ("loading", "name"),
    [
        ("runpy.run_path(str(HERE / 'helper.py'))", "helper.py"),
        ("exec((HERE / 'helper.py').read_text())", "helper.py"),
        ("subprocess.run([sys.executable, str(HERE / 'helper.py')])", "helper.py"),
        ("PROMPT = (HERE / 'prompt.txt').read_text()", "prompt.txt"),
    ],
)
def test_what_code_opens_when_it_is_loaded_belongs_to_the_run(tmp_path, monkeypatch, loading, name):
    monkeypatch.chdir(tmp_path)

    code = files_of_code_that(tmp_path, loading).config["code"]["files"]

    assert set(code) == {"agent_that_opens.py", name}
    (tmp_path / name).write_text("ANSWER = 2\n")
    assert load_agent(f"{tmp_path / 'agent_that_opens.py'}:agent")
    assert code_of(tmp_path / "agent_that_opens.py")["files"][name] != code[name]


@pytest.mark.parametrize(
    "playing",
    [
        "runpy.run_path(str(HERE / 'helper.py'))",
        "exec((HERE / 'helper.py').read_text())",
        "subprocess.run([sys.executable, str(HERE / 'helper.py')])",
    ],
)
def test_what_code_executes_later_is_named_as_not_covered(tmp_path, monkeypatch, playing):
    monkeypatch.chdir(tmp_path)

    result = files_of_code_that(tmp_path, "", playing)

    assert any("executed or read helper.py" in note for note in result.notes)
    last = json.loads((result.folder / "log.jsonl").read_text().splitlines()[-1])
    assert set(last["executed"]) == {"helper.py"}


def test_files_that_are_written_or_that_nobody_opens_are_no_code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    result = files_of_code_that(tmp_path, "(HERE / 'new.txt').write_text('x')", "1 / 0")

    assert set(result.config["code"]["files"]) == {"agent_that_opens.py"}
    assert not any("executed" in note for note in result.notes)
