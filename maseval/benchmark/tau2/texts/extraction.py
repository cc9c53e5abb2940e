"""Extraction of all texts that models read from the original's source files.

All texts of a version or none: whatever is missing, or is not of one of the few shapes that a text
may have, ends in an error that names the file.

In the docstring of a tool (Google style), everything before the first section title describes the
tool, the sections of parameters describe these, and the other sections do not reach a schema.
Discoverable tools of banking_knowledge follow rules of their own: their docstrings are shown as
tool results, and their parameters come from the docstring, not from the signature.

After tau2-bench v0.2.0 to v1.0.1, src/tau2/ (MIT, Sierra Research).
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeVar

from maseval.benchmark.tau2.texts.texts import Form, TextParts, Texts, ToolText
from maseval.data.files import SourceShapeError, parse_source

Extracted = TypeVar("Extracted")
Scope = ast.Module | ast.ClassDef | ast.FunctionDef

_STRIPS = {"strip": str.strip, "lstrip": str.lstrip, "rstrip": str.rstrip}
# What these return is not what the function around them returns.
_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def _inside(scope: Scope, *names: str) -> Scope:
    """Return the class or function that is reached by these names, each defined once."""
    for name in names:
        found = _bound(scope, name)
        if not isinstance(found, ast.ClassDef | ast.FunctionDef):
            raise SourceShapeError(f"{name} is neither a class nor a function")
        scope = found
    return scope


def _bound(scope: Scope, name: str) -> ast.stmt:
    found = [node for node in scope.body if name in _names_bound_by(node)]
    # Of a name that is bound twice, nobody could tell which text is sent.
    if len(found) != 1:
        raise SourceShapeError(f"{name} is defined {len(found)} times, not once")
    return found[0]


def _names_bound_by(node: ast.stmt) -> list[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            return [alias.asname or alias.name for alias in aliases]
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
            names = (each for each in ast.walk(node) if isinstance(each, ast.Name))
            return [each.id for each in names if isinstance(each.ctx, ast.Store)]
    return []


def _constant(scope: Scope, name: str) -> ast.expr:
    match _bound(scope, name):
        case ast.Assign(targets=[ast.Name()], value=value):
            return value
        case ast.AnnAssign(value=ast.expr() as value):
            return value
    raise SourceShapeError(f"{name} is not a plain constant")


def _text(node: ast.expr) -> str:
    """Return a text: a literal, or literals that are added, stripped or dedented."""
    match node:
        case ast.Constant(value=str() as literal):
            return literal
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _text(left) + _text(right)
        case ast.Call(func=ast.Attribute(value=inner, attr=strip), args=[], keywords=[]) if (
            strip in _STRIPS
        ):
            return _STRIPS[strip](_text(inner))
        case ast.Call(func=function, args=[inner], keywords=[]) if ast.unparse(function) in (
            "dedent",
            "textwrap.dedent",
        ):
            return textwrap.dedent(_text(inner))
        case ast.JoinedStr(values=values):
            return "".join(map(_text, values))
    raise SourceShapeError(f"not a plain text, in line {node.lineno}")


def _parts(node: ast.expr | None) -> TextParts:
    """Return the parts of an f-string whose values are neither converted nor formatted."""
    if not isinstance(node, ast.JoinedStr):
        raise SourceShapeError("not an f-string")
    found: list[str | dict[str, str]] = []
    for value in node.values:
        match value:
            case ast.Constant(value=str() as literal):
                # Literals side by side are one text.
                before = found.pop() if found and isinstance(found[-1], str) else ""
                found.append(f"{before}{literal}")
            case ast.FormattedValue(value=inner, conversion=-1, format_spec=None):
                found.append({"value": ast.unparse(inner)})
            case _:
                raise SourceShapeError(f"a converted or formatted value, in line {value.lineno}")
    return found


def _return_values(scope: Scope) -> list[ast.expr | None]:
    """Return what a function returns, in source order; functions in it return their own."""
    ahead: list[ast.AST] = [*scope.body]
    found: list[ast.Return] = []
    while ahead:
        node = ahead.pop()
        if isinstance(node, ast.Return):
            found.append(node)
        elif not isinstance(node, _INNER):
            ahead += ast.iter_child_nodes(node)
    return [node.value for node in sorted(found, key=lambda each: (each.lineno, each.col_offset))]


def _marked_functions(toolkit: Scope, decorator: str) -> Iterator[ast.FunctionDef]:
    """Yield the functions of a class that it marks as tools, in source order."""
    for node in toolkit.body:
        if isinstance(node, ast.FunctionDef):
            marks = (each for each in node.decorator_list if isinstance(each, ast.Call))
            if any(ast.unparse(mark.func) == decorator for mark in marks):
                yield node


def _tools_of(toolkit: Scope) -> list[ToolText]:
    return list(map(_tool_text, _marked_functions(toolkit, "is_tool")))


def _tool_text(function: Scope) -> ToolText:
    """Return the description of a function and its parameters, without ``self``."""
    assert isinstance(function, ast.FunctionDef)
    given = function.args
    if given.posonlyargs or given.vararg or given.kwonlyargs or given.kwarg:
        raise SourceShapeError(f"{function.name} has parameters that cannot be given by name")
    parameters = [each.arg for each in given.args if each.arg != "self"]
    raw = ast.get_docstring(function, clean=False)
    description, texts = (function.name, {}) if raw is None else read_docstring(raw)
    described = {parameter: texts.get(parameter) for parameter in parameters}
    return {"name": function.name, "description": description, "parameters": described}


def _model_text(model: Scope) -> Form:
    fields = {}
    for node in model.body:
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        for call in _field_calls(node):
            for keyword in call.keywords:
                if keyword.arg == "description":
                    fields[node.target.id] = _text(keyword.value)
    return {"description": ast.get_docstring(model), "fields": fields}


def _field_calls(node: ast.AnnAssign) -> Iterator[ast.Call]:
    """Yield each ``Field(…)``, a default value or inside ``Annotated[…]``."""
    candidates = [node.value] if node.value else []
    match node.annotation:
        case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[_, *extras])):
            candidates += extras
    for candidate in candidates:
        match candidate:
            case ast.Call(func=ast.Name(id="Field")):
                yield candidate


_PARAMETERS = ("Arguments", "Args", "Parameters", "Params")
_EXAMPLES = ("Example", "Examples")
_DROPPED = ("Raises", "Exceptions", "Except", "Attributes", "Returns", "Yields")
_TITLE = re.compile(
    rf"^({'|'.join((*_PARAMETERS, *_EXAMPLES, *_DROPPED))}):[ \t\r\f\v]*$", re.MULTILINE
)
_UNKNOWN_TITLE = re.compile(r"\n\S")
_TYPED = re.compile(r"\s*(.+?)\s*\(\s*(.*\S)\s*\)")


class Docstring(NamedTuple):
    """The descriptions of a tool and, by name, of its parameters."""

    description: str
    parameters: dict[str, str]


def read_docstring(raw: str) -> Docstring:
    """Return the descriptions in a docstring as it stands in the source."""
    cleaned = inspect.cleandoc(raw)
    titles = list(_TITLE.finditer(cleaned))
    head = cleaned[: titles[0].start()] if titles else cleaned
    short, _, long = head.partition("\n")
    if not short.strip():
        raise SourceShapeError("a docstring without a description")
    parameters: dict[str, str] = {}
    for title, section in _sections(titles, cleaned):
        if title[1] in _EXAMPLES:
            raise SourceShapeError("a docstring with a section of examples")
        if title[1] in _PARAMETERS:
            parameters |= map(_entry, _entries(section))
    return Docstring(f"{short}\n\n{long.strip()}" if long.strip() else short, parameters)


def _sections(starts: list[re.Match[str]], text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield each match with the text from its end to the next one's start."""
    ends = [*(start.start() for start in starts[1:]), len(text)]
    for start, end in zip(starts, ends, strict=False):
        yield start, text[start.end() : end]


