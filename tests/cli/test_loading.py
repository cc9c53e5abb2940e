"""What a command loads, by the names of modules: a start is quick if it loads little."""

import subprocess
import sys
from typing import Any

import pytest

from maseval import commands
from maseval.commands import tau2

PYDANTIC = ("pydantic", "importlib.metadata", "email")
NETWORK = ("http.client", "urllib.request", "ssl", "httpx", "openai")
STATISTICS = ("maseval.stats.comparison", "maseval.stats.planning")
PAGES = ("maseval.report", "maseval.view", "html", "xml")
RICH = ("rich.markdown", "markdown_it", "rich.traceback", "rich.syntax", "pygments")


def loaded(program: str, *modules: str, **options: Any) -> list[str]:
    """Name those of the modules, and of modules in them, that a program has loaded at its end."""
    program = (
        f"try:\n    {program}\nexcept SystemExit: pass\nimport sys\nprint()\nprint(*sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, **options
    )
    names = run.stdout.splitlines()[-1].split()
    return [name for name in names if f"{name}.".startswith(tuple(f"{each}." for each in modules))]


def command(*words: str) -> str:
    return f"from maseval.cli.app import app; app({list(words)})"


def test_help_loads_neither_the_benchmark_nor_providers():
    found = loaded(
        command("tau2", "run", "--help"),
        *("maseval.benchmark.tau2", "maseval.benchmark.macs", "maseval.interface"),
        *("maseval.report", "tqdm", "platformdirs"),
    )

    # What an agent is given, and the names of the releases: neither loads anything.
    allowed = ("maseval.benchmark.tau2", ".agent_brief", ".tau2.data")
    assert [each for each in found if ".app" not in each and not each.endswith(allowed)] == []


@pytest.mark.parametrize("group", [[], ["tau2"], ["macs"]])
def test_the_help_of_a_group_loads_none_of_its_commands(group):
    found = loaded(
        command(*group, "--help"),
        *("maseval.app", "maseval.runs", "maseval.stats", "maseval.benchmark"),
        *("maseval.core.benchmark", "maseval.interface", "maseval.server", "httpx"),
        # In a group it is Typer's own; above, commands of other packages are looked up.
        *(() if group else ("pydantic",)),
    )

    assert found == []


@pytest.mark.parametrize("words", [["runs"], ["runs", "runs"]])
def test_a_list_of_runs_loads_no_benchmark_and_converts_nothing(tmp_path, words):
    tau2.run(domain="library", agent="gold", num_tasks=1, output=tmp_path / "runs" / "mine")

    found = loaded(
        command(*words),
        *("maseval.app.benchmarks", "maseval.benchmark.tau2.app", "maseval.benchmark.tau2.domains"),
        *("maseval.interface", "maseval.data.folder"),
        *PYDANTIC,
        *NETWORK,
        *STATISTICS,
        *PAGES,
        *RICH,
        cwd=tmp_path,
    )

    assert found == []


DOMAINS = [
    f"maseval.benchmark.tau2.domains.{name}"
    for name in ("airline", "banking_knowledge", "library", "retail", "telecom")
]


def test_tau2_loads_a_domain_when_it_is_used():
    used = "from maseval.benchmark.tau2 import load_tasks, Tau2Benchmark, Tau2Evaluator"

    assert loaded(used, *DOMAINS, *NETWORK, *RICH, "typer", "maseval.stats.comparison") == []
    found = loaded(f"{used}; load_tasks('library')", *DOMAINS)
    assert {name.split(".")[4] for name in found} == {"library"}


def test_a_run_of_scripts_loads_nothing_that_serves_or_ends_it_early(tmp_path):
    found = loaded(
        command("tau2", "run", "--domain", "library", "--agent", "noisy", "--num-tasks", "1"),
        *("maseval.server", "maseval.interface", "maseval.benchmark.tau2.players.rehearsal"),
        *("maseval.stats.sequential", "maseval.app.results.until"),
        *NETWORK,
        *STATISTICS,
        *PAGES,
        *RICH,
        cwd=tmp_path,
    )

    assert found == []


WORLDS = ("maseval.benchmark.tau2.domains", "maseval.benchmark.tau2.review.policy")
EVERY_DOMAIN = {name.split(".")[4] for name in DOMAINS}


@pytest.mark.data
@pytest.mark.parametrize("domain", ["airline", "retail", "telecom"])
def test_no_command_about_a_domain_loads_another(tmp_path, domain, tau2_data):
    run = ("tau2", "run", "--domain", domain, "--num-tasks", "1", "--agent", "noisy")
    lines = [
        (*run, "--output", "mine"),
        *[(word, "mine") for word in ("show", "comply", "reliability", "score")],
        *[("tau2", word, "--domain", domain) for word in ("tasks", "errata")],
        ("tau2", "tasks", domain, "policy"),
        ("tau2", "certify", "mine"),
        ("report", "mine", "--output", "page.html"),
    ]
    calls = [f"app({[*words]}, standalone_mode=False)" for words in lines]

    found = loaded("; ".join(["from maseval.cli.app import app", *calls]), *WORLDS, cwd=tmp_path)

    parts = {part for name in found for part in name.split(".")}
    assert parts & EVERY_DOMAIN == {domain}
    assert (tmp_path / "page.html").exists()  # the last was run, too


def test_a_run_that_was_shown_before_loads_nothing_that_judges_it(tmp_path):
    tau2.run(domain="library", agent="noisy", num_tasks=1, output=tmp_path / "mine")
    first = commands.show(tmp_path / "mine").to_dict()

    found = loaded(
        command("show", "mine", "--json"),
        *("maseval.benchmark.tau2.rescoring", "maseval.benchmark.tau2.review.explain"),
        *("maseval.benchmark.tau2.app.running", "maseval.benchmark.tau2.app.results.outcomes"),
        *("maseval.benchmark.tau2.results", "maseval.benchmark.tau2.world"),
        *("maseval.benchmark.tau2.domains.base", "maseval.benchmark.tau2.scoring"),
        *("maseval.core.engine.engines", "pydantic", "webbrowser", "tomllib"),
        *DOMAINS,
        *NETWORK,
        *STATISTICS,
        *PAGES,
        *RICH,
        cwd=tmp_path,
    )

    allowed = ("maseval.report.checks", "maseval.report.conversation", "maseval.report")
    assert [each for each in found if each not in allowed] == []
    assert commands.show(tmp_path / "mine").to_dict() == first


def test_scoring_loads_nobody_who_plays_and_nothing_that_explains(tmp_path):
    tau2.run(domain="library", agent="gold", num_tasks=1, output=tmp_path / "mine")

    found = loaded(
        command("score", "mine"),
        *("maseval.benchmark.tau2.players", "maseval.benchmark.tau2.benchmark"),
        "maseval.benchmark.tau2.app.running",
        "maseval.benchmark.tau2.review.explain.explanation",
        *("maseval.benchmark.tau2.review.causes", "maseval.benchmark.tau2.review.errata"),
        "maseval.benchmark.tau2.review.policy",
        *("maseval.benchmark.tau2.review.policy.rules", "maseval.benchmark.tau2.review.values"),
        *("maseval.core.benchmark", "maseval.app.running.run_options"),
        *(each for each in DOMAINS if not each.endswith("library")),
        *NETWORK,
        *STATISTICS,
        *PAGES[1:],
        *RICH,
        cwd=tmp_path,
    )

    assert found == []
