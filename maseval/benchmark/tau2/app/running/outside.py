"""Finished agents in a run, unchanged: ``--agent acp:COMMAND`` and ``a2a:URL``.

Each is reached once when the run is prepared: a program that is missing or speaks another protocol
is an error before anything is written, and what the agent says of itself is in the configuration of
the run, together with its command and the hashes of the files in it.
"""

import os
import tempfile
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from maseval.benchmark.tau2.agent_brief import AgentBrief, AgentModel
from maseval.core.agent import AgentAdapter
from maseval.core.event_loop import run_async
from maseval.core.exceptions import AgentError, ConfigurationError

SCHEMES = {"acp": {"shared", "turn_timeout"}, "a2a": {"tools", "turn_timeout"}}
"""The arguments of each kind of agent."""
_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
_ADDRESSES = (
    *("OPENAI_BASE_URL", "OPENAI_API_BASE", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"),
)
_MODELS = ("OPENAI_MODEL", "ANTHROPIC_MODEL", "GEMINI_MODEL")
_MODULE = "maseval.interface.agents"


def is_outside(agent: object) -> bool:
    return isinstance(agent, str) and agent.partition(":")[0] in SCHEMES


class OutsideAgent:
    """An agent in another program; called with a brief, it returns the adapter of a simulation.

    While it is open as a context, simulations may share one program in this process.
    """

    def __init__(
        self,
        reference: str,
        args: Mapping[str, Any],
        env: Sequence[str] = (),
        *,
        rehearsed: bool = False,
    ) -> None:
        self.scheme, _, self.place = reference.partition(":")
        self.args = _checked_args(self.scheme, args)
        self.env = _variables(env)
        self._recorded_env = _recorded(env)
        self._shared: Any = None
        self._sharing = threading.Lock()
        if rehearsed and (self.args.get("shared") or self.scheme == "a2a"):
            raise ConfigurationError(
                "a rehearsal names its model in the environment of a program, which takes one "
                "program for each simulation; rehearse acp:COMMAND, without shared=true"
            )
        self.title = f"{self.scheme}:{self.place}"
        self.provenance: dict[str, object] = {"env": self._recorded_env, **self._told()}

    def _told(self) -> dict[str, object]:
        return dict(_about_program(self.place, tuple(sorted(self.env.items()))))

    def __call__(self, brief: AgentBrief) -> AgentAdapter:
        given = {"tools": brief.tools, "policy": brief.policy, "model_id": brief.model.id}
        if "turn_timeout" in self.args:
            given["turn_timeout"] = self.args["turn_timeout"] or None
        module = import_module(f"{_MODULE}.acp")
        if self.args.get("shared"):
            with self._sharing:
                self._shared = self._shared or module.AcpProgram(self.place, self._env(brief.model))
            adapter = module.ACPAgentAdapter(self._shared, **given)
        else:
            adapter = module.ACPAgentAdapter(self.place, env=self._env(brief.model), **given)
        return adapter  # type: ignore[no-any-return]

    def _env(self, model: AgentModel) -> dict[str, str]:
        """Return the variables of a program; a model that is named comes by those that many read.

        In a rehearsal no provider may be asked by mistake, so that all of them are replaced.
        """
        told = [(_MODELS, model.id and model.name), (_KEYS, model.api_key)]
        told.append((_ADDRESSES, model.base_url))
        return {**self.env, **{name: value for names, value in told if value for name in names}}

    def __enter__(self) -> "OutsideAgent":
        return self

    def __exit__(self, *error: object) -> None:
        shared, self._shared = self._shared, None
        if shared is not None:
            shared.close()

    def __getstate__(self) -> dict[str, object]:
        return {name: part for name, part in vars(self).items() if name not in _OF_THIS_PROCESS}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        self._shared, self._sharing = None, threading.Lock()


_OF_THIS_PROCESS = ("_shared", "_sharing")


def _checked_args(scheme: str, args: Mapping[str, Any]) -> dict[str, Any]:
    if unknown := sorted(args.keys() - SCHEMES[scheme]):
        raise ConfigurationError(
            f"agent_args has {unknown[0]!r}, but an agent by {scheme} takes "
            f"{', '.join(sorted(SCHEMES[scheme]))}"
        )
    limit = args.get("turn_timeout", 0)
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 <= limit < 1e9:
        raise ConfigurationError(f"turn_timeout is {limit!r}; give seconds, or 0 for no limit")
    if not isinstance(args.get("shared", False), bool):
        raise ConfigurationError(f"shared is {args['shared']!r}; give true or false")
    return dict(args)


def _variables(env: Sequence[str]) -> dict[str, str]:
    """Read ``NAME`` or ``NAME=VALUE``; a name alone stands for the variable here."""
    found = {}
    for each in env:
        name, equals, value = each.partition("=")
        if not name.isidentifier() or (not equals and name not in os.environ):
            raise ConfigurationError(
                f"agent_env is {name!r}, which is not set here; give NAME or NAME=VALUE"
            )
        found[name] = value if equals else os.environ[name]
    return found


def _recorded(env: Sequence[str]) -> dict[str, str]:
    """Return the variables for the record; those of this machine by their names alone."""
    return {
        name: value if equals else "passed on"
        for name, equals, value in (each.partition("=") for each in env)
    }


@cache
def _about_program(command: str, env: tuple[tuple[str, str], ...]) -> Mapping[str, object]:
    """Start the program, open a session and end it again; return what is known of it then."""
    acp, program = import_module(f"{_MODULE}.acp"), import_module(f"{_MODULE}.program")
    acp.load_sdk()
    tried = acp.AcpProgram(command, dict(env))

    async def meet() -> None:
        await tried.connect()
        with tempfile.TemporaryDirectory(prefix="maseval-agent-") as folder:
            await tried.open_session(folder, None, lambda update: None, lambda title: False)

    try:
        run_async(meet())
    except AgentError as error:
        raise ConfigurationError(f"{error}; agent must be a program that speaks ACP") from None
    finally:
        tried.close()
    return {**program.provenance(tried.command), **tried.about}