def _entries(section: str) -> Iterator[str]:
    """Yield the entries: one begins at each line that is indented like the first."""
    # A title that is in no list ends the section as well.
    if unknown := _UNKNOWN_TITLE.search(section):
        section = section[: unknown.start()]
    section = section.strip("\n")
    indent = section[: len(section) - len(section.lstrip())]
    starts = list(re.finditer(rf"^{re.escape(indent)}(?=\S)", section, re.MULTILINE))
    if not starts:
        raise SourceShapeError("an empty section of parameters")
    for _, entry in _sections(starts, section):
        yield entry.strip("\n")


def _entry(text: str) -> tuple[str, str]:
    left, colon, right = text.partition(":")
    if not colon:
        raise SourceShapeError(f"no colon in the parameter entry {text[:60]!r}")
    # The type after a name is in the signature already.
    typed = _TYPED.match(left)
    right = right.removeprefix(" ")
    if "\n" in right:
        first, _, others = right.partition("\n")
        right = f"{first}\n{inspect.cleandoc(others)}"
    return typed[1] if typed else left, right.strip("\n")


_ARGS = re.compile(r"\n\s*Args:\s*\n")
_RETURNS = re.compile(r"\n\s*Returns:\s*\n")
_PARAMETER = re.compile(r"^\s*(\w+)\s*(?:\(([^)]+)\))?\s*:\s*(.+?)$", re.MULTILINE)
_OPTIONAL = re.compile(r",?\s*optional", re.IGNORECASE)
_DEFAULT_MESSAGE = "Action completed successfully."


