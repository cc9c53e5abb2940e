"""Findings about texts that name what does not exist: in a persona, a policy or a document."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from maseval.benchmark.tau2.review.audit.audited import (
    AuditedDomain,
    AuditedTask,
    Severity,
    TaskFinding,
)
from maseval.benchmark.tau2.review.audit.values import texts_in, words_of

_EMAIL = re.compile(r"[\w.+-]+@[\w-]+\.[\w.]*\w")
_PHONE = re.compile(r"\b\d{3}-\d{3}-\d{4}\b")
_TOOL_NAME = re.compile(r"\b[a-z]+(?:_[a-z0-9]+)+\b")
_NUMBERED = re.compile(r"_\d{4}$")
_MAKES_SURE = re.compile(r"\b[Mm]ake sure [^.!?\n]*")
_ITEM = re.compile(
    r"""["'](\w+)["']: ["'](\$ ?\d[\d,.]*|\d[\d,.]* ?(?:points|dollars|miles|USD|GB|%))["']"""
)
_BOTH = re.compile(
    r"\b(cancel|return|exchange|book|open|close|order|change|modify)\b[^.]*\bboth\b", re.I
)
# Words by which the user gives the people of a booking, or the booking that has them already.
_PEOPLE = re.compile(
    r"\b(?:passengers?|people|persons?|travell?ers?|alone|(?:for|just|only) (?:yourself|him|her)"
    r"|friends?|wife|husband|son|daughter|kids?|child|children|family|mother|father|parents?"
    r"|partner|brother|sister|reservations?|(?:exact )?same|upcoming)\b",
    re.I,
)


def persona_contradictions(task: AuditedTask) -> Iterator[TaskFinding]:
    """Emails, phone numbers and ids that the database does not have."""
    for pattern, what in ((_EMAIL, "email address"), (_PHONE, "phone number")):
        for value in dict.fromkeys(pattern.findall(task.scenario)):
            if not task.is_in_the_world(value) and not _is_written(task, value):
                severity: Severity = "info" if _is_led_there(task, pattern, value) else "warning"
                yield _contradiction(task, what, value, "no record has it", severity)
    for value, table in _unknown_ids(task):
        yield _contradiction(task, f"id in {table}", value, f"{table} has no such record")


def wishes_not_done(task: AuditedTask) -> Iterator[TaskFinding]:
    """Find a wish for both of two things of which the reference solution does none."""
    named = " ".join(action.name for action in task.spec.actions)
    for sentence in _MAKES_SURE.findall(task.scenario):
        verb = _BOTH.search(sentence)
        if verb and verb[1].lower() not in named:
            text = f"the user is told {sentence.strip()!r}, and the gold has no such call"
            yield task.finding("wish is not carried out", "warning", text)


def tickets_without_amounts(task: AuditedTask) -> Iterator[TaskFinding]:
    """Find a number of the reference solution that the user is told and the ticket leaves out."""
    ticket = str(task.raw.get("ticket") or "")
    told = "\n".join(text for _, text in texts_in(task.raw.get("user_scenario")))
    for action in task.spec.actions if ticket else ():
        for name, value in action.arguments.items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            number = re.compile(rf"(?<![\w.]){value:g}(?:\.0+)?(?![\w.]*\d)")
            if number.search(told) and not number.search(ticket):
                text = (
                    f"{action.name} has {name} {value:g}, which the user is told, and the ticket "
                    "of an agent that works alone does not say"
                )
                yield task.finding("ticket leaves something out", "info", text)


def amounts_as_texts(task: AuditedTask) -> Iterator[TaskFinding]:
    """Find an amount of the reference solution that is a text: as a number it would fail."""
    for action in task.spec.actions:
        for name, value in _ITEM.findall(str(action.arguments).replace("\\", "")):
            text = f"{action.name} has {name} {value!r}, which is compared as a text"
            yield task.finding("free text is compared", "info", text)


