"""Rehearsal: a scripted model behind a local server, in place of the model of an own agent.

Each simulation has a model and a key of its own: whatever model an agent names, its key leads to
the right script. The first simulation runs alone until its agent has shown how it asks its model,
so that one which cannot be rehearsed is refused after a few requests and not after thousands.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import count

from maseval.app.results.checklist import TRACE
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.players.rehearsal import (
    CannotRehearseError,
    Refused,
    RehearsalModel,
    RehearsalRecord,
    make_model,
)
from maseval.core.agent_brief import AgentModel
from maseval.core.context import TaskContext
from maseval.core.model import ModelAdapter
from maseval.core.task import Task
from maseval.core.task.task import RepetitionKey
from maseval.server import ModelServer

_PATIENCE = 60.0
_numbers = count(1)
_starting = threading.Lock()


class Rehearsal:
    """The models of all simulations of a rehearsal, played by the scripted agent ``player``.

    A worker process has no ``server``, and starts one of its own.
    """

    def __init__(self, player: str, server: ModelServer | None = None) -> None:
        self.player = player
        self.refused: Refused | None = None
        self._server = server
        self._models: dict[RepetitionKey, tuple[list[str], RehearsalModel]] = {}
        self._acted = threading.Event()
        self._first_is_over = threading.Event()
        self._begun = False
        if server is not None:
            server.on_unserved = self._refuse_protocol

    def __reduce__(self) -> tuple[type["Rehearsal"], tuple[str]]:
        # Locks stay where they are: a copy, and a worker process, begin anew.
        return Rehearsal, (self.player,)

    def begin(
        self, trial: RepetitionKey, task: Task, environment: Tau2Environment, seed: int | None
    ) -> AgentModel:
        """Serve a model for a simulation; return how its agent reaches it."""
        self._wait_for_the_first()
        with _starting:
            if self._server is None:
                self._server = ModelServer().__enter__()  # for as long as the worker lives
                self._server.on_unserved = self._refuse_protocol
        # A repetition that is tried again still has the model of its last attempt.
        self._end(trial)
        model = make_model(self.player, task, environment, seed=seed, acted=self._acted)
        model.refused = self.refused
        names = [f"{model.model_id}-{trial[1]}", f"rehearsal-{next(_numbers)}"]
        for name in names:
            self._server.add(model, name)
        self._models[trial] = names, model
        context = TaskContext.current()
        context.at_end(partial(self._end, trial, model))
        context.registry.register(TRACE, "agent", RehearsalRecord(model))
        return replace(
            AgentModel.placeholder(names[0]), base_url=self._server.url, api_key=names[1]
        )

    def _end(self, trial: RepetitionKey, ended: RehearsalModel | None = None) -> None:
        """Let go of the model of a simulation, unless a later attempt has one of its own."""
        names, model = self._models.get(trial, ((), None))
        if self._server is not None and model is not None and ended in (None, model):
            del self._models[trial]
            for name in names:
                self._server.remove(name)
            self._first_is_over.set()

    @contextmanager
    def refusing(self, environment: Tau2Environment) -> Iterator[None]:
        """Raise in place of anything else if the agent turns out to be none for a rehearsal."""
        try:
            yield
        finally:
            ended = [
                model.end() for _, model in [*self._models.values()] if model.plays_in(environment)
            ]
            self.refused = self.refused or next(filter(None, ended), None)
            if self.refused is not None:
                raise CannotRehearseError(str(self.refused)) from None

    def _wait_for_the_first(self) -> None:
        with _starting:
            is_first, self._begun = not self._begun, True
        if is_first:
            return
        # Either of two events will do, and nothing waits for two at once.
        for _ in range(int(_PATIENCE / 0.05)):
            if self._acted.is_set() or self._first_is_over.wait(0.05):
                return

    def _refuse_protocol(self, path: str, model: ModelAdapter | None) -> None:
        refused = Refused(
            f"the agent asks {path}; a rehearsal serves OpenAI's chat completions and responses",
            "let its client speak one of these, or try it with a real model: "
            "--num-tasks 3 --agent-model MODEL --user-model MODEL",
        )
        self.refused = self.refused or refused
        if isinstance(model, RehearsalModel):
            model.refuse(refused)
