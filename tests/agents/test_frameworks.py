"""Agents of frameworks in a rehearsal: whatever they make of schemas, none is blamed."""

import pytest

from tests.agents import frameworks
from tests.agents.test_healthy import rehearse

HEALTHY = {
    "langchain_responses": ("langgraph", "langchain_openai"),
    "langchain_classifier": ("langgraph", "langchain_openai"),
    "pydantic_responses": ("pydantic_ai",),
    "agents_sdk": ("agents",),
}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.needs(library=ls[-1])) for n, ls in HEALTHY.items()]
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_agent_of_a_framework_misses_nothing(name, tmp_path):
    for library in HEALTHY[name]:
        pytest.importorskip(library)

    result = rehearse(getattr(frameworks, name), tmp_path / "run")

    assert result.checklist.missed() == [], list(result.checklist.lines())
    assert result.complete and result.summary.cost in (0, None)


@pytest.mark.needs(library="smolagents")
def test_a_code_agent_is_refused_at_once(tmp_path):
    pytest.importorskip("smolagents")

    result = rehearse(frameworks.smolagents_code, tmp_path / "run", concurrency=3)

    assert "reads calls from the model's text" in result.checklist.refused
    assert "2 requests" in str(result.checklist.notes)
    assert not list(result.checklist.lines())
