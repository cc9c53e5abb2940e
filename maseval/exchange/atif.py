"""Read ATIF, the trajectory format of harbor, NeMo and others, versions 1.4 to 1.8.

A trajectory becomes messages as results files have them. ATIF has no tools for the user: what the
customer does on a device is an embedded trajectory of its own, to which the system step before the
customer's message refers. Whatever ATIF has no field for stands under ``extra.maseval``.

References are resolved inside the file alone, and no verdict in it is believed.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from maseval.core.exceptions import MASEvalError
from maseval.core.recorded import Shape, amount, entries, mapping, whole_number
from maseval.core.storage.strict_json import MAX_DEPTH, is_shallow
from maseval.core.words import excerpt, text_or_none

VERSION = "ATIF-v1.8"
VERSIONS = tuple(f"ATIF-v1.{minor}" for minor in range(4, 9))
EXTENSION, FORM = "maseval", 1
CUSTOMER = "customer"

# The kinds of system steps and trajectories that only we write, under ``kind`` in the extension.
PROMPT, TEAM, MEMBER = "prompt", "team", "member"

_TOKENS = ("completion_tokens", "prompt_tokens")

JsonDict = dict[str, Any]


class TrajectoryError(MASEvalError, ValueError):
    """A trajectory is not ATIF, or holds what cannot be judged; the text says where."""


class Trajectory(NamedTuple):
    """A conversation in ATIF; ``own`` is the extension, empty in a file of another program."""

    id: str | None
    agent: Shape
    messages: list[JsonDict]
    own: Shape


# As we name them, and as harbor does: FOLDER/agent/trajectory.json for each trial.
_FILES = ("*.atif.json", "trajectory.json", "*/agent/trajectory.json", "*/*/agent/trajectory.json")


def trajectory_files(folder: Path) -> list[Path]:
    """Return the files in a folder whose names are those of trajectories."""
    found = (path for pattern in _FILES for path in sorted(folder.glob(pattern)))
    return [path for path in found if path.is_file()]


def extension_of(part: object) -> Shape:
    """Return what we added to a part of a trajectory."""
    return mapping(part, "extra", EXTENSION)


def read_trajectory(value: object) -> Trajectory:
    """Read one trajectory; raise ``TrajectoryError`` for what ATIF does not allow."""
    root = _object(value, "the trajectory")
    # Before anything else, because trajectories within trajectories are read by recursion.
    if not is_shallow(root, MAX_DEPTH):
        raise TrajectoryError(f"nested more than {MAX_DEPTH} levels deep")
    version = root.get("schema_version")
    if version not in VERSIONS:
        known = f"{VERSIONS[0]} to {VERSIONS[-1]}"
        raise TrajectoryError(f"schema_version: should be {known}, found {_brief(version)}")
    own = extension_of(root)
    if own and own.get("form") != FORM:
        found = _brief(own.get("form"))
        raise TrajectoryError(
            f"extra.maseval.form: should be {FORM}, found {found}; a newer maseval may read it"
        )
    name = root.get("trajectory_id") or root.get("session_id")
    agent = _object(root.get("agent"), "agent")
    return Trajectory(text_or_none(name), agent, _Conversation(root).messages(), own)


class _Conversation:
    """The messages of a trajectory, with those of the customer's turns in their places."""

    def __init__(self, root: Shape) -> None:
        self._root = root
        self._messages: list[JsonDict] = []
        self._used: set[str] = set()

    def messages(self) -> list[JsonDict]:
        self._add_trajectory(self._root, "assistant", "")
        for name, part in _embedded(self._root, "").items():
            if name not in self._used and _name(part) == CUSTOMER:
                raise TrajectoryError(f"no step refers to the sub-agent trajectory {name!r}")
        return self._messages

    def _add_trajectory(self, trajectory: Shape, role: str, where: str) -> None:
        embedded = _embedded(trajectory, where)
        for name, part in embedded.items():
            _refuse_calls(part, f"{where}sub-agent trajectory {name!r}")
        for number, value in enumerate(_list(trajectory, "steps", where), start=1):
            place = f"{where}steps[{number - 1}]"
            step = _object(value, place)
            if step.get("step_id") != number:
                found = _brief(step.get("step_id"))
                raise TrajectoryError(
                    f"{place}.step_id: should be {number}, as steps are counted, found {found}"
                )
            # What was copied from an earlier trajectory is told there.
            if not step.get("is_copied_context"):
                self._add_step(step, role, place, embedded)

    def _add_step(self, step: Shape, role: str, place: str, embedded: Mapping[str, Shape]) -> None:
        own, source = extension_of(step), step.get("source")
        results = [
            _object(each, f"{place}.observation.results")
            for each in _list(mapping(step, "observation"), "results", f"{place}.observation.")
        ]
        match source:
            case "agent":
                self._add(own, spoken(role, step, place))
            case "user" if role == "assistant" and not results and not step.get("tool_calls"):
                self._add(own, spoken("user", step, place))
            case "user":
                raise TrajectoryError(f"{place}: a user step has neither calls nor observations")
            case "system":
                # Nobody said these: the policy, and what agents of a team recorded.
                if own.get("kind") in (PROMPT, TEAM):
                    return
                text = text_of(step.get("message"), f"{place}.message")
                # An empty step only carries observations, of a customer or of an unknown call.
                if text or not results:
                    self._add(
                        own,
                        {
                            "role": "system",
                            "turn_idx": None,
                            "content": text,
                            "timestamp": step.get("timestamp"),
                        },
                    )
            case _:
                words = f"should be system, user or agent, found {_brief(source)}"
                raise TrajectoryError(f"{place}.source: {words}")
        for index, result in enumerate(results):
            self._add_result(result, role, f"{place}.observation.results[{index}]", embedded)

    def _add_result(
        self, result: Shape, role: str, place: str, embedded: Mapping[str, Shape]
    ) -> None:
        references = _list(result, "subagent_trajectory_ref", f"{place}.")
        is_turn = False
        for reference in references:
            name = mapping(reference).get("trajectory_id")
            if name is None:
                raise TrajectoryError(
                    f"{place}: refers to a trajectory in another file, which is not read; embed "
                    "it in subagent_trajectories, or leave the reference out"
                )
            if not isinstance(name, str) or name not in embedded:
                raise TrajectoryError(f"{place}: there is no sub-agent trajectory {_brief(name)}")
            if _name(embedded[name]) == CUSTOMER:
                is_turn = True
                if name in self._used:
                    raise TrajectoryError(f"{place}: refers to {name!r} for the second time")
                self._used.add(name)
                self._add_trajectory(embedded[name], "user", f"{name}, ")
        if not is_turn:
            self._add(extension_of(result), answered(role, result, place))

    def _add(self, own: Shape, message: JsonDict) -> None:
        message["turn_idx"] = len(self._messages)
        known = {**message, **mapping(own, "message")}
        absent = set(map(str, entries(own.get("absent"))))
        self._messages.append({key: each for key, each in known.items() if key not in absent})


