"""Findings about what nobody can know, and about texts that name what does not exist.

Ids of the reference solution and texts that the agent must say; facts of a persona, and tools in a
policy or a document.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product

from maseval.benchmark.tau2.formats.message import render_call
from maseval.benchmark.tau2.review.audit.audited import (
    AuditedDomain,
    AuditedTask,
    ReadingTool,
    Severity,
    TaskFinding,
    reading_tools,
    texts_in,
)
from maseval.benchmark.tau2.world.world import to_json_str


def ids_nobody_can_know(task: AuditedTask) -> Iterator[TaskFinding]:
    """Ids in the reference solution that no text has and no reading tool ever returns."""
    reader = Reader(task)
    reader.follow_the_gold()
    wanted = {v for action in task.spec.actions for v in _ids(action.arguments)}
    unknown = {value for value in wanted if not reader.knows(value)}
    if unknown:  # which is rare, and reading all takes its time
        reader.read_all()
    for value in sorted(each for each in unknown if not reader.knows(each)):
        text = f"{value!r} appears in no text and in no answer of a reading tool"
        # The user is told the id without its ``#``, which an agent may well add.
        severity: Severity = "info" if value.lstrip("#") in _words_of(task.scenario) else "warning"
        calls = (a.call() for a in task.spec.actions if value in [*_ids(a.arguments)])
        yield task.finding("id nobody can know", severity, text, call=render_call(next(calls)))


def texts_in_no_answer(task: AuditedTask) -> Iterator[TaskFinding]:
    """Read all that can be read, carry out the gold, and look for what must be said."""
    wanted = task.texts_to_say
    if not wanted:
        return
    reader = Reader(task)
    reader.known |= {word for action in task.spec.actions for word in _ids(action.arguments)}
    reader.read_all()
    reader.follow_the_gold()
    # Scoring also removes commas from what the agent says.
    answers = [text.lower().replace(",", "") for text in reader.heard]
    for info in wanted:
        sought = info.lower()
        if any(_has_word(text, sought) for text in answers):
            continue
        severity: Severity = "warning"
        if not re.fullmatch(r"\d+(?:\.\d+)?", sought):
            text = f"the agent must say {info!r}, but no tool answer contains it"
        # Tools answer 12.5, and the text that is compared may be 12.50.
        elif sought.endswith("0") and any(_has_word(text, str(float(sought))) for text in answers):
            text = f"the agent must say {info!r}; repeating {float(sought)} from the tools fails"
        else:
            severity = "info"
            text = f"the agent must say {info!r}, which no tool answers: it has to be worked out"
        tried = "tried: every reading tool with all that is known, and the calls of the gold"
        happened = f"happened: {len(answers)} answers, none with {info!r}"
        yield task.finding("text is in no answer", severity, text, tried, happened)


def _words_of(text: str) -> set[str]:
    return {*re.findall(r"#?[\w@.+-]*\w", text)}


def _has_word(text: str, sought: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(sought)}(?![\w]|\.\d)", text) is not None


# Short words and dates are left out: too many texts have them by chance.
def _ids(value: object) -> Iterator[str]:
    words = (text for text in texts_in(value) if re.fullmatch(r"#?\w*\d\w*", text))
    return (word for word in words if len(word) >= 4)


class Reader:
    """A reader that asks for all that can be asked with what is known, and keeps the answers."""

    def __init__(self, task: AuditedTask) -> None:
        self._task = task
        self._world = task.new_world()
        self._tools = list(reading_tools(self._world))
        self._asked: set[str] = set()
        self._gold_is_played = False
        self.heard: list[str] = []
        self.known = _words_of(task.scenario) | _words_of(task.audited.policy)

    def read_all(self) -> None:
        """Read by ids and words, and with tools that need none."""
        keys = {key for table in self._task.audited.tables.values() for key in table}
        words = {word for word in _words_of(self._task.scenario) if re.search(r"[\d@]", word)}
        for tool in self._tools:
            if not tool.parameters:
                self._ask(tool, {})
        # Answers name further ids, so it goes on until they name nothing new.
        while fresh := (self.known & (keys | words)) - self._asked:
            self._asked |= fresh
            for tool, word in product(self._tools, sorted(fresh)):
                # Tools with several parameters would have to be asked for every combination of
                # words.
                if len(tool.parameters) == 1:
                    self._ask(tool, {tool.parameters[0]: word})

    def follow_the_gold(self) -> None:
        """Read the answers to the gold's own calls: writes make ids that are then known."""
        self._gold_is_played = True
        for action in self._task.spec.actions:
            answer = self._world.respond(action.call())
            if not answer["error"]:
                self._hear(answer["content"] or "")

    def knows(self, value: str) -> bool:
        return value in self.known or any(value in text for text in self.heard)

    def _hear(self, text: str) -> None:
        self.heard.append(text)
        self.known |= _words_of(text)

    # Before anything is written, tasks that begin alike get the same answers, which are kept.
    def _ask(self, tool: ReadingTool, arguments: Mapping[str, object]) -> None:
        answers = {} if self._gold_is_played else self._task.audited.answers
        key = (self._task.spec.start.key, tool.name, tuple(arguments.items()))
        if key not in answers:
            try:
                answers[key] = to_json_str(tool.ask(**arguments))
            except Exception:  # a tool that does not know the word
                answers[key] = None
        if (answer := answers[key]) is not None:
            self._hear(answer)


