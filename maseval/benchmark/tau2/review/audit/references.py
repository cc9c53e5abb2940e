"""Findings about texts that name what does not exist: in a persona, a policy or a document.

Documents of a knowledge base are also compared with each other.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache

from maseval.benchmark.tau2.domains.domain import DomainDocument
from maseval.benchmark.tau2.review.audit.criteria import finding_about
from maseval.benchmark.tau2.review.audit.records import parts_of, texts_in
from maseval.benchmark.tau2.review.audit.subject import (
    AuditedDomain,
    AuditedTask,
    Finding,
    Severity,
    words_of,
)
from maseval.core.words import count_of

_EMAIL = re.compile(r"[\w.+-]+@[\w-]+\.[\w.]*\w")
_PHONE = re.compile(r"\b\d{3}-\d{3}-\d{4}\b")
_ZIP = re.compile(r"zip(?: code)?(?: is)?:? (\d{5})\b", re.IGNORECASE)
_NAME = re.compile(r"\b(?:You are|Your name is) ([A-Z]\w+) ([A-Z]\w+)")
_TOOL_NAME = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")
# Tools that are found by reading have a number at the end, which no other word has.
_FOUND_TOOL = re.compile(r"\b[a-z]+(?:_[a-z0-9]+)+_\d{4}\b")
_FIGURE = re.compile(r"\$\d[\d,]*(?:\.\d+)?|\d+(?:\.\d+)?%|\b\d+ (?:hours?|days?|months?|years?)\b")


def persona_contradictions(task: AuditedTask) -> Iterator[Finding]:
    """Emails, phone numbers, names, zip codes and ids that the database does not have."""
    text, database = task.told, task.audited.text
    for pattern, what in ((_EMAIL, "email address"), (_PHONE, "phone number")):
        for value in dict.fromkeys(pattern.findall(text)):
            if not task.is_in_the_world(value) and not _is_written(task, value):
                severity: Severity = "info" if _is_led_there(task, pattern, value) else "warning"
                yield _contradiction(task, what, value, "no record has it", severity)
    for value, table in _unknown_ids(task):
        yield _contradiction(task, f"id in {table}", value, f"{table} has no such record")
    user = _user_of(task)
    if user is None:
        return
    record = str(user[1]).lower()
    for first, last in dict.fromkeys(_NAME.findall(text)):
        if first.lower() not in record or last.lower() not in record:
            yield _contradiction(task, "name", f"{first} {last}", f"{user[0]} has another name")
    for value in dict.fromkeys(_ZIP.findall(text)):
        if value not in record:
            yield _contradiction(task, "zip code", value, f"{user[0]} lives elsewhere")
    for value in dict.fromkeys(_EMAIL.findall(text)):
        if value.lower() in database.lower() and value.lower() not in record:
            yield _contradiction(task, "email address", value, f"it is not that of {user[0]}")


def _is_led_there(task: AuditedTask, pattern: re.Pattern[str], value: str) -> bool:
    """Tell whether a wrong fact is part of the play: the gold tries it, or a right one is told."""
    tried = any(value in action.arguments.values() for action in task.spec.actions)
    return tried or any(map(task.is_in_the_world, pattern.findall(task.told)))


def strangers(task: AuditedTask) -> Iterator[Finding]:
    """Find people whom the user speaks of and whom no record of the user knows.

    A person whose date of birth is told is new; a name that the database never has is no fact.
    """
    owner = _user_of(task)
    if owner is None:
        return
    known = f"{owner[1]} {task.audited.belongings.get(owner[0], ())}"
    for match in re.finditer(r"\b[A-Z][a-z]+\b", task.told):
        name, after = match[0], task.told[match.end() : match.end() + 60]
        is_new = re.search(r"\d{4}|DOB|born", after)
        if name in task.audited.first_names and name not in known and not is_new:
            why = f"neither {owner[0]} nor a record of theirs has the name"
            yield _contradiction(task, "name", name, why)


_STATUSES = {
    r"\b(?:received|delivered|arrived)\b": "delivered",
    r"\b(?:pending|just placed|just ordered)\b": "pending",
}


def wrong_statuses(task: AuditedTask) -> Iterator[Finding]:
    """Things that the user calls received, or pending, and whose records say otherwise."""
    owner = _user_of(task)
    things = [
        (str(part["name"]), str(record["status"]))
        for record in (task.audited.belongings.get(owner[0], ()) if owner else ())
        if isinstance(record, dict) and "status" in record
        for part in parts_of(record)
        if isinstance(part.get("name"), str)
    ]
    statuses: dict[str, set[str]] = defaultdict(set)
    for thing, status in things:
        statuses[thing].add(status)
    for clause in re.split(r"[.;:!?]\s|,", task.told):
        for pattern, claimed in _STATUSES.items():
            for thing, found in statuses.items() if re.search(pattern, clause) else ():
                named = re.search(rf"\b{re.escape(thing.lower())}\b", clause.lower())
                if named and not any(claimed in status for status in found):
                    why = f"its record says {', '.join(sorted(found))}"
                    yield _contradiction(task, f"status {claimed} of", thing, why, "info")


def _is_written(task: AuditedTask, value: str) -> bool:
    """Tell whether the reference solution puts a value into the records: then it is a new one."""
    writes = (each for each in task.spec.actions if task.setting.may_write(each.call()))
    return any(value in str(action.arguments) for action in writes)


def _contradiction(
    task: AuditedTask, what: str, value: str, why: str, severity: Severity = "warning"
) -> Finding:
    text = f"the user is told the {what} {value!r}, but {why}"
    return finding_about(
        task, "persona contradicts the database", severity, text, fact=what, value=value, why=why
    )


def _unknown_ids(task: AuditedTask) -> Iterator[tuple[str, str]]:
    """Words that look like the ids of a table and are not among them."""
    words = sorted(words_of(task.told))
    start = task.begun()
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


def _user_of(task: AuditedTask) -> tuple[str, object] | None:
    """Return the record of the user: named in the task's words or its reference solution.

    A solution also names a user whose records it names.
    """
    users = task.audited.tables.get("users", {})
    named = [word for word in words_of(task.told) if word in users]
    texts = [text for action in task.spec.actions for _, text in texts_in(action.arguments)]
    named += [text for text in texts if text in users]
    if not named:
        owners = (task.audited.owners.get(text, "") for text in texts)
        named += [owner for owner in owners if owner in users]
    known = dict.fromkeys(named)
    if len(known) != 1:  # nobody, or several people: then no fact can be held against one
        return None
    (user_id,) = known
    return user_id, users[user_id]


def unknown_tools_in_policy(
    audited: AuditedDomain, tasks: Sequence[AuditedTask]
) -> Iterator[Finding]:
    """Names in the policy that are written like tools and are not the agent's."""
    ours = audited.domain.toolkit
    theirs = audited.domain.user_toolkit
    verbs = {
        name.split("_")[0] for kit in (ours, theirs) if kit for name in kit.get_tool_descriptions()
    }
    schemas = [each["function"]["parameters"] for each in ours.definitions()]
    fields = {name for schema in schemas for name in schema.get("properties", {})}
    named = [
        name
        for name in dict.fromkeys(_TOOL_NAME.findall(audited.policy))
        if name.split("_")[0] in verbs and not ours.has_tool(name) and name not in fields
    ]
    users = [name for name in named if theirs is not None and theirs.has_tool(name)]
    if users:
        text = (
            f"it names {count_of(len(users), 'tool')} of the user, which the agent can only ask for"
        )
        yield _in_policy(audited, users, "info", text)
    for name in named:
        if name not in users:
            yield _in_policy(audited, [name], "warning", f"neither side has a tool {name}")


