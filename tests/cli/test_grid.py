"""``[grid]`` in a run file: factors with levels, each combination a run."""

import json
import re
import signal
from pathlib import Path

import pytest

from maseval.runs import RunFolder
from maseval.runs.config import cell_of
from tests.cli.commandline import ended, maseval, slow_agent, started, wait_for_some

LIBRARY = 'benchmark = "tau2"\ndomain = "library"\ntask_id = "1-2"\n'
CARELESS = '{name = "careless", agent = "noisy", agent-args = {error_rate = 1.0}}'
pytestmark = pytest.mark.usefixtures("in_a_folder_of_its_own")


def grid(*lines: str, above: str = LIBRARY, name: str = "g") -> str:
    Path(f"{name}.toml").write_text("\n".join([above, "[grid]", *lines]), "utf-8")
    return f"{name}.toml"


def result(*typed: object, code: int = 0) -> list[dict]:
    """The objects that a grid prints, one for each cell."""
    found = maseval("run", *typed, "--json")
    assert found.exit_code == code, found.stderr
    return [json.loads(line) for line in found.stdout.splitlines()]


def names(cells: list[dict]) -> list[str]:
    return [Path(each["folder"]).name for each in cells]


def test_each_combination_of_levels_is_a_run_that_knows_its_cell() -> None:
    file = grid(f'system = ["gold", {CARELESS}]', "seed = [1, 2]")

    cells = result(file)

    told = " ".join(maseval("runs").stdout.split())
    assert "`maseval runs FOLDER` lists those of a grid" in told
    expected = [(s, n) for s in ("gold", "careless") for n in (1, 2)]
    assert names(cells) == [f"{system}-seed-{seed}" for system, seed in expected]
    assert [each["cell"] for each in cells] == [{"system": s, "seed": str(n)} for s, n in expected]
    assert [each["overall"]["passed"] for each in cells[:2]] == [2, 2]
    folder = RunFolder.read(cells[3]["folder"])
    assert list(cell_of(folder.config.values).items()) == [("system", "careless"), ("seed", "2")]
    assert folder.config.values["agent"] == {"player": "noisy", "error_rate": 1.0}
    assert folder.config.values["seed"] == 2


def test_only_what_is_new_is_run_when_the_grid_grows_or_its_factors_change_places() -> None:
    result(grid('system = ["gold", "noop"]', "seed = [1]"))

    cells = result(grid("seed = [2, 1]", 'system = ["noop", "noisy", "gold"]'))

    ran = dict(zip(names(cells), (each["ran"] for each in cells), strict=True))
    assert {name for name, number in ran.items() if not number} == {
        "gold-seed-1",
        "noop-seed-1",
    }
    assert len(ran) == 6 and sum(ran.values()) == 8
    kept = RunFolder.read("runs/g/gold-seed-1").config.values
    assert list(cell_of(kept)) == ["seed", "system"]


def test_cells_can_be_left_out_and_kept_in_a_folder_of_ones_choice() -> None:
    file = grid(
        f'system = ["gold", "noop", {CARELESS}]',
        "seed = [1, 2]",
        'skip = [{system = "noop"}, {system = "careless", seed = 2}]',
    )

    assert names(result(file)) == ["gold-seed-1", "gold-seed-2", "careless-seed-1"]
    chosen = result(file, "--output", "here", "--task-id", "1")
    assert {str(Path(each["folder"]).parent) for each in chosen} == {str(Path("here").absolute())}
    assert [each["overall"]["planned"] for each in chosen] == [1, 1, 1]


def test_names_are_short_readable_safe_and_different() -> None:
    above = 'benchmark = "tau2"\nuser = "scripted"\n'
    systems = '"react.py:agent", "react.py:twice", "a/agent.py:agent", "pkg.mod:agent"'
    models = '"openai/gpt-4.1", "azure/gpt-4.1", {name = "x y/z", agent_model = "c"}'
    file = grid(
        f"system = [{systems}]", f"agent_model = [{models}]", 'domain = ["airline"]', above=above
    )

    found = maseval("run", file, "--dry-run", "--json")  # refused, as there are no such files

    runs = json.loads(found.stdout)["runs"]
    assert [each["name"] for each in runs[:3]] == [
        "react-gpt-4-1-airline",
        "react-azure-gpt-4-1-airline",
        "react-x-y-z-airline",
    ]
    assert runs[0]["cell"] == {"system": "react", "agent_model": "gpt-4.1", "domain": "airline"}
    assert [each["cell"]["system"] for each in runs[::3]] == ["react", "react-twice", "a", "mod"]
    assert len({each["folder"] for each in runs}) == 12


