"""The benchmark, its user and its agents: ``maseval.benchmark.tau2``."""

from collections.abc import Callable, Mapping
from typing import Any

from maseval.benchmark.tau2.agent import DefaultTau2Agent, DefaultTau2AgentAdapter
from maseval.benchmark.tau2.benchmark import Tau2Benchmark
from maseval.benchmark.tau2.default_benchmark import DefaultAgentTau2Benchmark
from maseval.benchmark.tau2.formats.message import INITIAL_GREETING
from maseval.benchmark.tau2.user import Tau2User
from maseval.benchmark.tau2.world.world import to_json_str as _to_json_str
from maseval.core.tool import tool_definition

__all__ = [
    "INITIAL_GREETING",
    "DefaultAgentTau2Benchmark",
    "DefaultTau2Agent",
    "DefaultTau2AgentAdapter",
    "Tau2Benchmark",
    "Tau2User",
    "_build_tool_definitions",
    "_to_json_str",
]


def _build_tool_definitions(tools: Mapping[str, Callable[..., object]]) -> list[dict[str, Any]]:
    return [tool_definition(tool) for tool in tools.values()]