def discoverable_tool(function: ast.FunctionDef) -> Form:
    """Return a tool that a model is not offered but may find."""
    raw = ast.get_docstring(function)
    if not raw:
        raise SourceShapeError(f"{function.name} is a discoverable tool without a docstring")
    description, *rest = _ARGS.split(raw, maxsplit=1)
    arguments, *results = _RETURNS.split(rest[0], maxsplit=1) if rest else ("",)
    return {
        "name": function.name,
        "description": description.strip(),
        "parameters": {match[1]: _parameter(match) for match in _PARAMETER.finditer(arguments)},
        "success_message": results[0].partition("\n")[0].strip() if results else _DEFAULT_MESSAGE,
    }


def _parameter(match: re.Match[str]) -> Form:
    kind = match[2] or "string"
    return {
        "type": _OPTIONAL.sub("", kind).strip() or "string",
        "description": match[3].strip(),
        "required": "optional" not in kind,
    }


_AGENT = "src/tau2/agent/llm_agent.py"
_USER = "src/tau2/user/user_simulator.py"
_JUDGE = "src/tau2/evaluator/evaluator_nl_assertions.py"
_DOMAINS = "src/tau2/domains"
_BANKING = f"{_DOMAINS}/banking_knowledge"
_RERANKER = "src/tau2/knowledge/postprocessors/pointwise_llm_reranker.py"
_EMBEDDER = "src/tau2/knowledge/embedders/openrouter_embedder.py"

# Where each text is: its file, the class or function around it, its name.
_TEXTS = {
    "agent_instruction": (_AGENT, "AGENT_INSTRUCTION"),
    "agent_system_prompt": (_AGENT, "SYSTEM_PROMPT"),
    "gt_instruction": (_AGENT, "AGENT_GT_INSTRUCTION"),
    "gt_system_prompt": (_AGENT, "SYSTEM_PROMPT_GT"),
    "solo_instruction": (_AGENT, "AGENT_SOLO_INSTRUCTION"),
    "solo_system_prompt": (_AGENT, "SYSTEM_PROMPT_SOLO"),
    "solo_stop_function_name": (_AGENT, "LLMSoloAgent", "STOP_FUNCTION_NAME"),
    "solo_transfer_tool_name": (_AGENT, "LLMSoloAgent", "TRANSFER_TOOL_NAME"),
    "solo_stop_token": (_AGENT, "LLMSoloAgent", "STOP_TOKEN"),
    "user_system_prompt": (_USER, "SYSTEM_PROMPT"),
}
_JUDGING = (_JUDGE, "NLAssertionsEvaluator", "evaluate_nl_assertions")
# In the order in which the original's function returns them.
_STEPS = tuple(
    f"gt_step_{side}_{how}_arguments"
    for side in ("user", "assistant")
    for how in ("with", "without")
)
# Domain, then the classes with the tools of its assistant and of its user.
_TOOLKITS = {
    "airline": ("AirlineTools", None),
    "retail": ("RetailTools", None),
    "telecom": ("TelecomTools", "TelecomUserTools"),
    "mock": ("MockTools", "MockUserTools"),
}
_RETRIEVAL = (
    "KBSearchMixin",
    "GrepMixin",
    "KBSearchBm25AllToolsMixin",
    "KBSearchDenseAllToolsMixin",
    "ShellMixin",
)
_MODELS = {
    "airline": ("data_model.py", ("FlightInfo", "Passenger", "Payment")),
    "telecom": ("user_data_model.py", ("APNNames", "APNSettings", "NetworkModePreference")),
}


def extract_texts(version: str, contents: Mapping[str, bytes]) -> Texts:
    """Return the texts in the source files of a version, whose contents have been verified."""
    sources = _Sources(contents)
    has_banking = version == "1.0.1"  # and tools of the user of its mock domain
    return Texts(
        version,
        prompts=_prompts(sources, has_banking),
        tools=_tools(sources, has_banking),
        models={
            domain: {
                name: sources.read(_model_text, f"{_DOMAINS}/{domain}/{file}", name)
                for name in names
            }
            for domain, (file, names) in _MODELS.items()
        },
    )