def test_a_cell_that_fails_is_named_at_the_end_and_the_others_are_run() -> None:
    Path("crash.py").write_text("def agent(brief):\n    raise TypeError('no')\n", "utf-8")
    above = f'{LIBRARY}user = "scripted"\n'
    file = grid('system = ["no.py:agent", "crash.py:agent", "gold"]', above=above)

    found = maseval("run", file)

    assert found.exit_code == 2
    said = " ".join(found.stdout.split())
    assert "no: exit code 2: there is no file 'no.py'" in said
    assert said.endswith("2 of 3 runs maseval compare runs/g")
    assert "run 3 of 3; all runs: 2/4 done | " in found.stderr
    assert "run 3 of 3; all runs: 4/4 done | " in found.stderr
    failed, crashed, gold = sorted(result(file, code=2), key=lambda each: "overall" in each)
    assert failed["cell"] == {"system": "no"} and "overall" not in failed
    assert crashed["ran"] == gold["ran"] == 0


def test_all_cells_have_one_budget_and_the_rest_is_resumed_with_more(tmp_path: Path) -> None:
    _, model, *_ = slow_agent(tmp_path, 0)
    options = f'agent_model = "{model}"\nuser = "scripted"\nconcurrency = 1\n'
    file = grid("seed = [1, 2, 3]", above=f'{LIBRARY}{options}budget = "100000 tokens"\n')
    first = result(file, "--task-id", "1", "--budget", "2M tokens")
    spent = sum(each["tokens"] for each in first)

    rest = result(file, "--budget", f"{spent + 1} tokens", code=3)
    whole = result(file, "--budget", "2M tokens")

    stopped, *not_run = sorted(rest, key=lambda each: "overall" not in each)
    assert f"the budget of {spent + 1:,} tokens is reached" in stopped["stopped"]
    assert stopped["ran"] == 1 and stopped["tokens"] < spent
    assert len(not_run) == 2
    for each in not_run:
        assert each["error"].startswith(f"exit code 3: the budget of {spent + 1:,} tokens is reach")
    assert sorted(each["ran"] for each in whole) == [0, 1, 1]
    assert all(each["complete"] for each in whole)


def test_a_signal_ends_the_whole_grid_and_the_same_command_resumes_it(tmp_path: Path) -> None:
    _, model, *_ = slow_agent(tmp_path, 0)
    options = f'agent_model = "{model}"\nuser = "scripted"\nagent_args = {{delay_seconds = 0.05}}\n'
    file = grid("seed = [1, 2]", above=f"{LIBRARY}{options}concurrency = 1\n")

    process = started("run", file, folder=tmp_path)
    wait_for_some(tmp_path / "runs" / "g" / "seed-1", 1)
    process.send_signal(signal.SIGINT)
    code, out, errors = ended(process)

    assert code == 3, errors
    assert "seed-2: not run" in out
    assert not Path("runs/g/seed-2").exists()
    assert all(each["complete"] for each in result(file))


def test_a_dry_run_prices_every_cell_and_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("genai_prices")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    models = '"openai/gpt-4.1", "openai/gpt-4.1-mini"'
    above = f'{LIBRARY}user = "scripted"\n'
    file = grid(f"agent_model = [{models}]", "trials = [1, 3]", above=above)

    found = maseval("run", file, "--dry-run", "--json")
    shown = maseval("run", file, "--dry-run").stdout

    told = json.loads(found.stdout)
    costs = [each["estimate"] for each in told["runs"]]
    assert [each["planned"] for each in told["runs"]] == [2, 6, 2, 6]
    assert costs[1] == pytest.approx(3 * costs[0], rel=1e-3) and costs[0] > 3 * costs[2] > 0
    assert told["cost"] == pytest.approx(sum(costs)) and found.exit_code == 0
    assert all("would be refused" in each["note"] for each in told["runs"])  # without a key
    assert "gpt-4-1-mini-trials-3" in shown and "│ all" in shown and "Nothing was run" in shown
    partly = maseval(
        "run", grid('agent_model = ["openai/gpt-4.1", "mine"]', above=above), "--dry-run"
    )
    assert re.search(r"all .*\$0\.\d+ and not known", partly.stdout), partly.stdout
    assert not Path("runs").exists()


