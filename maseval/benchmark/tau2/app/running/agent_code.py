"""What can be seen in the code of an own agent before it is run."""

import ast
import importlib.util
import sys
from collections.abc import Iterator

from maseval.app.running.own_code import named, source_of, way_out
from maseval.benchmark.tau2.app.running.own_agents import AgentImportError, MakeAgent


def check_imports(make: MakeAgent) -> None:
    """Raise now if a function imports what is not installed, which every simulation would need."""
    for module in _late_imports(_code_of(make)):
        if module not in sys.modules and importlib.util.find_spec(module) is None:
            missing = ModuleNotFoundError(f"No module named {module!r}", name=module)
            raise AgentImportError(
                f"{named(make)} needs {module!r}, which is not installed{way_out(missing)}"
            )


def uses_chat_model(make: MakeAgent) -> bool:
    """Whether it asks its brief for the ``chat_model``."""
    nodes = (node for part in _code_of(make) for node in ast.walk(part))
    return any(isinstance(node, ast.Attribute) and node.attr == "chat_model" for node in nodes)


def _code_of(make: MakeAgent) -> list[ast.AST]:
    """The function, and all that it names of the functions and classes in its file."""
    file = source_of(make)
    try:
        body = ast.parse(file.read_text(encoding="utf-8") if file else "").body
    except (OSError, ValueError, SyntaxError):  # no file of Python's, however it was loaded
        return []
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    parts = {node.name: node for node in body if isinstance(node, kinds)}
    pending, reached = [str(getattr(make, "__qualname__", ""))], dict[str, ast.AST]()
    while pending:
        name = pending.pop()
        if name in parts and name not in reached:
            reached[name] = parts[name]
            nodes = ast.walk(parts[name])
            pending += [node.id for node in nodes if isinstance(node, ast.Name)]
    return list(reached.values())


def _late_imports(parts: list[ast.AST]) -> Iterator[str]:
    """The modules that are imported without being prepared for their absence."""
    pending = list(parts)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
        elif not isinstance(node, ast.Try | ast.If):
            pending.extend(ast.iter_child_nodes(node))
