"""Finished agents in a run, unchanged: ``--agent acp:COMMAND`` and ``a2a:URL``.

Each is reached once when the run is prepared: a program that is missing or speaks another protocol
is an error before anything is written. What the agent says of itself is part of the run's
configuration, with its command and the hashes of the files in it.
"""

import os
import shlex
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from maseval.core.agent import AgentAdapter
from maseval.core.agent_brief import AgentBrief, AgentModel
from maseval.core.exceptions import ConfigurationError, MASEvalError
from maseval.core.storage.redaction import redact_address, redact_command

ARGUMENTS = {"acp": {"shared", "turn_timeout"}, "a2a": {"tools", "turn_timeout"}}
"""The arguments of each kind of agent."""
# By these many programs find their model.
_PROVIDERS = ("OPENAI", "ANTHROPIC", "GEMINI")
_VARIABLES = {
    "name": [f"{each}_MODEL" for each in _PROVIDERS],
    "api_key": [f"{each}_API_KEY" for each in _PROVIDERS],
    "base_url": ["OPENAI_API_BASE", "GOOGLE_GEMINI_BASE_URL"]
    + [f"{each}_BASE_URL" for each in _PROVIDERS],
}
_sharing = threading.Lock()


def is_outside(agent: object) -> bool:
    return isinstance(agent, str) and agent.partition(":")[0] in ARGUMENTS


class OutsideAgent:
    """An agent in another program; called with a brief, it returns the adapter of a simulation.

    While it is open as a context, simulations may share one program in this process.
    """

    def __init__(
        self, reference: str, args: Mapping[str, Any], env: Sequence[str], *, rehearsed: bool
    ) -> None:
        self.scheme, _, self.place = reference.partition(":")
        self.args, self.env = _checked_args(self.scheme, args), _variables(self.scheme, env)
        if rehearsed and (self.args.get("shared") or self.scheme == "a2a"):
            raise ConfigurationError(
                "a rehearsal tells a program of its model by environment variables, one program "
                "for each simulation; rehearse acp:COMMAND, without shared=true"
            )
        self._shared: Any = None
        about = _about(self.scheme, self.place, tuple(self.env.items()))
        # A value of this machine is nobody else's business.
        names = {
            name: value if f"{name}={value}" in env else "passed on"
            for name, value in self.env.items()
        }
        self.provenance: Mapping[str, object] = {**about, "env": names}

    @property
    def title(self) -> str:
        if self.scheme == "a2a":
            return f"a2a:{redact_address(self.place)}"
        return f"acp:{redact_command(shlex.split(self.place))}"

    def __call__(self, brief: AgentBrief) -> AgentAdapter:
        given = {"tools": brief.tools, "policy": brief.policy, "model_id": brief.model.id}
        if "turn_timeout" in self.args:
            given["turn_timeout"] = self.args["turn_timeout"] or None
        module: Any = import_module(f"maseval.interface.agents.{self.scheme}")
        if self.scheme == "a2a":
            given["tools_as"] = self.args.get("tools", "mcp")
            adapter: AgentAdapter = module.A2AAgentAdapter(self.place, **given)
        elif self.args.get("shared"):
            with _sharing:
                self._shared = self._shared or module.AcpProgram(self.place, self._env(brief.model))
            adapter = module.ACPAgentAdapter(self._shared, **given)
        else:
            adapter = module.ACPAgentAdapter(self.place, env=self._env(brief.model), **given)
        return adapter

    def _env(self, model: AgentModel) -> dict[str, str]:
        """Return the variables of a program, with a model that was named for it.

        In a rehearsal no provider may be asked by mistake, so all of them are replaced.
        """
        known = {"api_key": model.api_key, "base_url": model.base_url}
        known["name"] = model.name if model.id else None
        told = {each: value for name, value in known.items() if value for each in _VARIABLES[name]}
        return {**self.env, **told}

    def __enter__(self) -> "OutsideAgent":
        return self

    def __exit__(self, *error: object) -> None:
        shared, self._shared = self._shared, None
        if shared is not None:
            shared.close()


def _checked_args(scheme: str, args: Mapping[str, Any]) -> dict[str, Any]:
    known = sorted(ARGUMENTS[scheme])
    if unknown := sorted(args.keys() - ARGUMENTS[scheme]):
        raise ConfigurationError(
            f"agent_args has {unknown[0]!r}, but an agent by {scheme} takes {', '.join(known)}"
        )
    limit, shared = args.get("turn_timeout", 0), args.get("shared", False)
    if type(limit) not in (int, float) or not 0 <= limit < 1e9:
        raise ConfigurationError(f"turn_timeout is {limit!r}; give seconds, or 0 for no limit")
    if not isinstance(shared, bool) or args.get("tools", "mcp") not in ("mcp", "text"):
        raise ConfigurationError(
            f"agent_args is {dict(args)}; shared is true or false, tools mcp or text"
        )
    return dict(args)


def _variables(scheme: str, env: Sequence[str]) -> dict[str, str]:
    """Read ``NAME`` or ``NAME=VALUE``; a name alone stands for the variable of this process."""
    if env and scheme == "a2a":
        raise ConfigurationError("agent_env is for programs, such as --agent acp:COMMAND")
    found = {}
    for name, equals, value in (each.partition("=") for each in env):
        if not name.isidentifier() or (not equals and name not in os.environ):
            raise ConfigurationError(
                f"agent_env is {name!r}, which is not set here; give NAME or NAME=VALUE"
            )
        found[name] = value if equals else os.environ[name]
    return found


# To meet an agent starts its program, or asks a server.
@cache
def _about(scheme: str, place: str, env: tuple[tuple[str, str], ...]) -> Mapping[str, object]:
    """Reach the agent, and return what is known of it then."""
    module: Any = import_module(f"maseval.interface.agents.{scheme}")
    try:
        about: Mapping[str, object] = module.meet(place, dict(env))
        return about
    except ConfigurationError:
        raise
    except MASEvalError as error:
        if error.fatal_for_run:  # a library is not installed
            raise
        raise ConfigurationError(f"{error}; --agent must name one that speaks it") from None