def _in_policy(
    audited: AuditedDomain, names: Sequence[str], severity: Severity, text: str
) -> Finding:
    kind = "policy names an unknown tool"
    return Finding(audited.domain.name, None, kind, severity, text, {"tools": list(names)})


def unknown_tools_in_documents(
    audited: AuditedDomain, tasks: Sequence[AuditedTask]
) -> Iterator[Finding]:
    """Tools that an agent is told to use and that nobody has."""
    kits = [kit for kit in (audited.domain.toolkit, audited.domain.user_toolkit) if kit]
    for document in audited.documents:
        for name in dict.fromkeys(_FOUND_TOOL.findall(document.content)):
            if not any(kit.has_tool(name) for kit in kits):
                text = f"{document.id} ({document.title}) names {name}, which neither side has"
                kind = "document names an unknown tool"
                yield document_finding(audited, tasks, kind, text, document)


def documents_that_disagree(
    audited: AuditedDomain, tasks: Sequence[AuditedTask]
) -> Iterator[Finding]:
    """Documents of one title, each with figures that the other does not have.

    Two accounts may well have different terms under one title.
    """
    by_title: dict[str, list[DomainDocument]] = defaultdict(list)
    for document in audited.documents:
        by_title[document.title].append(document)
    for title, (first, *others) in by_title.items():
        for other in others:
            mine, theirs = _figures(first), _figures(other)
            if "_accounts_" in first.id and "_accounts_" in other.id:
                continue
            if mine - theirs and theirs - mine:
                text = (
                    f"both {first.id} and {other.id} have the title {title!r}; only the former "
                    f"has {_join(mine - theirs)}, only the latter {_join(theirs - mine)}"
                )
                kind = "documents in conflict"
                yield document_finding(audited, tasks, kind, text, first, other)


def _figures(document: DomainDocument) -> set[str]:
    return set(_FIGURE.findall(document.content))


def _join(figures: set[str]) -> str:
    return ", ".join(sorted(figures))


def document_finding(
    audited: AuditedDomain,
    tasks: Sequence[AuditedTask],
    kind: str,
    text: str,
    *documents: DomainDocument,
) -> Finding:
    """Return a finding about documents, with the tasks that say they need one of them."""
    names = [document.id for document in documents]
    needing = [
        task.id for task in tasks if set(names) & set(task.raw.get("required_documents") or ())
    ]
    evidence = {"documents": names, "tasks": needing}
    return Finding(audited.domain.name, None, kind, "warning", text, evidence)
