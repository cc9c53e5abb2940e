"""What an own agent is handed leads to no gold: neither the evaluation nor the user's scenario."""

import types
import warnings
from collections import deque
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from maseval import AgentAdapter
from maseval.benchmark.tau2.app.running.options import RunOptions
from maseval.benchmark.tau2.app.running.run import Tau2Run
from maseval.core.agent_brief import AgentBrief
from maseval.core.task.task import Task

# Ways that only a Python object has, beside its attributes.
HIDDEN = ("__self__", "__func__", "__closure__", "__wrapped__", "__dict__")
HIDDEN += ("__defaults__", "__kwdefaults__")
# Ways that cannot be closed within one process, and values that lead nowhere.
LEFT_OUT = (types.ModuleType, types.FrameType, types.TracebackType)
LEFT_OUT += (int, float, bytes, bool, type(None), Path)
# Some objects make a new one whenever an attribute is read: such a path never ends.
LONGEST = 200


def parts_of(thing: Any) -> Iterator[tuple[str, Any]]:
    """Yield everything that can be reached from a thing in one step, with the step."""
    if isinstance(thing, types.CellType):
        yield ".cell_contents", thing.cell_contents
        return
    if isinstance(thing, dict | types.MappingProxyType):
        yield from ((f"[{key!r}]", value) for key, value in thing.copy().items())
        yield from ((f".key({key!r})", key) for key in thing.copy())
    elif isinstance(thing, list | tuple | set | frozenset | deque):
        yield from ((f"[{number}]", value) for number, value in enumerate(tuple(thing)))
    names = [*HIDDEN, *(name for name in dir(thing) if not name.startswith("__"))]
    for name in [] if isinstance(thing, str) else names:
        try:
            yield f".{name}", getattr(thing, name)
        except Exception:  # a property that does not like to be looked at
            continue


def paths_to(secrets: list[Any], roots: dict[str, Any]) -> list[str]:
    """Return how to get from the roots to a secret: a text, or an object by its id."""
    texts = [one for one in secrets if isinstance(one, str)]
    others = {id(one) for one in secrets if not isinstance(one, str)}
    pending, seen, found = deque(roots.items()), {}, []
    while pending:
        path, thing = pending.popleft()
        if id(thing) in seen or isinstance(thing, LEFT_OUT):
            continue
        seen[id(thing)] = thing  # keeps it alive, so that no other gets its id
        if id(thing) in others or (isinstance(thing, str) and any(one in thing for one in texts)):
            found.append(path)
        elif not isinstance(thing, str) and len(path) < LONGEST:
            pending.extend((path + step, part) for step, part in parts_of(thing))
    return found


def secrets_of(task: Task) -> list[Any]:
    """Return the task, and all that only its evaluator and its user may know."""

    def within(part):
        if isinstance(part, dict | list):
            values = part.values() if isinstance(part, dict) else part
            return [*([part] if part else []), *(one for value in values for one in within(value))]
        # A short text, such as an id, stands in the database as well.
        return [part] if isinstance(part, str) and len(part) > 30 else []

    return [task, *within(task.evaluation_data), *within(task.user_data)]


# Of one run, kept here so that the walk does not find it through the agent itself.
seen_by_agent = {"task": None, "looked": [], "found": []}


def look(said: str = "", **roots: Any) -> None:
    """Search for secrets, but for those that the customer has said."""
    secrets = [
        one
        for one in secrets_of(seen_by_agent["task"])
        if not isinstance(one, str) or one not in said
    ]
    with warnings.catch_warnings(action="ignore"):
        seen_by_agent["found"] += paths_to(secrets, roots)
    seen_by_agent["looked"] += roots


class Curious(AgentAdapter):
    """An agent that looks around whenever it is asked."""

    def _run_agent(self, query: str) -> Any:
        look(adapter=self, said=query)
        return "Hm."


def make_curious(brief: AgentBrief) -> Curious:
    look(brief=brief, model=brief.chat_model())
    return Curious(brief, "curious")


def test_an_own_agent_is_handed_nothing_that_leads_to_the_gold(tmp_path):
    (tmp_path / "model.json").write_text('["Hm."]')
    prepared = Tau2Run.of(
        RunOptions(
            domain="library",
            num_tasks=1,
            agent=make_curious,
            agent_model=f"scripted/{tmp_path / 'model.json'}",
            user="scripted",
            max_steps=2,
            output=tmp_path / "run",
        )
    )
    [seen_by_agent["task"]] = prepared.tasks["library"]
    prepared.execute()

    assert seen_by_agent["looked"] == ["brief", "model", "adapter"]
    assert seen_by_agent["found"] == []


def test_the_walk_finds_what_is_hidden_in_the_usual_places():
    secret = {"actions": ["renew"]}

    class Holder:
        __slots__ = ("inner",)

        def __init__(self, inner):
            self.inner = inner

        def method(self):
            return self.inner

    def closure():
        return secret

    hidden = [Holder(secret).method, closure, partial(print, secret), {"a": [(secret,)]}]

    for one in hidden:
        assert paths_to([secret], {"hidden": one}), one
    assert paths_to(["a long text"], {"hidden": Holder(["this is a long text"])})
