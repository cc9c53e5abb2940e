"""Findings about ids that nobody can know from the task, the policy and the tools."""

import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from maseval.benchmark.tau2.domains.base import ToolKitBase, ToolType
from maseval.benchmark.tau2.review.audit.criteria import finding_about
from maseval.benchmark.tau2.review.audit.subject import AuditedTask, Finding, Severity, words_of
from maseval.benchmark.tau2.world.world import to_json_str

_MOST_COMBINATIONS = 64


def ids_nobody_can_know(task: AuditedTask) -> Iterator[Finding]:
    """Ids in the reference solution that no text has and no reading tool ever returns."""
    wanted = {value for action in task.spec.actions for value in _ids(action.arguments)}
    for value in sorted(Reader(task).never_learns(wanted)) if wanted else ():
        text = f"{value!r} is in no text and in no answer of a reading tool"
        actions = [a.action_id for a in task.spec.actions if value in [*_ids(a.arguments)]]
        severity: Severity = "info" if value.lstrip("#") in words_of(task.told) else "warning"
        yield finding_about(task, "id nobody can know", severity, text, id=value, actions=actions)


def details_nobody_gives(task: AuditedTask) -> Iterator[Finding]:
    """Names, dates of birth and addresses that no text and no one answer has together."""
    groups = [
        (action, texts)
        for action in task.spec.actions
        if task.setting.may_write(action.call())
        for texts in _details(action.arguments)
        if not _are_told(texts, task.told)
    ]
    if not groups:
        return
    records = [each for text in Reader(task).read_all() for each in _records_in(text)]
    every = {each for _, texts in groups for each in texts}
    told = {each for each in every if _are_told(frozenset({each}), task.told)}
    for action, texts in groups:
        if not any(texts <= record | told for record in records):
            nearest = max(records, key=lambda record: len(texts & record), default=frozenset())
            near = sorted(texts - nearest - told)
            yield finding_about(
                task,
                "details nobody gives",
                "error",
                f"{action.name} has {', '.join(sorted(texts))}, which neither the user nor one "
                f"answer of a tool has; the nearest record lacks {', '.join(near)}",
                action_id=action.action_id,
                tried=["every reading tool with all that is known"],
                happened=f"no record with {', '.join(near)} beside the rest",
            )


def _details(arguments: Mapping[str, object]) -> Iterator[frozenset[str]]:
    """Yield the texts that describe one thing: a person's, or an address's."""
    described = {
        value
        for value in arguments.values()
        if isinstance(value, str) and value and not any(True for _ in _ids(value) if "_" in value)
    }
    if "address1" in arguments:
        yield frozenset(each.lower() for each in described if not each.startswith("#"))
    for value in arguments.values():
        for each in value if isinstance(value, list) else ():
            texts = [v for v in each.values() if isinstance(v, str)] if type(each) is dict else []
            if len(texts) > 2:
                yield frozenset(text.lower() for text in texts)


def _are_told(texts: frozenset[str], told: str) -> bool:
    lowered = told.lower()
    return all(len(each) < 4 or each in lowered for each in texts)


def _records_in(answer: str) -> Iterator[frozenset[str]]:
    try:
        yield from _records(json.loads(answer))
    except ValueError:
        return


def _records(value: Any) -> Iterator[frozenset[str]]:
    """Yield the texts of each record in an answer, with those of what lies right in it."""
    if isinstance(value, dict):
        inner = [each for each in value.values() if isinstance(each, dict)]
        texts = [text for each in (value, *inner) for text in each.values()]
        yield frozenset(text.lower() for text in texts if isinstance(text, str))
    for each in value.values() if isinstance(value, dict) else value:
        if isinstance(each, dict | list):
            yield from _records(each)


def _ids(value: object) -> Iterator[str]:
    """Yield the texts that are ids: one word with a digit, four characters or more, no date."""
    match value:
        case str() if re.fullmatch(r"#?\w*\d\w*", value) and len(value) >= 4:
            yield value
        case dict():
            for each in value.values():
                yield from _ids(each)
        case list():
            for each in value:
                yield from _ids(each)


class _Tool(NamedTuple):
    """A reading tool of one side, and the arguments it cannot do without."""

    name: str
    parameters: Sequence[str]
    ask: Callable[..., object]


