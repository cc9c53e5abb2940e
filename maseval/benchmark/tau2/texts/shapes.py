"""Look up named things in a syntax tree, and read the few shapes that a text may have.

Nothing is guessed: what is not exactly of an expected shape is refused, with its place.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from maseval.benchmark.tau2.texts.texts import Placeholder, TextParts
from maseval.data.python_source import SourceShapeError

_STRIPS = {"strip": str.strip, "lstrip": str.lstrip, "rstrip": str.rstrip}
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


@dataclass(frozen=True)
class Scope:
    """The body of a module, a class or a function; ``place`` says where it is."""

    place: str
    node: ast.Module | ast.ClassDef | ast.FunctionDef

    def class_(self, name: str) -> "Scope":
        found = self._bound(name)
        if not isinstance(found, ast.ClassDef):
            raise SourceShapeError(f"{self.place}: {name} is not a class")
        return Scope(f"{self.place}: {name}", found)

    def function(self, name: str) -> "Scope":
        found = self._bound(name)
        if not isinstance(found, ast.FunctionDef):
            raise SourceShapeError(f"{self.place}: {name} is not a function")
        return Scope(f"{self.place}: {name}", found)

    def text(self, name: str) -> str:
        """Return the text assigned to ``name``."""
        return text(self._value_of(name), f"{self.place}: {name}")

    def parts(self, name: str) -> TextParts:
        """Return the f-string assigned to ``name``."""
        return parts(self._value_of(name), f"{self.place}: {name}")

    def return_values(self) -> list[ast.expr | None]:
        """Return the expressions that a function returns, in source order."""
        found = [node for node in _own_nodes(self.node) if isinstance(node, ast.Return)]
        return [node.value for node in sorted(found, key=lambda n: (n.lineno, n.col_offset))]

    def docstring(self) -> str | None:
        raw = ast.get_docstring(self.node, clean=False)
        return None if raw is None else _sendable(raw, self.place)

    def description(self) -> str | None:
        """Return the docstring without its indentation."""
        raw = self.docstring()
        return None if raw is None else inspect.cleandoc(raw)

    def functions(self) -> list["Scope"]:
        """Return all functions of the body, in source order."""
        found = [node for node in self.node.body if isinstance(node, ast.FunctionDef)]
        return [Scope(f"{self.place}: {node.name}", node) for node in found]

    def _value_of(self, name: str) -> ast.expr:
        match self._bound(name):
            case ast.Assign(targets=[ast.Name()], value=value):
                return value
            case ast.AnnAssign(value=ast.expr() as value):
                return value
        raise SourceShapeError(f"{self.place}: {name} is not a plain constant")

    def _bound(self, name: str) -> ast.stmt:
        found = [node for node in self.node.body if name in _names_bound_by(node)]
        if len(found) != 1:
            raise SourceShapeError(f"{self.place}: {name} is defined {len(found)} times, not once")
        return found[0]


def text(node: ast.expr, place: str) -> str:
    """Return a text: a literal, or literals that are added, stripped or dedented."""
    match node:
        case ast.Constant(value=str() as literal):
            return _sendable(literal, place)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return text(left, place) + text(right, place)
        case ast.Call(func=ast.Attribute(value=inner, attr=strip), args=[], keywords=[]) if (
            strip in _STRIPS
        ):
            return _STRIPS[strip](text(inner, place))
        case ast.Call(func=function, args=[inner], keywords=[]) if _is_dedent(function):
            return textwrap.dedent(text(inner, place))
        case ast.JoinedStr(values=values):
            return "".join(text(value, place) for value in values)
    raise SourceShapeError(f"{place}: not a plain text, in line {node.lineno}")


def parts(node: ast.expr | None, place: str) -> TextParts:
    """Return the parts of an f-string whose values are neither converted nor formatted."""
    if not isinstance(node, ast.JoinedStr):
        raise SourceShapeError(f"{place}: not an f-string")
    found: list[str | Placeholder] = []
    for part in (_part(value, place) for value in node.values):
        if isinstance(part, str) and found and isinstance(found[-1], str):
            found[-1] += part
        else:
            found.append(part)
    return tuple(found)


def _part(node: ast.expr, place: str) -> str | Placeholder:
    match node:
        case ast.Constant(value=str() as literal):
            return _sendable(literal, place)
        case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
            return Placeholder(value=ast.unparse(value))
    raise SourceShapeError(f"{place}: a value with a conversion or format, in line {node.lineno}")


def _sendable(literal: str, place: str) -> str:
    """Return a literal, or refuse one that cannot be written as UTF-8, and so not sent."""
    try:
        literal.encode()
    except UnicodeEncodeError as error:
        raise SourceShapeError(f"{place}: not a text of whole characters: {error}") from error
    return literal


def _is_dedent(function: ast.expr) -> bool:
    match function:
        case ast.Name(id="dedent"):
            return True
        case ast.Attribute(value=ast.Name(id="textwrap"), attr="dedent"):
            return True
    return False


def _names_bound_by(node: ast.stmt) -> Sequence[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [name for target in targets for name in _names_in(target)]
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            return _names_in(target)
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            return [alias.asname or alias.name for alias in aliases]
    return []


def _names_in(target: ast.expr) -> list[str]:
    names = (node for node in ast.walk(target) if isinstance(node, ast.Name))
    return [node.id for node in names if isinstance(node.ctx, ast.Store)]


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function's body, without those of functions and classes in it."""
    ahead = [*ast.iter_child_nodes(node)]
    while ahead:
        child = ahead.pop()
        yield child
        if not isinstance(child, _SCOPES):
            ahead += ast.iter_child_nodes(child)
