"""Helpers, builders and fixtures of the tests are typed, so that mypy can hold calls against them.

Test functions need no annotations: what they take is said by the names of their fixtures.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent


def untyped_in(body: list[ast.stmt]) -> Iterator[str]:
    """Yield the names of the functions and methods of a module that are no tests and not typed."""
    for statement in body:
        match statement:
            case ast.ClassDef():
                yield from untyped_in(statement.body)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                if not (statement.name.startswith("test_") or is_typed(statement)):
                    yield statement.name


def is_typed(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    named += filter(None, (arguments.vararg, arguments.kwarg))
    untyped = {each.arg for each in named if each.annotation is None}
    return function.returns is not None and untyped <= {"self", "cls"}


def test_all_but_tests_is_typed():
    found = {}
    for path in TESTS.rglob("*.py"):
        if names := [*untyped_in(ast.parse(path.read_text(encoding="utf-8")).body)]:
            found[str(path.relative_to(TESTS))] = names

    assert found == {}


def test_what_is_not_typed_is_found():
    source = """
def a(b, c: int) -> None: ...

class D:
    def e(self): ...
    def f(self) -> None: ...

def test_g(h): ...
"""
    assert [*untyped_in(ast.parse(source).body)] == ["a", "e"]