class Reader:
    """A reader that tries ever more sources, cheapest first, until all wanted ids are known."""

    def __init__(self, task: AuditedTask) -> None:
        self._task = task
        self._world = task.begun()
        self._asked: set[str] = set()
        self._heard: list[str] = []
        self._known: set[str] = set()
        self.gold_answers: list[str] = []

    def never_learns(self, wanted: set[str]) -> set[str]:
        """Return the ids that stay unknown when everything is read that can be."""
        steps: tuple[Callable[[set[str]], None], ...] = (
            self._read_the_texts,
            self._follow_the_gold,
            self._read_by_id,
            self._read_by_word,
            self._read_without_arguments,
            self._search,
        )
        for step in steps:
            if not wanted:
                break
            step(wanted)
            unknown = wanted - self._known
            wanted = {each for each in unknown if not any(each in text for text in self._heard)}
        return wanted

    def hear_all(self) -> list[str]:
        """Return the answers to all that can be asked, and then to the gold's calls."""
        self.read_all()
        self._follow_the_gold(set())
        return self._heard

    def read_all(self) -> list[str]:
        """Return the answers to all that can be asked by what is known."""
        self._known |= words_of(self._task.told)
        self._known |= {word for a in self._task.spec.actions for word in _ids(a.arguments)}
        for step in (self._read_by_id, self._read_by_word, self._read_without_arguments):
            step(set())
        return list(self._heard)

    def _hear(self, text: str) -> None:
        self._heard.append(text)
        self._known |= words_of(text)

    def _read_the_texts(self, wanted: set[str]) -> None:
        self._hear(self._task.told)
        self._hear(self._task.audited.policy)

    def _follow_the_gold(self, wanted: set[str]) -> None:
        """Read the answers to the gold's own calls: writes make ids that are then known."""
        for action in self._task.spec.actions:
            answer = self._world.respond(action.call())
            if not answer["error"]:
                self._hear(answer["content"] or "")
                self.gold_answers.append(answer["content"] or "")

    def _read_by_id(self, wanted: set[str]) -> None:
        """Ask for every record whose id is known, and for those that become known by that."""
        keys = {key for table in self._task.audited.tables.values() for key in table}
        while fresh := (self._known - self._asked) & keys:
            self._ask_about(fresh)

    def _read_by_word(self, wanted: set[str]) -> None:
        """Ask with what the user knows: a phone number, an email address."""
        words = {word for word in words_of(self._task.told) if re.search(r"[\d@]", word)}
        self._ask_about(words - self._asked)
        self._read_by_id(wanted)

    def _ask_about(self, words: set[str]) -> None:
        self._asked |= words
        for tool in self._tools:
            if len(tool.parameters) == 1:
                for word in sorted(words):
                    self._try(tool, {tool.parameters[0]: word})

    def _read_without_arguments(self, wanted: set[str]) -> None:
        for tool in self._tools:
            if not tool.parameters:
                self._try(tool, {})
        self._read_by_id(wanted)

    def _search(self, wanted: set[str]) -> None:
        """Look with tools of several arguments, taking these from the record itself."""
        tools = [tool for tool in self._tools if len(tool.parameters) > 1]
        for value, tool in product(sorted(wanted), tools):
            for arguments in self._guesses(tool, value):
                self._try(tool, arguments)

    def _guesses(self, tool: _Tool, value: str) -> Iterator[Mapping[str, object]]:
        sources = [table[value] for table in self._task.audited.tables.values() if value in table]
        sources += [action.arguments for action in self._task.spec.actions]
        choices = [
            list(dict.fromkeys(each for source in sources for each in _values_named(key, source)))
            for key in tool.parameters
        ]
        for number, combination in enumerate(product(*choices)):
            if number >= _MOST_COMBINATIONS:
                return
            yield dict(zip(tool.parameters, combination, strict=True))

    def _try(self, tool: _Tool, arguments: Mapping[str, object]) -> None:
        answer = self._ask(tool, arguments)
        if answer is not None:
            self._hear(answer)

    def _ask(self, tool: _Tool, arguments: Mapping[str, object]) -> str | None:
        """Return an answer; before anything was written, tasks that begin alike share it."""
        answers = self._task.audited.answers if not self.gold_answers else {}
        key = (self._task.spec.start.key, tool.name, tuple(arguments.items()))
        if key not in answers:
            try:
                answers[key] = to_json_str(tool.ask(**arguments))
            except Exception:  # a tool that does not know the word
                answers[key] = None
        return answers[key]

    @property
    def _tools(self) -> list[_Tool]:
        kits = (self._world.tools, self._world.user_tools)
        return [tool for kit in kits if kit is not None for tool in _readers(kit)]


def _readers(kit: ToolKitBase[Any]) -> Iterator[_Tool]:
    for name, method in kit.tools.items():
        if kit.tool_type(name) is ToolType.READ:
            parameters = inspect.signature(method).parameters.values()
            required = [each.name for each in parameters if each.default is each.empty]
            yield _Tool(name, required, method)


def _values_named(key: str, value: object) -> Iterator[object]:
    match value:
        case dict():
            for name, each in value.items():
                if name == key and isinstance(each, str):
                    yield each
                yield from _values_named(key, each)
        case list():
            for each in value:
                yield from _values_named(key, each)
