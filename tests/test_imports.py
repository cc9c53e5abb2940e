"""The arrows between the parts of the package: every import points down a list of ranks.

Each list goes from top to bottom. A part may import the parts on the lines below its own, and
never a part on its own line or above. A folder or file that no list names fails the test, so a
new one must be given its rank here. What differs from the ranks is in ``EXCEPTIONS``, with its
reason.
"""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "maseval"

# The last one comes with pydantic, which before Python 3.12 wants its TypedDict.
BARE_INSTALL = {
    *("pydantic", "pydantic_core", "rich", "tqdm", "platformdirs", "docstring_parser", "typer"),
    "typing_extensions",
}

# The rooms of a package, by the package; those below a room belong to it. ``compat`` is the list
# of former import paths, which ``maseval`` itself installs; ``compat.*`` has what only they offer.
RANKS = {
    "maseval": """
        __main__
        cli
        commands frames compat.*
        benchmark.tau2.verifiers
        benchmark.macs.app benchmark.tau2.app benchmark.tau2.gym
        view
        app
        testing
        report runs server interface
        benchmark.macs benchmark.tau2
        benchmark
        data exchange stats
        maseval
        core
        compat
    """,
    "maseval.app": """
        judging
        running
        sharing
        comparing
        results
        benchmarks
    """,
    "maseval.interface": """
        agents trackers
        inference ray telemetry arrow gymnasium usage verifiers
        extras
    """,
    "maseval.core": """
        benchmark
        engine
        index_line
        outcome
        report_parts
        context registry report teamwork
        callbacks
        agent_brief
        agent environment user evaluator
        judge
        simulator scripted model scorer tool task
        answers answer_cache reasoning structured judge_record
        providers messages tracing usage seeding system_info provider_errors
            call_policy clock recorded words event_loop scoring_options finding harm
            perturbation
        storage
        exceptions lazy
    """,
    "maseval.benchmark.tau2": """
        verifiers
        app gym
        episode
        players default_benchmark
        benchmark
        certify
        rescoring
        review
        results evaluator
        scoring remote_state
        conversation
        agent user environment
        overrides perturbation
        data_loader wording
        world
        domains
        world.state
        texts
        versions
        data
        formats
    """,
    "maseval.benchmark.tau2.review": """
        causes audit harm judged
        timeline
        explain
        errata
        policy
        talk
        values
        review
    """,
    "maseval.benchmark.tau2.domains": """
        releases
        domains
        airline banking_knowledge library retail telecom
        registration domain
        base
        arithmetic
    """,
}

# Here a line is a group of single files, which import each other without a cycle.
GROUPED = {"maseval.core", "maseval.benchmark.tau2.domains"}

# The arrows that point up, or where rank alone would not allow them: importer, imported, reason.
EXCEPTIONS = {
    ("maseval.app.benchmarks", "maseval.app.results"): "the types that a benchmark answers with",
    ("maseval.app.results.report", "maseval.app.comparing"): "a report may compare two runs",
}

# What benchmarks, reports and runs may use of the statistics.
ARITHMETIC = {
    *("trials", "intervals", "sign_flip", "boundaries", "trial_noise"),
    *("result", "summary", "comparison"),
}