def test_a_rehearsal_plays_every_cell_and_says_which_is_broken() -> None:
    Path("loop.py").write_text(LOOP, "utf-8")
    deaf = "def agent(brief):\n    return lambda query: 'I know it all.'\n"
    Path("deaf.py").write_text(deaf, "utf-8")
    above = f'{LIBRARY}user_model = "openai/gpt-4.1"\ntrials = 4\nbudget = "$20"\n'
    file = grid(
        'system = ["loop.py:agent", "deaf.py:agent", "llm"]',
        'agent_model = ["openai/gpt-4.1"]',
        above=above,
    )

    found = maseval("run", file, "--rehearse", "gold")

    assert found.exit_code == 1, found.stderr
    broken = [line for line in found.stdout.splitlines() if "exit code" in line]
    assert len(broken) == 1 and broken[0].startswith("deaf-gpt-4-1: exit code 1: ")
    assert [each.name for each in Path("runs").iterdir()] == ["g-rehearsed-gold"]
    config = RunFolder.read("runs/g-rehearsed-gold/loop-gpt-4-1").config.values
    assert config["agent"]["rehearse"] == "gold" and not cell_of(config)
    Path("deaf.py").write_text(LOOP, "utf-8")
    repaired = maseval("run", file, "--rehearse", "gold")
    assert repaired.exit_code == 0, repaired.stdout


LOOP = """
from maseval.benchmark.tau2 import DefaultTau2Agent, DefaultTau2AgentAdapter


def agent(brief):
    model = brief.chat_model()
    return DefaultTau2AgentAdapter(DefaultTau2Agent(brief.tools, brief.policy, model))
"""


def test_the_trials_that_a_difference_takes_are_planned_before_and_after_a_pilot() -> None:
    file = grid(f'system = ["noop", {CARELESS}]', "seed = [1, 2]", above=LIBRARY)
    asked = ("plan", file, "--between", "system", "--difference", "10", "--json")

    refused = maseval(*asked)
    stated = json.loads(maseval(*asked, "--rate", "60").stdout)
    result(file, "--trials", "2")
    observed = json.loads(maseval(*asked).stdout)

    assert refused.exit_code == 2 and "no cell of g.toml has run yet" in refused.stderr
    for found in (stated, observed):
        assert (found["about"]["tasks"], found["about"]["cells"]) == (2, 2.0)
        assert found["rows"][0]["simulations"] == 8


def test_files_of_two_systems_may_have_neighbours_of_the_same_name() -> None:
    for name in ("a", "b"):
        Path(name).mkdir()
        Path(name, "words.py").write_text(f"WORDS = 'I am {name}'\n", "utf-8")
        code = "from words import WORDS\ndef agent(brief):\n    return lambda query: WORDS\n"
        Path(name, "agent.py").write_text(code, "utf-8")

    systems = '"a/agent.py:agent", "b/agent.py:agent"'
    cells = result(grid(f"system = [{systems}]", above=f'{LIBRARY}user = "scripted"\n'))

    said = [Path(each["folder"], "log.jsonl").read_text("utf-8") for each in cells]
    assert ["I am a" in each for each in said] == [True, False]
    assert ["I am b" in each for each in said] == [False, True]
    assert all(each["ran"] == 0 for each in result("g.toml"))


SHOP = """
from examples.booking import BookingBenchmark, load_tasks


class Shop(BookingBenchmark):
    def setup_agents(self, agent_data, *args, **more):
        slip_rate = {"hasty": 1.0, "calm": 0.0}[agent_data["system"]]
        return super().setup_agents({"slip_rate": slip_rate}, *args, **more)
"""


def test_a_benchmark_of_ones_own_has_its_systems_in_agent_data() -> None:
    Path("shop.py").write_text(SHOP, "utf-8")
    file = grid('system = ["hasty", "calm"]', "trials = [1, 2]", above='benchmark = "shop.py:Shop"')

    cells = result(file)

    passed = {Path(each["folder"]).name: each["overall"]["passed"] for each in cells}
    assert passed["hasty-trials-1"] < passed["calm-trials-1"]
    assert passed["calm-trials-2"] == 2 * passed["calm-trials-1"]
    assert RunFolder.read("runs/g/hasty-trials-1").config.values["agent"]["system"] == "hasty"
    rehearsed = maseval("run", file, "--rehearse", "gold")
    assert rehearsed.exit_code == 0 and "no scripted model can play it" in rehearsed.stdout


