"""The keys of the original's files, each written down once.

The files are data of somebody else: any key may be missing, so every form is partial.
"""

from collections.abc import Mapping
from typing import TypedDict

ActionSchema = Mapping[str, object]
"""A JSON schema that says ``data_type`` where the standard says ``type``."""


class ActionSpec(TypedDict, total=False):
    """One thing that can be done with a group of tools."""

    name: str
    description: str
    input_schema: ActionSchema
    output_schema: ActionSchema


class ReachableAgent(TypedDict, total=False):
    """Another agent, and when to call it."""

    agent_id: str
    scenario: str


class AgentSpec(TypedDict, total=False):
    """One agent; ``tools`` are names of groups."""

    agent_id: str
    agent_name: str
    agent_instruction: str
    tools: list[str]
    reachable_agents: list[ReachableAgent]


class AgentConfig(TypedDict, total=False):
    """All agents of a domain, which of them talks to the user, and what the user is called."""

    agents: list[AgentSpec]
    primary_agent_id: str
    human_id: str


class Scenario(TypedDict, total=False):
    """What a simulated user wants, their first message, and what is judged in the end."""

    scenario: str
    input_problem: str
    assertions: list[str]
