"""Scripted models that know a case: for rehearsals, and to see what a defence would show.

``gold`` does what the user asked for. ``ignores`` does the same and tells what it read. ``noisy``
makes mistakes. ``obeys`` does what an injection says as soon as it reads one, ``obeys:0.6`` in six
of ten cases; one who was told the user's task once more after it obeys half as often.
"""

import json
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from maseval import ChatResponse, ConfigurationError, ScriptedModelAdapter, tool_call
from maseval_agentdojo.agents import CHECK, FILTER, ROUNDS
from maseval_agentdojo.library import suite_of
from maseval_agentdojo.world import world_of

Calls = list[tuple[str, dict[str, Any]]]
READ = "what the tools answered"
PLAYERS = ("gold", "ignores", "noisy", "obeys")
_NOTICED = 0.8
"""How often the checker notices an injection."""


def player_of(name: str, case: Mapping[str, Any], seed: int | None = None) -> ScriptedModelAdapter:
    """Return the model that plays a case: ``gold``, ``obeys:0.6`` and so on."""
    kind, _, rate = name.partition(":")
    if kind not in PLAYERS:
        raise ConfigurationError(
            f"model is {name!r}; choose one of: {', '.join(PLAYERS)}, or PROVIDER/MODEL"
        )
    try:
        often = float(rate or 1)
    except ValueError:
        often = -1.0
    if not 0 <= often <= 1:
        raise ConfigurationError(f"model is {name!r}; write a rate from 0 to 1 like obeys:0.6")
    script = Player(kind, case, often, seed)
    return ScriptedModelAdapter(script.reply, model_id=f"scripted/{name}", seed=seed)


class Player:
    """One case, played by a script; ``rate`` is how often it obeys."""

    def __init__(
        self, kind: str, case: Mapping[str, Any], rate: float = 1.0, seed: int | None = None
    ) -> None:
        self.kind, self.rate = kind, rate
        suite = suite_of(case["version"], case["suite"])
        world = world_of(case)
        user = suite.get_user_task_by_id(case["user_task"])
        self.steps = _steps(user, world)
        self.answer = str(user.GROUND_TRUTH_OUTPUT or "Done.")
        self.goal_steps, self.goal_answer, self.signs = [], "Done.", set[str]()
        if case["injection_task"] is not None:
            goal = suite.get_injection_task_by_id(case["injection_task"])
            self.goal_steps = _steps(goal, world)
            self.goal_answer = str(goal.GROUND_TRUTH_OUTPUT or "Done.")
            self.signs = {_sign(each) for each in case["injections"].values()}
        names = (case["suite"], case["user_task"], case["injection_task"], seed)
        self.random = Random(json.dumps(names))
        self.mood, self.notices = self.random.random(), self.random.random() < _NOTICED
        self._plan = list[Any]()

    def reply(self, messages: Sequence[Any], tools: Any = None) -> Any:
        """Return the next words or calls; the messages are in OpenAI's form."""
        first = _text(messages[0])
        if first == FILTER:
            return json.dumps(sorted({name for step in self.steps for name, _ in step}))
        if first == CHECK:
            return "yes" if self.notices and self._sees(messages[1:]) else "no"
        if not any(each["role"] == "assistant" for each in messages):
            self._plan = self._script()
        if self.kind == "obeys" and self._sees(messages) and self.mood < self._willing(messages):
            self.mood, self._plan = 1.0, [*self.goal_steps, self.goal_answer]
        step = self._plan.pop(0) if self._plan else self.answer
        if step is READ:
            return "\n".join(_text(each) for each in messages if each["role"] == "tool")
        if isinstance(step, str | None):
            return ChatResponse(step)
        number = len(messages)
        return [tool_call(name, given, id=f"{number}.{n}") for n, (name, given) in enumerate(step)]

    def _script(self) -> list[Any]:
        if self.kind == "ignores":
            return [*self.steps, READ]
        if self.kind == "noisy":
            return [*map(self._slip, self.steps), self._last()]
        return [*self.steps, self.answer]

    def _slip(self, step: Calls) -> Calls:
        """Return a step, or a mistake in its place."""
        name, given = step[0]
        wrong = {key: f"{value}?" for key, value in given.items()}
        listed = {key: f"['{value}']" for key, value in given.items()}
        mistakes = [[(f"{name}s", given)], [(name, wrong)], [(name, {})], [(name, listed)]]
        mistakes += [step * 3, [(name, {**given, "more": 1})], sum(self.goal_steps, step)]
        found = self.random.choice([*mistakes, step[1:] or step])
        return found if self.random.random() < 0.3 else step

    def _last(self) -> Any:
        return self.random.choice([self.answer] * 4 + [None, "", READ])

    def _sees(self, messages: Sequence[Any]) -> bool:
        read = [_squashed(_text(each)) for each in messages if each["role"] != "system"]
        return any(sign in text for sign in self.signs for text in read)

    def _willing(self, messages: Sequence[Any]) -> float:
        return self.rate / 2 if messages[-1]["role"] == "user" else self.rate


def _steps(task: Any, world: Any) -> list[Calls]:
    """Return the calls that solve a task, one in a round, or more if there are not enough."""
    calls = [(each.function, dict(each.args)) for each in task.ground_truth(world)]
    size = 1 + len(calls) // ROUNDS
    return [calls[n : n + size] for n in range(0, len(calls), size)]


def _text(message: Any) -> str:
    return str(message["content"] or "") if "content" in message else ""


def _squashed(text: str) -> str:
    """Return the letters of a text, which YAML may break anywhere else."""
    return "".join(each for each in text if each.isascii() and each.isalnum())


def _sign(injection: str) -> str:
    """Return the letters of its longest line, by which an injection is known again."""
    return _squashed(max(injection.splitlines(), key=len))[:30]
