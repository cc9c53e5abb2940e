"""Extraction of all texts that models read from the original's source files.

All texts of a version or none: whatever is missing, or is not as expected, ends in a named error.
Source: tau2-bench v0.2.0 and v1.0.1, ``src/tau2/`` (MIT).
"""

import ast
from collections.abc import Callable, Mapping
from typing import TypeVar

from maseval.benchmark.tau2.texts.shapes import Scope, parts
from maseval.benchmark.tau2.texts.texts import (
    FORMAT,
    BankingPrompts,
    DomainTools,
    ModelText,
    Prompts,
    TextParts,
    Texts,
    ToolText,
)
from maseval.benchmark.tau2.texts.tools import (
    discoverable_tools_of,
    model_text,
    tool_text,
    tools_of,
)
from maseval.data.python_source import SourceShapeError, parse_source, refuse_unreadable

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