class _Sources:
    """The files by name; each is parsed when something is first read from it."""

    def __init__(self, contents: Mapping[str, bytes]) -> None:
        self._contents = contents
        self._modules: dict[str, ast.Module] = {}

    def read(self, reading: Callable[[Scope], Extracted], file: str, *names: str) -> Extracted:
        """Return what is found in a class or function; an error on the way names the file."""
        if file not in self._contents:
            raise SourceShapeError(f"{file} is missing")
        if file not in self._modules:
            self._modules[file] = parse_source(file, self._contents[file])
        try:
            return reading(_inside(self._modules[file], *names))
        except (SourceShapeError, ValueError, RecursionError) as error:
            raise SourceShapeError(f"{file}: {error}") from error

    def text(self, file: str, *names: str) -> str:
        return self.read(lambda scope: _text(_constant(scope, names[-1])), file, *names[:-1])

    def parts(self, file: str, *names: str) -> TextParts:
        return self.read(lambda scope: _parts(_constant(scope, names[-1])), file, *names[:-1])

    def results(self, file: str, *names: str) -> list[TextParts]:
        """Return the texts that a function returns; every one of its results must be such."""
        return self.read(lambda scope: [*map(_parts, _return_values(scope))], file, *names)

    def result(self, number: int, file: str, *names: str) -> TextParts:
        """Return one of the texts that a function returns, whatever its other results are."""
        return self.read(lambda scope: _parts(_return_values(scope)[number]), file, *names)

    def tools(self, file: str, toolkit: str) -> list[ToolText]:
        return self.read(_tools_of, file, toolkit)


def _prompts(sources: _Sources, has_banking: bool) -> Form:
    steps = sources.results(_AGENT, "LLMGTAgent", "make_agent_instructions_from_action")
    return {  # in this order, which is that of the hash
        **{name: sources.text(*place) for name, place in _TEXTS.items()},
        **dict(zip(_STEPS, steps, strict=True)),
        "judge_system": sources.text(*_JUDGING, "system_prompt"),
        "judge_user": sources.parts(*_JUDGING, "user_prompt"),
        **({"banking": _banking_prompts(sources)} if has_banking else {}),
    }


def _banking_prompts(sources: _Sources) -> Form:
    instructions = (f"{_BANKING}/retrieval.py", "format_all_tools_dense_instructions")
    return {
        "dense_instructions": sources.result(-1, *instructions),
        "reranker_prompt": sources.text(_RERANKER, "DEFAULT_POINTWISE_PROMPT"),
        "qwen_query_instruction": sources.text(_EMBEDDER, "DEFAULT_QWEN_QUERY_INSTRUCTION"),
        "qwen_query": sources.result(0, _EMBEDDER, "OpenRouterEmbedder", "_format_text"),
    }


def _tools(sources: _Sources, has_banking: bool) -> dict[str, dict[str, list[Form]]]:
    stop = sources.read(_tool_text, _AGENT, "LLMSoloAgent", "add_stop_tool", "done")
    found: dict[str, dict[str, list[Form]]] = {"solo": {"assistant": [stop]}}
    for domain, (assistant, user) in _TOOLKITS.items():
        folder = f"{_DOMAINS}/{domain}"
        offered = user and (domain != "mock" or has_banking)
        found[domain] = {
            "assistant": sources.tools(f"{folder}/tools.py", assistant),
            "user": sources.tools(f"{folder}/user_tools.py", user) if user and offered else [],
        }
    if has_banking:
        found["banking_knowledge"] = _banking_tools(sources)
    return found


def _banking_tools(sources: _Sources) -> dict[str, list[Form]]:
    def discoverable(toolkit: Scope) -> list[Form]:
        return list(map(discoverable_tool, _marked_functions(toolkit, "is_discoverable_tool")))

    tools, mixins = f"{_BANKING}/tools.py", f"{_BANKING}/retrieval_mixins.py"
    return {
        "assistant": sources.tools(tools, "KnowledgeTools"),
        "user": sources.tools(tools, "KnowledgeUserTools"),
        "retrieval": [tool for name in _RETRIEVAL for tool in sources.tools(mixins, name)],
        "discoverable_assistant": sources.read(discoverable, tools, "KnowledgeTools"),
        "discoverable_user": sources.read(discoverable, tools, "KnowledgeUserTools"),
    }