@pytest.mark.data
def test_tau2_and_macs_with_a_scripted_judge_are_cells_of_one_grid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, macs_data: Path
) -> None:
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("MASEVAL_MACS_DATA", str(macs_data))
    Path("quiet.py").write_text("def agent(brief):\n    return lambda query: 'Done.'\n", "utf-8")
    Path("mine.py").write_text(
        "from maseval.benchmark.macs.default_benchmark import DefaultMACSBenchmark\n"
        "class Mine(DefaultMACSBenchmark):\n    pass\n",
        "utf-8",
    )
    replies = {
        "agent": ["It is done."],
        "user": ['{"text": "Thanks </stop>"}'],
        "judge": [json.dumps([{"assertion": "a", "answer": "TRUE", "evidence": "e"}])],
    }
    for name, said in replies.items():
        Path(f"{name}.json").write_text(json.dumps(said), "utf-8")
    file = grid(
        'system = [{name = "plain", agent = "gold"}, '
        '{name = "mine", agent = "quiet.py:agent", team = "mine.py:Mine"}]',
        'benchmark = [{name = "library", benchmark = "tau2", domain = "library", user = "scripted"}'
        ', {name = "travel", benchmark = "macs", domain = "travel"}]',
        'skip = [{system = "plain", benchmark = "travel"}]',
        above='num_tasks = 1\nagent_model = "scripted/agent.json"\n'
        'user_model = "scripted/user.json"\njudge_model = "scripted/judge.json"\n',
    )

    cells = result(file)

    assert names(cells) == ["plain-library", "mine-library", "mine-travel"]
    assert [each["overall"]["passed"] for each in cells] == [1, 0, 1]
    assert cells[2]["cell"] == {"system": "mine", "benchmark": "travel"}
    config = RunFolder.read(cells[2]["folder"]).config.values
    assert config["benchmark"] == "macs" and config["team"] == "mine.py:Mine"
    assert config["judge"]["model"] == "scripted/judge.json"


def test_the_grid_of_the_page_prints_what_the_page_shows() -> None:
    page = (Path(__file__).parents[2] / "docs" / "running.md").read_text("utf-8")
    _, _, after = page.partition('```toml title="grid.toml"\n')
    content, _, rest = after.partition("```\n")
    Path("grid.toml").write_text(content, "utf-8")
    shown = rest.partition("```text\n")[2].partition("```")[0].splitlines()

    printed = maseval("run", "grid.toml").stdout

    same = [each for each in shown if "simulations in" not in each]
    assert len(same) == 9 and set(same) <= set(printed.splitlines())


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([], "[grid] has no factor"),
        (
            [f"{name} = {[*range(400)]}" for name in ("seed", "trials", "num_tasks")],
            "[grid] has 64,000,000 combinations of levels, 1,000 at most",
        ),
        ([f"seed = {[*range(100_000)]}"], "[grid] has 100,000 combinations of levels"),
        (["agnt_model = ['a']"], "g.toml, line 6: unknown option 'agnt_model'; did you"),
        (["system = []"], "the factor 'system' of [grid] is []; give a list of levels"),
        (["system = 'gold'"], "the factor 'system' of [grid] is 'gold'; give a list"),
        (["system = ['gold', 'noop', 'gold']"], "has the level 'gold' twice"),
        (["system = ['gold', {name = 'gold', agent = 'noop'}]"], "two levels of the name 'gold'"),
        (["system = [{agent = 'gold'}]"], "a level without a name"),
        (
            ["system = [{name = 'a', agent = 'gold'}, {name = 'b', agent = 'gold'}]"],
            "has the level {'agent': 'gold'} twice",
        ),
        (["system = [['gold', 'noop']]"], "has the level ['gold', 'noop']; write {name = "),
        (
            ["system = [{name = 'a', agnt = 'gold'}]"],
            "g.toml: unknown option 'agnt'; did you mean 'agent'?",
        ),
        (["domain = ['library']"], "domain is both an option of the whole file and a factor"),
        (["output = ['a', 'b']"], "has 'output', which is an option of the whole file"),
        (["system = ['gold']", "skip = [{system = 'noop'}]"], "skip names system = 'noop'"),
        (["system = ['gold']", "skip = [{sys = 'gold'}]"], "has no factor 'sys'"),
        (["system = ['gold']", "skip = 'gold'"], "skip of [grid] is 'gold'; write skip = [{"),
        (["system = ['gold']", "skip = [{system = 'gold'}]"], "skip leaves out every cell"),
        (
            ["system = [{name = 'a', agent = 'gold', seed = 1}]", "seed = [2]"],
            "seed is set by the level '2' of the factor 'seed' and by that of another factor",
        ),
    ],
)
def test_a_grid_that_is_wrong_is_refused_before_anything_runs(lines: list[str], words: str) -> None:
    found = maseval("run", grid(*lines))

    tried = maseval("run", grid(*lines), "--dry-run")
    assert tried.exit_code == 2 and words in " ".join(tried.stderr.split()), tried.stderr
    assert found.exit_code == 2 and words in " ".join(found.stderr.split()), found.stderr
    assert not Path("runs").exists()


def test_what_the_levels_decide_cannot_be_typed_for_all_cells() -> None:
    refused = maseval("run", grid('system = ["gold"]', "seed = [1, 2]"), "--seed", "3")

    assert refused.exit_code == 2 and "seed is decided by the levels" in refused.stderr