def people_not_counted(task: AuditedTask) -> Iterator[TaskFinding]:
    """Find people in a write of the reference solution whom the user's words do not count."""
    for action in task.spec.actions if not _PEOPLE.search(task.scenario) else ():
        for name, value in action.arguments.items():
            first = value[0] if isinstance(value, list) and value else None
            if isinstance(first, dict) and {"first_name", "last_name"} <= first.keys():
                text = (
                    f"{action.name} has {len(value)} in {name}, and the user is not told how many"
                )
                yield task.finding("number is not told", "info", text)


def _is_led_there(task: AuditedTask, pattern: re.Pattern[str], value: str) -> bool:
    """Return True if a wrong fact is meant: the gold tries it, or a right one is told as well."""
    tried = any(value in action.arguments.values() for action in task.spec.actions)
    return tried or any(map(task.is_in_the_world, pattern.findall(task.scenario)))


def _is_written(task: AuditedTask, value: str) -> bool:
    """Return True if the reference solution puts a value into the records: then it is a new one."""
    writes = (each for each in task.spec.actions if task.setting.may_write(each.call()))
    return any(value in str(action.arguments) for action in writes)


def _contradiction(
    task: AuditedTask, what: str, value: str, why: str, severity: Severity = "warning"
) -> TaskFinding:
    text = f"the user is told the {what} {value!r}, but {why}"
    return task.finding("persona contradicts the database", severity, text)


def _unknown_ids(task: AuditedTask) -> Iterator[tuple[str, str]]:
    """Words that look like the ids of a table and are not among them."""
    words = sorted(words_of(task.scenario))
    start = task.new_world()
    for name, table in task.audited.tables.items():
        shape = _shape(task.audited, name)
        alike = [word for word in words if shape and shape.fullmatch(word) and word not in table]
        for word in alike:
            if word not in task.audited.text and word not in str(start.state()):
                yield word, name


@lru_cache(maxsize=256)
def _shape(audited: AuditedDomain, table: str) -> re.Pattern[str] | None:
    """Return a pattern for the ids of a table, or None if they differ in form or have no digits."""
    digits = {re.sub(r"\d", "9", key) for key in audited.tables[table]}
    for shapes, letters in ((digits, ""), ({re.sub("[a-z]+", "w", d) for d in digits}, "w")):
        if len(shapes) == 1:
            pattern = re.escape(shapes.pop()).replace("9", r"\d")
            pattern = pattern.replace("w", "[a-z]+") if letters else pattern
            return re.compile(pattern) if r"\d" in pattern else None
    keys = audited.tables[table]
    lengths = {len(key) for key in keys}
    if len(lengths) == 1 and all(re.fullmatch(r"[A-Z0-9]+", key) for key in keys):
        return re.compile(rf"(?=.*\d)(?=.*[A-Z])[A-Z0-9]{{{lengths.pop()}}}")
    return None


def unknown_tools(audited: AuditedDomain, tasks: Sequence[AuditedTask]) -> Iterator[TaskFinding]:
    """Names in the policy and the documents that are written like tools and are none."""
    kits = [kit for kit in (audited.domain.toolkit, audited.domain.user_toolkit) if kit]
    tools = {name for kit in kits for name in kit.all_tools()}
    schemas = [each["function"]["parameters"] for kit in kits for each in kit.definitions()]
    fields = {name for schema in schemas for name in schema.get("properties", {})}
    # Tools that are found by reading may be numbered, by which they are told from other words.
    verbs, numbered = {name.split("_")[0] for name in tools}, any(map(_NUMBERED.search, tools))
    documents = {document.id: document.content for document in audited.documents}
    for place, text in {"the policy": audited.policy, **documents}.items():
        for name in dict.fromkeys(_TOOL_NAME.findall(text)):
            alike = _NUMBERED.search(name) if numbered else name.split("_")[0] in verbs
            if alike and name not in tools | fields:
                found = f"{place} names {name}, which neither side has"
                yield audited.finding("unknown tool is named", "warning", found)
