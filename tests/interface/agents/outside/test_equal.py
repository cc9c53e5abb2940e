"""Simulations with an agent in another program are those of the same decisions in this process."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from maseval.interface.agents import A2AAgentAdapter, ACPAgentAdapter
from maseval.interface.agents.acp import AcpProgram
from tests.interface.agents.outside.equal import compare
from tests.interface.agents.outside.test_a2a import serving
from tests.interface.libraries import needing

ACP = Path(__file__).with_name("acp_agent.py")
BASE = {"airline": 50, "retail": 114, "telecom": 114}
# All of them take minutes; some of each are what every run of the tests can afford.
LIMIT = None if os.environ.get("MASEVAL_EVERY_TASK") else 6

pytestmark = [pytest.mark.data, pytest.mark.slow, pytest.mark.usefixtures("tau2_data")]
with_acp = [pytest.param(domain, marks=needing("acp")) for domain in BASE]
with_a2a = [pytest.param(domain, marks=needing("a2a")) for domain in BASE]


def by_acp(program: Any) -> Callable[..., Any]:
    return lambda key, environment: ACPAgentAdapter(program, tools=environment.tools, policy=key)


def by_a2a(url: str, **options: Any) -> Callable[..., Any]:
    return lambda key, environment: A2AAgentAdapter(
        url, tools=environment.tools, policy=key, **options
    )


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Any]:
    running = AcpProgram([sys.executable, str(ACP)], {"AGENT_FOLDER": str(tmp_path)})
    yield running
    running.close()


@pytest.mark.parametrize("domain", with_acp)
def test_the_gold_of_every_task_is_the_same_by_acp(domain, program, tmp_path):
    made = compare(domain, "gold", tmp_path, by_acp(program), LIMIT)
    assert made == (LIMIT or BASE[domain])


@pytest.mark.parametrize("domain", with_a2a)
def test_the_gold_of_every_task_is_the_same_by_a2a_with_tools_as_text(domain, tmp_path):
    with serving("text", AGENT_FOLDER=str(tmp_path)) as url:
        made = compare(domain, "gold", tmp_path, by_a2a(url, tools_as="text"), LIMIT)
        assert made == (LIMIT or BASE[domain])


@pytest.mark.parametrize("domain", [pytest.param("library", marks=needing("acp"))])
def test_mistakes_are_the_same_by_acp(domain, program, tmp_path):
    assert compare(domain, "noisy", tmp_path, by_acp(program)) == 12


@pytest.mark.parametrize(
    "kind", [pytest.param(each, marks=needing("a2a")) for each in ("1.0", "old")]
)
def test_mistakes_are_the_same_by_a2a_with_tools_by_mcp(kind, tmp_path):
    with serving(kind, AGENT_FOLDER=str(tmp_path)) as url:
        assert compare("library", "noisy", tmp_path, by_a2a(url)) == 12
