"""The form of the tasks of one's own domain: what a file can have wrong before anything is played.

A field in the wrong place is not an error to whoever reads the file, it is just never read. The
published tasks are not looked at here: their peculiarities are errata.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from maseval.benchmark.tau2.formats.message import STOP_TOKENS
from maseval.benchmark.tau2.formats.simulation import RawTask
from maseval.benchmark.tau2.review.audit.audited import AuditedDomain, Severity, TaskFinding
from maseval.benchmark.tau2.world.tasks import RewardType
from maseval.core.words import count_of, excerpt

_TASK = {
    "id",
    "description",
    "user_scenario",
    "ticket",
    "initial_state",
    "evaluation_criteria",
    "annotations",
    "user_tools",
    "required_documents",
    "issues",
    "metadata",
}
_SCENARIO = {"persona", "instructions"}
_TOLD = ("reason_for_call", "known_info", "unknown_info", "task_instructions")
_CRITERIA = {"actions", "env_assertions", "communicate_info", "nl_assertions", "reward_basis"}
_START = {"initialization_data", "initialization_actions", "message_history"}
_ACTION = {"action_id", "name", "arguments", "requestor", "info", "compare_args"}
_NEEDED = {
    RewardType.ENV_ASSERTION: "env_assertions",
    RewardType.NL_ASSERTION: "nl_assertions",
    RewardType.ACTION: "actions",
    RewardType.COMMUNICATE: "communicate_info",
}
Problem = tuple[Severity, str]
"""A severity, and words."""


def faults_of_forms(audited: AuditedDomain, tasks: Sequence[RawTask]) -> Iterator[TaskFinding]:
    """Yield what is wrong with the form of tasks, the ids of all of them included."""
    for task_id, times in Counter(map(_name_of, tasks)).items():
        # An entry that is not a task has no id; it is reported below by its position.
        if task_id == "?":
            continue
        if not task_id:
            text = f"{count_of(times, 'task')} without an id"
            yield audited.finding("task is malformed", "error", text)
        elif times > 1:
            text = f"{count_of(times, 'task')} have the id {task_id!r}; a run refuses them"
            yield audited.finding("task is malformed", "error", text, task_id=task_id)
    for place, raw in enumerate(tasks):
        if not isinstance(raw, Mapping):
            text = f"entry {place} of the list is {excerpt(raw)}, not a task"
            yield audited.finding("task is malformed", "error", text)
            continue
        for severity, text in _problems(audited, raw):
            name = str(raw.get("id") or "")
            yield audited.finding("task is malformed", severity, text, task_id=name or None)


def _name_of(raw: object) -> str:
    return str(raw.get("id") or "") if isinstance(raw, Mapping) else "?"


def _problems(audited: AuditedDomain, raw: RawTask) -> Iterator[Problem]:
    looks: tuple[Callable[[AuditedDomain, RawTask], Iterator[Problem]], ...] = (
        _id,
        _scenario,
        _criteria,
        _actions,
        _start,
    )
    yield from _unknown(raw, _TASK, "the task")
    for look in looks:
        yield from look(audited, raw)


def _id(audited: AuditedDomain, raw: RawTask) -> Iterator[Problem]:
    given = raw.get("id")
    if given is not None and not isinstance(given, str):
        yield "warning", f"its id is {given!r}, not a text; write it in quotes"
    elif given and given != given.strip():
        yield "warning", f"its id {given!r} begins or ends with white space"


def _scenario(audited: AuditedDomain, raw: RawTask) -> Iterator[Problem]:
    given: Any = raw.get("user_scenario")
    if not isinstance(given, Mapping):
        if not raw.get("ticket"):
            yield "error", "it has no user_scenario, so the customer's model is told 'None'"
        return
    yield from _unknown(given, _SCENARIO, "user_scenario")
    told = given.get("instructions")
    texts = {"instructions": told} if isinstance(told, str) else {}
    # Instructions are one text or a form with parts, and only the form has names to get wrong.
    if isinstance(told, Mapping):
        texts = {name: told[name] for name in _TOLD if told.get(name) is not None}
        yield from _unknown(told, {"domain", *_TOLD}, "instructions")
        yield from _instructions(audited, told)
    if not any(str(text).strip() for text in texts.values()):
        yield "error", "its instructions are empty, so the customer's model is told nothing"
    for name, text in texts.items():
        if not isinstance(text, str):
            yield "error", f"{name} is {excerpt(text)}, not a text"
        elif found := next((token for token in STOP_TOKENS if token in text), None):
            yield "error", f"{name} has {found}, which ends the conversation when it is said"


def _instructions(audited: AuditedDomain, told: Mapping[str, Any]) -> Iterator[Problem]:
    named = told.get("domain")
    if named not in (None, "", audited.domain.name):
        yield "warning", f"its instructions name the domain {named!r}"
    if any(told.get(name) is not None for name in _TOLD) and not told.get("reason_for_call"):
        yield "warning", "its instructions have no reason_for_call: why does the customer call?"


def _criteria(audited: AuditedDomain, raw: RawTask) -> Iterator[Problem]:
    given = raw.get("evaluation_criteria")
    if not isinstance(given, Mapping):
        return  # a finding of its own
    yield from _unknown(given, _CRITERIA, "evaluation_criteria")
    for name in ("communicate_info", "nl_assertions"):
        yield from _texts(name, given.get(name))
    basis = given.get("reward_basis")
    if basis is not None and not basis:
        yield "error", "its reward_basis is empty, so every agent passes"
    if isinstance(basis, list):
        yield from _basis(given, basis)


def _texts(name: str, texts: object) -> Iterator[Problem]:
    if isinstance(texts, str):
        yield "error", f"{name} is a text, not a list of texts"
    counts = Counter(map(str, texts if isinstance(texts, list) else ()))
    if any(not text.strip() for text in counts):
        yield "error", f"{name} has an empty text"
    for text, times in counts.items():
        if times > 1:
            yield "warning", f"{name} has {text!r} {times} times"


def _basis(given: Mapping[str, Any], basis: Sequence[Any]) -> Iterator[Problem]:
    for kind in basis:
        if (needed := _NEEDED.get(kind)) and not given.get(needed):
            yield "warning", f"its reward_basis has {kind}, but {needed} is empty"
    for kind, name in _NEEDED.items():
        # Actions are often written down as the way to the end state, and not to be compared.
        if given.get(name) and kind not in basis and kind is not RewardType.ACTION:
            yield "warning", f"it has {name}, but its reward_basis has no {kind.value}"


def _actions(audited: AuditedDomain, raw: RawTask) -> Iterator[Problem]:
    criteria = raw.get("evaluation_criteria")
    actions = criteria.get("actions") if isinstance(criteria, Mapping) else None
    if not isinstance(actions, list):
        return
    known = [each for each in actions if isinstance(each, Mapping)]
    for action_id, times in Counter(str(each.get("action_id")) for each in known).items():
        if times > 1:
            yield "error", f"{count_of(times, 'action')} have the action_id {action_id!r}"
    for each in known:
        where = f"action {each.get('action_id')!r}"
        yield from _unknown(each, _ACTION, where)
        if not isinstance(each.get("arguments", {}), Mapping):
            yield "error", f"the arguments of {where} are no object"
            continue
        by_user = each.get("requestor") == "user"
        world = audited.world
        kit = world.user_tools if by_user else world.tools
        if kit is None or not kit.has_tool(str(each.get("name"))):
            who = "customer" if by_user else "agent"
            yield (
                "error",
                f"{where} calls {each.get('name')!r}, which the {who} does not have",
            )
            continue
        schema = next(
            one["function"]["parameters"]
            for one in kit.definitions()
            if one["function"]["name"] == each["name"]
        )
        lacking = [n for n in schema.get("required", ()) if n not in each.get("arguments", {})]
        if lacking:
            yield "error", f"{where} calls {each['name']} without {', '.join(lacking)}"
        for name in each.get("compare_args") or ():
            if name not in schema.get("properties", {}):
                yield "error", f"{where} compares {name!r}, which {each['name']} does not take"


def _start(audited: AuditedDomain, raw: RawTask) -> Iterator[Problem]:
    given = raw.get("initial_state")
    if isinstance(given, Mapping):
        yield from _unknown(given, _START, "initial_state")
    elif given is not None:
        yield "error", f"its initial_state is {excerpt(given)}, not an object"


def _unknown(given: Mapping[str, Any], known: set[str], where: str) -> Iterator[Problem]:
    for name in given:
        if name not in known:
            alike = get_close_matches(str(name), known, n=1)
            hint = f"; did you mean {alike[0]!r}?" if alike else ""
            yield "warning", f"{where} has {name!r}, which nobody reads{hint}"
