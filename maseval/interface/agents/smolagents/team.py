"""An agent and those that it manages: who they are, and how they are set up."""

import json

from maseval.interface.agents.smolagents.memory import MultiStepAgent
from maseval.interface.inference.chat_completions import get

_SETTINGS = (
    *("name", "description", "prompt_templates", "max_steps", "planning_interval"),
    *("max_tool_threads", "authorized_imports", "executor_type", "max_print_outputs_length"),
)


def team_of(agent: MultiStepAgent) -> list[MultiStepAgent]:
    """The agent and all agents it manages, at any depth, each once."""
    team = [agent]
    for member in team:  # which grows meanwhile
        found = member.managed_agents.values()
        team += [one for one in found if all(one is not known for known in team)]
    return team


def description_of(agent: MultiStepAgent) -> dict[str, object]:
    """Like ``agent.to_dict()``, which prints, and fails for tools without source code."""
    model = get(agent, "model")
    data = {"model_id": get(model, "model_id"), **(get(model, "kwargs") or {})}
    config = {
        "class": type(agent).__name__,
        "tools": list(agent.tools),
        "model": {
            "class": type(model).__name__,
            "data": {**data, "client_kwargs": get(model, "client_kwargs")},
        },
        "managed_agents": [description_of(member) for member in agent.managed_agents.values()],
        **{name: getattr(agent, name) for name in _SETTINGS if hasattr(agent, name)},
    }
    plain: dict[str, object] = json.loads(json.dumps(config, default=str))
    return plain
