"""Who may import whom: the arrows between the rooms of the package never turn back."""

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

CORE_LAYERS = [
    {"benchmark"},
    {"walkthrough"},
    {"engine"},
    {"outcome"},
    {"context", "registry", "report"},
    {"callbacks"},
    {"agent", "environment", "user", "evaluator"},
    {"simulator", "scripted", "model", "scorer", "tool", "task"},
    {"answers"},
    {
        "providers",
        *("messages", "tracing", "usage", "seeding", "system_info"),
        *("provider_errors", "call_policy", "throttle", "clock", "shapes"),
        *("event_loop", "scoring_options"),
    },
    {"storage"},
    {"exceptions", "lazy"},
]

# What benchmarks, reports and runs may use of the statistics.
ARITHMETIC = {
    *("trials", "pass_k", "distributions", "intervals", "bootstrap", "sign_flip", "trial_noise"),
    *("estimation", "outcomes", "result", "agreement"),
}

TAU2_LAYERS = [
    {"benchmark"},
    {"agent", "user", "evaluator"},
    {"environment"},
    {"world"},
    {"domains"},
    {"tools", "user_tools"},
    {"models", "user_models"},
    {"base"},
]


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
    """Imports of the package by itself; those for the type checker only if asked for."""
    return [
        found
        for found in imports()
        if found.target.split(".")[0] == "maseval" and (type_checking or not found.type_checking)
    ]


def room(module: str) -> str:
    """The part of the package a module belongs to; each benchmark is a room of its own."""
    parts = module.split(".")[1:]
    if parts[:1] != ["benchmark"]:
        return (parts or [""])[0]
    return "benchmark.app" if parts[2:3] == ["app"] else ".".join(parts[:2])


def test_the_checks_see_the_package():
    assert {"maseval", "maseval.core.benchmark", "maseval.core.callbacks.base"} <= set(modules())
    assert len(internal()) > 100


def test_every_import_of_the_package_finds_a_module():
    assert [found for found in internal(type_checking=True) if found.target not in modules()] == []


def test_rooms_import_only_the_rooms_below_them():
    allowed = {"": {"core"}, "core": {"compat"}, "benchmark": set()}
    allowed |= {"__main__": {"cli"}}
    allowed |= {"stats": {"core"}, "data": {"core"}, "testing": {"core", "server", "runs"}}
    allowed |= {"compat": {"core", "benchmark.tau2"}}
    allowed |= {"view": {"core", "stats", "data", "runs", "report"}}
    allowed |= {"frames": {"app", "interface", "report", "runs", "core"}}
    others = {"core", "stats", "data", "compat"}

    def may(importer: str, target: str) -> bool:
        if importer in ("cli", "commands", "benchmark.app"):  # what is built is put together here
            return importer != "benchmark.app" or target not in ("cli", "commands", "frames")
        if importer == "app":
            return target not in ("cli", "commands", "frames")
        return target == importer or target in allowed.get(importer, others)

    assert [
        found for found in internal() if not may(room(found.importer), room(found.target))
    ] == []


def test_of_the_former_names_only_the_way_to_them_is_imported():
    assert {each.target for each in internal() if room(each.target) == "compat"} == {
        "maseval.compat"
    }


def test_below_the_commands_only_the_arithmetic_of_the_statistics_is_imported():
    wrong = [
        found
        for found in internal()
        if room(found.target) == "stats"
        and room(found.importer) not in ("stats", "app", "benchmark.app", "cli")
        and found.target.removeprefix("maseval.stats.") not in ARITHMETIC
    ]

    assert wrong == []


def core_part(module: str) -> str:
    """The file or folder of the core a module belongs to; nothing for other modules."""
    parts = module.split(".")
    return parts[2] if parts[:2] == ["maseval", "core"] and len(parts) > 2 else ""


def test_every_file_of_the_core_has_its_layer():
    found = {core_part(module) for module in modules()} - {""}

    assert found == set().union(*CORE_LAYERS)


def test_the_layers_of_the_core_import_only_those_below_them():
    rank = {part: depth for depth, layer in enumerate(CORE_LAYERS) for part in layer}
    wrong = [
        found
        for found in internal()
        if rank.get(core_part(found.importer), 0) > rank.get(core_part(found.target), 99)
    ]

    assert wrong == []


def tau2_rank(module: str) -> int | None:
    *package, last = module.split(".")
    if package[:3] != ["maseval", "benchmark", "tau2"]:
        return None
    layers = enumerate(TAU2_LAYERS)
    inside = range(5, len(TAU2_LAYERS)) if "domains" in package else range(5)
    return next((depth for depth, layer in layers if last in layer and depth in inside), None)


@cache
def imported() -> dict[str, set[str]]:
    graph: dict[str, set[str]] = {}
    for found in internal():
        graph.setdefault(found.importer, set()).add(found.target)
    return graph


def reachable(module: str) -> set[str]:
    """All modules that ``module`` imports, directly or by way of others."""
    seen: set[str] = set()
    ahead = [module]
    while ahead:
        fresh = imported().get(ahead.pop(), set()) - seen
        seen |= fresh
        ahead += fresh
    return seen


def test_the_order_of_tau2_never_turns_back():
    ranks = {module: tau2_rank(module) for module in modules()}
    wrong = [
        (module, target)
        for module, rank in ranks.items()
        if rank is not None
        for target in reachable(module)
        if (other := ranks.get(target)) is not None and other < rank
    ]

    assert ranks["maseval.benchmark.tau2.world.world"] == 3
    assert ranks["maseval.benchmark.tau2.domains.airline.models"] == 6
    assert wrong == []


def test_there_are_no_import_cycles():
    assert [module for module in modules() if module in reachable(module)] == []


def test_imports_for_the_type_checker_stand_only_in_callbacks_and_the_quick_command_line():
    hidden = {found.importer for found in imports() if found.type_checking}
    reasons = ("maseval.core.callbacks.", "maseval.cli.")

    assert {name for name in hidden if not name.startswith(reasons)} == set()


def test_the_package_is_imported_inside_a_function_only_for_a_quick_command_line():
    late = {room(found.importer) for found in internal() if found.in_function}

    assert late <= {"cli", "app", "benchmark.app"}


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
    def foreign(target: str) -> bool:
        top = target.split(".")[0]
        return top not in {"maseval", *BARE_INSTALL} and top not in sys.stdlib_module_names

    wrong = [
        found
        for found in imports()
        if foreign(found.target)
        and not found.importer.startswith("maseval.interface.")
        and not (room(found.importer) == "view" and found.target.split(".")[0] in SERVER)
    ]

    assert wrong == []
