"""Extraction of all texts that models read from the original's source files.

All texts of a version or none: whatever is missing, or is not as expected, ends in a named error.

In the docstring of a tool (Google style), everything before the first section title describes the
tool, the sections of parameters describe these, and the other sections do not reach a schema.
Discoverable tools of banking_knowledge follow rules of their own: their docstrings are shown as
tool results, and their parameters come from the docstring, not from the signature.

Source: tau2-bench v0.2.0 and v1.0.1, ``src/tau2/`` (MIT).
"""

import ast
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeVar

from maseval.benchmark.tau2.texts.shapes import Scope, parts, text
from maseval.benchmark.tau2.texts.texts import (
    FORMAT,
    BankingPrompts,
    DiscoverableParameter,
    DiscoverableTool,
    DomainTools,
    ModelText,
    Prompts,
    TextParts,
    Texts,
    ToolText,
)
from maseval.data.python_source import SourceShapeError, parse_source, refuse_unreadable


def tools_of(toolkit: Scope) -> tuple[ToolText, ...]:
    """Return the tools of a class: the functions that it marks as such, in source order."""
    return tuple(tool_text(function) for function in _functions_marked(toolkit, "is_tool"))


def discoverable_tools_of(toolkit: Scope) -> tuple[DiscoverableTool, ...]:
    """Return the tools of a class that a model is not offered but may find."""
    marked = _functions_marked(toolkit, "is_discoverable_tool")
    return tuple(discoverable_tool(function, _name(function)) for function in marked)


def tool_text(function: Scope) -> ToolText:
    """Return the description of a function and its parameters, without ``self``."""
    raw = function.docstring()
    name, parameters = _name(function), _parameters(function)
    if raw is None:
        return ToolText(name=name, description=name, parameters=dict.fromkeys(parameters))
    description, texts = read_docstring(raw, function.place)
    described = {parameter: texts.get(parameter) for parameter in parameters}
    return ToolText(name=name, description=description, parameters=described)


def model_text(model: Scope) -> ModelText:
    """Return the descriptions of a data class and its fields."""
    fields: dict[str, str] = {}
    for node in model.node.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            described = _field_description(node, f"{model.place}: {node.target.id}")
            if described is not None:
                fields[node.target.id] = described
    return ModelText(description=model.description(), fields=fields)


def _functions_marked(toolkit: Scope, decorator: str) -> list[Scope]:
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
    """Return the text of ``Field(description=…)``, a default value or inside ``Annotated[…]``."""
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


LENGTH_LIMIT = 10_000  # the longest of the original's has a third of that

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


def read_docstring(raw: str, place: str) -> Docstring:
    """Return the descriptions in a docstring as it stands in the source."""
    limit_length(raw, place)
    cleaned = inspect.cleandoc(raw)
    titles = list(_TITLE.finditer(cleaned))
    head = cleaned[: titles[0].start()] if titles else cleaned
    parameters: dict[str, str] = {}
    for title, section in _sections(titles, cleaned):
        if title[1] in _EXAMPLES:
            raise SourceShapeError(f"{place}: a section of examples")
        if title[1] in _PARAMETERS:
            parameters |= _entries(section, place)
    return Docstring(_description(head, place), parameters)