@dataclass(frozen=True)
class Import:
    """One import statement: where it stands and what it names."""

    importer: str
    target: str
    type_checking: bool
    in_function: bool


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, Path]:
    return {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def imports() -> tuple[Import, ...]:
    return tuple(
        found
        for name, path in modules().items()
        for found in _imports_in(name, ast.parse(path.read_text(encoding="utf-8")))
    )


def _imports_in(
    importer: str, node: ast.AST, type_checking: bool = False, in_function: bool = False
) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        for target in _targets(child):
            yield Import(importer, target, type_checking, in_function)
        guarded = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
        function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from _imports_in(importer, child, type_checking or guarded, in_function or function)


def _targets(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0 and node.module, "imports are written out in full"
        inner = [f"{node.module}.{alias.name}" for alias in node.names]
        return [name if name in modules() else node.module for name in inner]
    return []


def internal(*, type_checking: bool = False) -> list[Import]:
    """Return the imports of the package by itself; those for the type checker only if asked for."""
    return [
        found
        for found in imports()
        if found.target.split(".")[0] == "maseval" and (type_checking or not found.type_checking)
    ]


def ranks_of(package: str) -> dict[str, int]:
    lines = RANKS[package].replace("\n            ", " ").strip().splitlines()
    return {name: depth for depth, line in enumerate(lines) for name in line.split()}


def part_of(module: str, package: str) -> str | None:
    """Return the part of a package that a module belongs to: the longest name in its list."""
    if module == package:
        own = package.split(".")[-1]
        return own if own in ranks_of(package) else None
    if not module.startswith(f"{package}."):
        return None
    inside = module.removeprefix(f"{package}.").split(".")
    known = ranks_of(package)
    if package == "maseval" and inside[0] == "compat" and len(inside) > 1:
        return "compat.*"
    names = [".".join(inside[:length]) for length in range(len(inside), 0, -1)]
    return next((name for name in names if name in known), inside[0])


def is_excepted(found: Import) -> bool:
    return any(
        found.importer == importer and f"{found.target}.".startswith(f"{target}.")
        for importer, target in EXCEPTIONS
    )


def test_the_checks_see_the_package():
    assert {"maseval", "maseval.core.benchmark", "maseval.core.callbacks.base"} <= set(modules())
    assert len(internal()) > 100


def test_every_import_of_the_package_finds_a_module():
    assert [found for found in internal(type_checking=True) if found.target not in modules()] == []


@pytest.mark.parametrize("package", RANKS)
def test_every_folder_and_file_has_a_rank(package):
    parts = {part_of(module, package) for module in modules()} - {None}

    assert parts == set(ranks_of(package))


@pytest.mark.parametrize("package", RANKS)
def test_every_import_points_down(package):
    rank = ranks_of(package)
    wrong = [
        (found.importer, found.target)
        for found in internal()
        if (importer := part_of(found.importer, package)) is not None
        and (target := part_of(found.target, package)) is not None
        and importer != target
        and not rank[importer] < rank[target] + (package in GROUPED)
        and not is_excepted(found)
    ]

    assert wrong == []


def test_a_benchmark_is_imported_only_by_its_own_commands_and_the_command_line():
    def benchmark_of(module: str) -> str | None:
        parts = module.split(".")
        return parts[2] if parts[1:2] == ["benchmark"] and len(parts) > 2 else None

    wrong = [
        (found.importer, found.target)
        for found in internal()
        if benchmark_of(found.target) not in (None, benchmark_of(found.importer))
        and not found.importer.startswith(("maseval.cli.", "maseval.compat."))
        and not is_excepted(found)
    ]

    assert wrong == []


def test_every_exception_is_still_needed():
    used = {
        (importer, target)
        for importer, target in EXCEPTIONS
        for found in internal()
        if found.importer == importer and f"{found.target}.".startswith(f"{target}.")
    }

    assert used == set(EXCEPTIONS)


def test_below_the_application_only_the_arithmetic_of_the_statistics_is_imported():
    above = ("maseval.view.", "maseval.stats", "maseval.app.", "maseval.cli.")
    wrong = [
        (found.importer, found.target)
        for found in internal()
        if found.target.startswith("maseval.stats.")
        and not (found.importer.startswith(above) or ".app." in found.importer)
        and found.target.removeprefix("maseval.stats.") not in ARITHMETIC
    ]

    assert wrong == []


@cache
def imported() -> dict[str, set[str]]:
    graph: dict[str, set[str]] = {}
    for found in internal():
        graph.setdefault(found.importer, set()).add(found.target)
    return graph


def reachable(module: str) -> set[str]:
    """Return all modules that ``module`` imports, directly or by way of others."""
    seen: set[str] = set()
    ahead = [module]
    while ahead:
        fresh = imported().get(ahead.pop(), set()) - seen
        seen |= fresh
        ahead += fresh
    return seen


def test_there_are_no_import_cycles():
    assert [module for module in modules() if module in reachable(module)] == []


# Where a type is all that is needed of something that takes long to load.
QUICK = {
    "maseval.core.lazy": "makes ``import maseval`` quick",
    "maseval.core.benchmark": "only a run describes machine and code",
    "maseval.core.model": "few models are asked for objects of pydantic",
    "maseval.core.structured": "the same",
    "maseval.core.providers": "entry points",
    "maseval.core.engine.engines": "the same",
    "maseval.data.sources": "few commands download anything",
    "maseval.app.running.options": "the help of most commands needs no engine",
    "maseval.app.benchmarks": "entry points, and types of pages",
    "maseval.app.results.examined": "most runs are judged by no model",
    "maseval.view.command": "without the server's libraries it says what to install",
    "maseval.benchmark.tau2.app.running.run": "most runs are no rehearsals, and load no server",
    "maseval.benchmark.tau2.app.results": "a run that was shown before needs no rules",
    "maseval.benchmark.tau2.domains.registration": "domains are known before they are loaded",
    "maseval.benchmark.tau2.domains.domain": "verdicts need no rules",
    "maseval.benchmark.tau2.domains.releases": "the same",
    "maseval.benchmark.tau2.texts.loading": "texts are extracted once, and then kept",
}


def test_imports_for_the_type_checker_stand_only_below_benchmark_and_for_a_quick_start():
    hidden = {found.importer for found in imports() if found.type_checking}
    reasons = ("maseval.core.callbacks.", "maseval.core.engine.", "maseval.cli.", *QUICK)

    assert {name for name in hidden if not name.startswith(reasons)} == set()


def test_the_package_is_imported_inside_a_function_only_for_a_quick_start():
    late = {
        part_of(found.importer, "maseval")
        for found in internal()
        if found.in_function and found.importer not in QUICK
    }

    assert late <= {"cli", "app", "benchmark.tau2.app", "benchmark.macs.app"}


@pytest.mark.parametrize("library", ["tqdm", "rich"])
def test_within_the_core_only_the_progress_bars_draw(library):
    drawing = {
        found.importer
        for found in imports()
        if found.importer.startswith("maseval.core") and found.target.split(".")[0] == library
    }

    assert drawing == {"maseval.core.callbacks.progress"}


# The viewer is a server, and no adapter to somebody else's; nothing imports it but its command.
SERVER = {"starlette", "uvicorn"}


def test_optional_libraries_are_imported_in_the_interface_and_the_viewer_alone():
    def is_foreign(target: str) -> bool:
        top = target.split(".")[0]
        return top not in {"maseval", *BARE_INSTALL} and top not in sys.stdlib_module_names

    wrong = [
        (found.importer, found.target)
        for found in imports()
        if is_foreign(found.target)
        and not found.importer.startswith("maseval.interface.")
        and not (
            found.importer.startswith("maseval.view.") and found.target.split(".")[0] in SERVER
        )
    ]

    assert wrong == []
