"""From a toolkit class to the texts of its tools, and from a data class to those of its fields."""

import ast
from collections.abc import Iterator

from maseval.benchmark.tau2.texts.discoverable import discoverable_tool
from maseval.benchmark.tau2.texts.docstrings import read_docstring
from maseval.benchmark.tau2.texts.shapes import Scope, text
from maseval.benchmark.tau2.texts.texts import DiscoverableTool, ModelText, ToolText
from maseval.data.python_source import SourceShapeError


def tools_of(toolkit: Scope) -> tuple[ToolText, ...]:
    """The tools of a class: the functions that it marks as such, in source order."""
    return tuple(tool_text(function) for function in _marked(toolkit, "is_tool"))


def discoverable_tools_of(toolkit: Scope) -> tuple[DiscoverableTool, ...]:
    """The tools of a class that a model is not offered but may find."""
    marked = _marked(toolkit, "is_discoverable_tool")
    return tuple(discoverable_tool(function, _name(function)) for function in marked)


def tool_text(function: Scope) -> ToolText:
    """What a function says about itself; ``self`` is not a parameter."""
    raw = function.docstring()
    name, parameters = _name(function), _parameters(function)
    if raw is None:
        return ToolText(name=name, description=name, parameters=dict.fromkeys(parameters))
    description, texts = read_docstring(raw, function.place)
    described = {parameter: texts.get(parameter) for parameter in parameters}
    return ToolText(name=name, description=description, parameters=described)


def model_text(model: Scope) -> ModelText:
    """What a data class says about itself and its fields."""
    fields: dict[str, str] = {}
    for node in model.node.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            described = _field_description(node, f"{model.place}: {node.target.id}")
            if described is not None:
                fields[node.target.id] = described
    return ModelText(description=model.description(), fields=fields)


def _marked(toolkit: Scope, decorator: str) -> list[Scope]:
    marked = [function for function in toolkit.functions() if _has_mark(function, decorator)]
    return [toolkit.function(_name(function)) for function in marked]


def _has_mark(function: Scope, decorator: str) -> bool:
    assert isinstance(function.node, ast.FunctionDef)
    for mark in function.node.decorator_list:
        match mark:
            case ast.Call(func=ast.Name(id=name)) if name == decorator:
                return True
    return False


def _name(function: Scope) -> str:
    assert isinstance(function.node, ast.FunctionDef)
    return function.node.name


def _parameters(function: Scope) -> list[str]:
    assert isinstance(function.node, ast.FunctionDef)
    match function.node.args:
        case ast.arguments(posonlyargs=[], vararg=None, kwonlyargs=[], kwarg=None, args=named):
            names = [argument.arg for argument in named]
            return names[1:] if names[:1] == ["self"] else names
    raise SourceShapeError(f"{function.place}: parameters that cannot be given by name")


def _field_description(node: ast.AnnAssign, place: str) -> str | None:
    """The text of ``Field(description=…)``, as the default value or inside ``Annotated[…]``."""
    keywords = [keyword for call in _field_calls(node) for keyword in call.keywords]
    if any(keyword.arg is None for keyword in keywords):
        raise SourceShapeError(f"{place}: a field whose arguments are not written out")
    found = [keyword.value for keyword in keywords if keyword.arg == "description"]
    if len(found) > 1:
        raise SourceShapeError(f"{place}: a field that is described twice")
    return text(found[0], place) if found else None


def _field_calls(node: ast.AnnAssign) -> Iterator[ast.Call]:
    candidates = [node.value] if node.value else []
    match node.annotation:
        case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[_, *extras])):
            candidates += extras
    for candidate in candidates:
        match candidate:
            case ast.Call(func=ast.Name(id="Field")):
                yield candidate