def spoken(role: str, step: Shape, place: str) -> JsonDict:
    """Return what the agent or the user said or called in a step."""
    calls = [
        _call(_object(each, f"{place}.tool_calls[{index}]"), role, f"{place}.tool_calls[{index}]")
        for index, each in enumerate(_list(step, "tool_calls", f"{place}."))
    ]
    cost, *used = (_metric(step, key, place) for key in ("cost_usd", *_TOKENS))
    counts = dict(zip(_TOKENS, map(whole_number, used), strict=True))
    thought = step.get("reasoning_content")
    text = text_of(step.get("message"), f"{place}.message")
    return {
        "role": role,
        # A step always has a text, so an empty one beside calls stands for none.
        "content": None if calls and not text else text,
        "tool_calls": calls or None,
        "timestamp": step.get("timestamp"),
        "cost": cost,
        "usage": counts if None not in counts.values() else None,
        "raw_data": {"reasoning": {"text": thought}} if isinstance(thought, str) else None,
    }


def _metric(step: Shape, key: str, place: str) -> float | None:
    value = mapping(step, "metrics").get(key)
    found = amount(value)
    # Sums over simulations would be wrong in silence.
    if value is not None and (found is None or found < 0):
        raise TrajectoryError(f"{place}.metrics.{key}: should be from 0, found {_brief(value)}")
    return found