_EMAIL = re.compile(r"[\w.+-]+@[\w-]+\.[\w.]*\w")
_PHONE = re.compile(r"\b\d{3}-\d{3}-\d{4}\b")
_TOOL_NAME = re.compile(r"\b[a-z]+(?:_[a-z0-9]+)+\b")
_NUMBERED = re.compile(r"_\d{4}$")


def persona_contradictions(task: AuditedTask) -> Iterator[TaskFinding]:
    """Emails, phone numbers and ids that the database does not have."""
    for pattern, what in ((_EMAIL, "email address"), (_PHONE, "phone number")):
        for value in dict.fromkeys(pattern.findall(task.scenario)):
            if not task.is_in_the_world(value) and not _is_written(task, value):
                severity: Severity = "info" if _is_led_there(task, pattern, value) else "warning"
                yield _contradiction(task, what, value, "no record has it", severity)
    for value, table in _unknown_ids(task):
        yield _contradiction(task, f"id in {table}", value, f"{table} has no such record")


# A wrong fact may be meant: then the gold tries it, or the user is told a right one as well.
def _is_led_there(task: AuditedTask, pattern: re.Pattern[str], value: str) -> bool:
    tried = any(value in action.arguments.values() for action in task.spec.actions)
    return tried or any(map(task.is_in_the_world, pattern.findall(task.scenario)))


# What the reference solution writes is a new value, such as a changed address.
def _is_written(task: AuditedTask, value: str) -> bool:
    writes = (each for each in task.spec.actions if task.setting.may_write(each.call()))
    return any(value in str(action.arguments) for action in writes)


def _contradiction(
    task: AuditedTask, what: str, value: str, why: str, severity: Severity = "warning"
) -> TaskFinding:
    return task.finding(
        "persona contradicts the database",
        severity,
        f"the user is told the {what} {value!r}, but {why}",
    )


def _unknown_ids(task: AuditedTask) -> Iterator[tuple[str, str]]:
    words = sorted(_words_of(task.scenario))
    start = task.new_world()
    for name, table in task.audited.tables.items():
        shape = _shape(task.audited, name)
        alike = [word for word in words if shape and shape.fullmatch(word) and word not in table]
        for word in alike:
            if word not in task.audited.text and word not in str(start.state()):
                yield word, name


# Tables whose ids differ in form, or have no digits, say nothing about a word that is no id.
@lru_cache(maxsize=256)
def _shape(audited: AuditedDomain, table: str) -> re.Pattern[str] | None:
    keys = audited.tables[table]
    digits = {re.sub(r"\d", "9", key) for key in keys}
    if len(digits) == 1:
        pattern = re.escape(digits.pop())
    else:
        # Ids such as mia_li_3668 differ in the lengths of their names, and still have one form.
        letters = {re.sub("[a-z]+", "w", each) for each in digits}
        if len(letters) != 1:
            return None
        pattern = re.escape(letters.pop()).replace("w", "[a-z]+")
    pattern = pattern.replace("9", r"\d")
    return re.compile(pattern) if r"\d" in pattern else None


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