def _sections(starts: list[re.Match[str]], text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield each match with the text from its end to the next one's start."""
    ends = [*(start.start() for start in starts[1:]), len(text)]
    for start, end in zip(starts, ends, strict=False):
        yield start, text[start.end() : end]


def limit_length(raw: str, place: str) -> None:
    if len(raw) > LENGTH_LIMIT:
        raise SourceShapeError(f"{place}: a docstring of more than {LENGTH_LIMIT:,} characters")


def _description(head: str, place: str) -> str:
    short, _, long = head.partition("\n")
    if not short.strip():
        raise SourceShapeError(f"{place}: a docstring without a description")
    return f"{short}\n\n{long.strip()}" if long.strip() else short


def _entries(section: str, place: str) -> dict[str, str]:
    if unknown := _UNKNOWN_TITLE.search(section):
        section = section[: unknown.start()]
    entries = [_entry(text, place) for text in _split(section.strip("\n"), place)]
    if len(dict(entries)) < len(entries):
        raise SourceShapeError(f"{place}: a parameter is described twice")
    return dict(entries)


def _split(section: str, place: str) -> Iterator[str]:
    """Yield the entries: one begins at each line that is indented like the first."""
    indent = section[: len(section) - len(section.lstrip())]
    starts = list(re.finditer(rf"^{re.escape(indent)}(?=\S)", section, re.MULTILINE))
    if not starts:
        raise SourceShapeError(f"{place}: an empty section of parameters")
    for _, entry in _sections(starts, section):
        yield entry.strip("\n")


def _entry(text: str, place: str) -> tuple[str, str]:
    left, colon, right = text.partition(":")
    if not colon:
        raise SourceShapeError(f"{place}: no colon in the parameter entry {text[:60]!r}")
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


def discoverable_tool(function: Scope, name: str) -> DiscoverableTool:
    raw = function.docstring()
    if not raw:
        raise SourceShapeError(f"{function.place}: a discoverable tool without a docstring")
    limit_length(raw, function.place)
    description, *rest = _ARGS.split(inspect.cleandoc(raw), maxsplit=1)
    arguments, *results = _RETURNS.split(rest[0], maxsplit=1) if rest else ("",)
    return DiscoverableTool(
        name=name,
        description=description.strip(),
        parameters={match[1]: _parameter(match) for match in _PARAMETER.finditer(arguments)},
        success_message=results[0].partition("\n")[0].strip() if results else _DEFAULT_MESSAGE,
    )


def _parameter(match: re.Match[str]) -> DiscoverableParameter:
    kind = match[2] or "string"
    return DiscoverableParameter(
        type=_OPTIONAL.sub("", kind).strip() or "string",
        description=match[3].strip(),
        required="optional" not in kind,
    )


Extracted = TypeVar("Extracted")

_AGENT = "src/tau2/agent/llm_agent.py"
_USER = "src/tau2/user/user_simulator.py"
_JUDGE = "src/tau2/evaluator/evaluator_nl_assertions.py"
_DOMAINS = "src/tau2/domains"
_BANKING = f"{_DOMAINS}/banking_knowledge"
_RERANKER = "src/tau2/knowledge/postprocessors/pointwise_llm_reranker.py"
_EMBEDDER = "src/tau2/knowledge/embedders/openrouter_embedder.py"

# Domain, then the classes with the tools of its assistant and of its user.
_TOOLKITS = {
    "airline": ("AirlineTools", None),
    "retail": ("RetailTools", None),
    "telecom": ("TelecomTools", "TelecomUserTools"),
    "mock": ("MockTools", "MockUserTools"),
}
_RETRIEVAL = (
    *("KBSearchMixin", "GrepMixin"),
    *("KBSearchBm25AllToolsMixin", "KBSearchDenseAllToolsMixin", "ShellMixin"),
)
_MODELS = {
    "airline": ("data_model.py", ("FlightInfo", "Passenger", "Payment")),
    "telecom": ("user_data_model.py", ("APNNames", "APNSettings", "NetworkModePreference")),
}


def extract_texts(version: str, contents: Mapping[str, bytes]) -> Texts:
    """Return the texts in the source files of a version, whose contents have been verified."""
    sources = _Sources(version, contents)
    return Texts(
        format=FORMAT,
        version=version,
        prompts=_prompts(sources),
        tools=_tools(sources),
        models=_models(sources),
    )


class _Sources:
    """The files by name; each is parsed when something is first read from it."""

    def __init__(self, version: str, contents: Mapping[str, bytes]) -> None:
        self.has_banking = version == "1.0.1"
        self.mock_user_has_tools = version == "1.0.1"
        self._contents = contents
        self._modules: dict[str, ast.Module] = {}

    def read(self, name: str, reading: Callable[[Scope], Extracted]) -> Extracted:
        """Return what ``reading`` finds in a file; an error on the way names that file."""
        if name not in self._contents:
            raise SourceShapeError(f"{name} is missing")
        if name not in self._modules:
            self._modules[name] = parse_source(name, self._contents[name])
        with refuse_unreadable(name):
            return reading(Scope(name, self._modules[name]))


def _prompts(sources: _Sources) -> Prompts:
    agent = sources.read(_AGENT, _agent_texts)
    user = sources.read(_USER, lambda module: module.text("SYSTEM_PROMPT"))
    steps = sources.read(_AGENT, _step_texts)
    judge_system, judge_user = sources.read(_JUDGE, _judge_texts)
    banking = {"banking": _banking_prompts(sources)} if sources.has_banking else {}
    judge = {"judge_system": judge_system, "judge_user": judge_user}
    return Prompts.model_validate(
        {**agent, "user_system_prompt": user, **steps, **judge, **banking}
    )


def _agent_texts(module: Scope) -> dict[str, str]:
    solo = module.class_("LLMSoloAgent")
    return {
        "agent_instruction": module.text("AGENT_INSTRUCTION"),
        "agent_system_prompt": module.text("SYSTEM_PROMPT"),
        "gt_instruction": module.text("AGENT_GT_INSTRUCTION"),
        "gt_system_prompt": module.text("SYSTEM_PROMPT_GT"),
        "solo_instruction": module.text("AGENT_SOLO_INSTRUCTION"),
        "solo_system_prompt": module.text("SYSTEM_PROMPT_SOLO"),
        "solo_stop_function_name": solo.text("STOP_FUNCTION_NAME"),
        "solo_transfer_tool_name": solo.text("TRANSFER_TOOL_NAME"),
        "solo_stop_token": solo.text("STOP_TOKEN"),
    }


def _step_texts(module: Scope) -> dict[str, TextParts]:
    method = module.class_("LLMGTAgent").function("make_agent_instructions_from_action")
    steps = [parts(node, method.place) for node in method.return_values()]
    if len(steps) != 4:
        raise SourceShapeError(f"{method.place}: {len(steps)} results, not 4")
    return {
        "gt_step_user_with_arguments": steps[0],
        "gt_step_user_without_arguments": steps[1],
        "gt_step_assistant_with_arguments": steps[2],
        "gt_step_assistant_without_arguments": steps[3],
    }


def _judge_texts(module: Scope) -> tuple[str, TextParts]:
    method = module.class_("NLAssertionsEvaluator").function("evaluate_nl_assertions")
    return method.text("system_prompt"), method.parts("user_prompt")


def _banking_prompts(sources: _Sources) -> BankingPrompts:
    return BankingPrompts(
        dense_instructions=sources.read(
            f"{_BANKING}/retrieval.py",
            lambda module: _result(module.function("format_all_tools_dense_instructions"), -1),
        ),
        reranker_prompt=sources.read(
            _RERANKER, lambda module: module.text("DEFAULT_POINTWISE_PROMPT")
        ),
        qwen_query_instruction=sources.read(
            _EMBEDDER, lambda module: module.text("DEFAULT_QWEN_QUERY_INSTRUCTION")
        ),
        qwen_query=sources.read(
            _EMBEDDER,
            lambda module: _result(module.class_("OpenRouterEmbedder").function("_format_text"), 0),
        ),
    )


def _result(function: Scope, position: int) -> TextParts:
    results = function.return_values()
    return parts(results[position] if results else None, function.place)


def _tools(sources: _Sources) -> dict[str, DomainTools]:
    stop = sources.read(
        _AGENT,
        lambda module: module.class_("LLMSoloAgent").function("add_stop_tool").function("done"),
    )
    found = {"solo": DomainTools(assistant=(tool_text(stop),))}
    for domain, (assistant, user) in _TOOLKITS.items():
        if domain == "mock" and not sources.mock_user_has_tools:
            user = None
        found[domain] = DomainTools(
            assistant=_toolkit(sources, f"{_DOMAINS}/{domain}/tools.py", assistant),
            user=_toolkit(sources, f"{_DOMAINS}/{domain}/user_tools.py", user) if user else (),
        )
    if sources.has_banking:
        found["banking_knowledge"] = _banking_tools(sources)
    return found


def _toolkit(sources: _Sources, name: str, toolkit: str) -> tuple[ToolText, ...]:
    return sources.read(name, lambda module: tools_of(module.class_(toolkit)))


def _banking_tools(sources: _Sources) -> DomainTools:
    def both(module: Scope) -> DomainTools:
        agent, user = module.class_("KnowledgeTools"), module.class_("KnowledgeUserTools")
        return DomainTools(
            assistant=tools_of(agent),
            user=tools_of(user),
            retrieval=retrieval,
            discoverable_assistant=discoverable_tools_of(agent),
            discoverable_user=discoverable_tools_of(user),
        )

    mixins = f"{_BANKING}/retrieval_mixins.py"
    retrieval = tuple(tool for name in _RETRIEVAL for tool in _toolkit(sources, mixins, name))
    return sources.read(f"{_BANKING}/tools.py", both)


def _models(sources: _Sources) -> dict[str, dict[str, ModelText]]:
    return {
        domain: {name: _model(sources, f"{_DOMAINS}/{domain}/{file}", name) for name in names}
        for domain, (file, names) in _MODELS.items()
    }


def _model(sources: _Sources, file: str, name: str) -> ModelText:
    return sources.read(file, lambda module: model_text(module.class_(name)))