def _call(call: Shape, role: str, place: str) -> JsonDict:
    names = {"id": call.get("tool_call_id"), "name": call.get("function_name")}
    for key, name in names.items():
        if not isinstance(name, str):
            raise TrajectoryError(f"{place}: its {key} should be a text, found {_brief(name)}")
    arguments = _object(call.get("arguments"), f"{place}.arguments")
    return {**names, "arguments": arguments, "requestor": role}


def answered(role: str, result: Shape, place: str) -> JsonDict:
    """Return the message of the tool that a result is from."""
    content = result.get("content")
    return {
        "role": "tool",
        "id": text_or_none(result.get("source_call_id")) or "",
        "content": None if content is None else text_of(content, f"{place}.content"),
        "requestor": role,
        "error": False,
        "timestamp": None,
    }


def text_of(content: object, place: str) -> str:
    """Return a text, or the joined texts of its parts; refuse images and audio."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise TrajectoryError(f"{place}: should be a text, found {_brief(content)}")
    texts = []
    for part in content:
        kind, told = mapping(part).get("type"), mapping(part).get("text")
        if kind != "text" or not isinstance(told, str):
            words = f"holds a part of type {_brief(kind)}; only texts can be judged"
            raise TrajectoryError(f"{place}: {words}")
        texts.append(told)
    return "\n".join(texts)


def _embedded(trajectory: Shape, where: str) -> dict[str, Shape]:
    """Return the sub-agent trajectories by id."""
    found: dict[str, Shape] = {}
    for index, value in enumerate(_list(trajectory, "subagent_trajectories", where)):
        place = f"{where}subagent_trajectories[{index}]"
        part = _object(value, place)
        name = part.get("trajectory_id")
        if not isinstance(name, str):
            raise TrajectoryError(f"{place}.trajectory_id: missing; a step must refer to it")
        if name in found:
            raise TrajectoryError(f"{place}: a second sub-agent trajectory is called {name!r}")
        found[name] = part
    return found


def _refuse_calls(part: Shape, place: str) -> None:
    """Refuse a sub-agent with tools: nobody says when its calls reached the environment."""
    if _name(part) == CUSTOMER or extension_of(part).get("kind") == MEMBER:
        return
    for step in _parts(part):
        if mapping(step).get("tool_calls"):
            raise TrajectoryError(
                f"{place} calls tools, and the order of its calls among the others is not "
                "recorded; put them into the steps of the trajectory itself"
            )


def _parts(trajectory: Shape) -> Iterator[object]:
    """Yield the steps of a trajectory and of all below it."""
    yield from _list(trajectory, "steps", "")
    for each in _list(trajectory, "subagent_trajectories", ""):
        yield from _parts(mapping(each))


def _name(trajectory: Shape) -> object:
    return mapping(trajectory, "agent").get("name")


def _object(value: object, place: str) -> JsonDict:
    if not isinstance(value, dict):
        raise TrajectoryError(f"{place}: should be an object, found {_brief(value)}")
    return value


def _list(part: Shape, key: str, place: str) -> list[object]:
    value = part.get(key)
    if value is not None and not isinstance(value, list):
        raise TrajectoryError(f"{place}{key}: should be a list, found {_brief(value)}")
    return value or []


def _brief(value: object) -> str:
    return "nothing" if value is None else repr(excerpt(value, 60))
