"""Findings about what nobody can know from the task, the policy and the tools.

That are ids of the reference solution, and texts that the agent must say.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import product

from maseval.benchmark.tau2.formats.message import render_call
from maseval.benchmark.tau2.review.audit.audited import (
    AuditedTask,
    ReadingTool,
    Severity,
    TaskFinding,
    reading_tools,
)
from maseval.benchmark.tau2.review.audit.values import parts_of, texts_in, words_of
from maseval.benchmark.tau2.world.tasks import RewardType
from maseval.benchmark.tau2.world.world import to_json_str

_MOST_COMBINATIONS = 64


def ids_nobody_can_know(task: AuditedTask) -> Iterator[TaskFinding]:
    """Ids in the reference solution that no text has and no reading tool ever returns."""
    wanted = {value for action in task.spec.actions for value in _ids(action.arguments)}
    for value in sorted(Reader(task).never_learns(wanted)) if wanted else ():
        text = f"{value!r} appears in no text and in no answer of a reading tool"
        severity: Severity = "info" if value.lstrip("#") in words_of(task.scenario) else "warning"
        calls = (a.call() for a in task.spec.actions if value in [*_ids(a.arguments)])
        yield task.finding("id nobody can know", severity, text, call=render_call(next(calls)))


def texts_in_no_answer(task: AuditedTask) -> Iterator[TaskFinding]:
    """Read all that can be read, carry out the gold, and look for what must be said."""
    wanted = (task.criteria and task.criteria.communicate_info) or ()
    if not wanted or not task.counts(RewardType.COMMUNICATE):
        return
    answers = [text.lower().replace(",", "") for text in Reader(task).hear_all()]
    for info in wanted:
        sought = info.lower()
        if any(_has_word(text, sought) for text in answers):
            continue
        severity: Severity = "warning"
        if not re.fullmatch(r"\d+(?:\.\d+)?", sought):
            text = f"the agent must say {info!r}, but no tool answer contains it"
        elif sought.endswith("0") and any(_has_word(text, str(float(sought))) for text in answers):
            text = f"the agent must say {info!r}; repeating {float(sought)} from the tools fails"
        else:
            severity = "info"
            text = f"the agent must say {info!r}, which no tool answers: it has to be worked out"
        tried = "tried: every reading tool with all that is known, and the calls of the gold"
        happened = f"happened: {len(answers)} answers, none with {info!r}"
        yield task.finding("text is in no answer", severity, text, tried, happened)


def _has_word(text: str, sought: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(sought)}(?![\w]|\.\d)", text) is not None


def _ids(value: object) -> Iterator[str]:
    """Yield the texts that are ids: one word with a digit, four characters or more, no date."""
    texts = (text for _, text in texts_in(value))
    return (text for text in texts if len(text) >= 4 and re.fullmatch(r"#?\w*\d\w*", text))


class Reader:
    """A reader that tries ever more sources, cheapest first, until all wanted ids are known."""

    def __init__(self, task: AuditedTask) -> None:
        self._task = task
        self._world = task.new_world()
        self._asked: set[str] = set()
        self._heard: list[str] = []
        self._known: set[str] = set()
        self._gold_is_played = False

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
        self._known |= words_of(self._task.scenario)
        self._known |= {word for a in self._task.spec.actions for word in _ids(a.arguments)}
        for step in (self._read_by_id, self._read_by_word, self._read_without_arguments):
            step(set())
        self._follow_the_gold(set())
        return self._heard

    def _hear(self, text: str) -> None:
        self._heard.append(text)
        self._known |= words_of(text)

    def _read_the_texts(self, wanted: set[str]) -> None:
        self._hear(self._task.scenario)
        self._hear(self._task.audited.policy)

    def _follow_the_gold(self, wanted: set[str]) -> None:
        """Read the answers to the gold's own calls: writes make ids that are then known."""
        self._gold_is_played = True
        for action in self._task.spec.actions:
            answer = self._world.respond(action.call())
            if not answer["error"]:
                self._hear(answer["content"] or "")

    def _read_by_id(self, wanted: set[str]) -> None:
        """Ask for every record whose id is known, and for those that become known by that."""
        keys = {key for table in self._task.audited.tables.values() for key in table}
        while fresh := (self._known - self._asked) & keys:
            self._ask_about(fresh)

    def _read_by_word(self, wanted: set[str]) -> None:
        """Ask with what the user knows: a phone number, an email address."""
        words = {word for word in words_of(self._task.scenario) if re.search(r"[\d@]", word)}
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

    def _guesses(self, tool: ReadingTool, value: str) -> Iterator[Mapping[str, object]]:
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

    def _try(self, tool: ReadingTool, arguments: Mapping[str, object]) -> None:
        answer = self._ask(tool, arguments)
        if answer is not None:
            self._hear(answer)

    def _ask(self, tool: ReadingTool, arguments: Mapping[str, object]) -> str | None:
        """Return an answer; before anything was written, tasks that begin alike share it."""
        answers = {} if self._gold_is_played else self._task.audited.answers
        key = (self._task.spec.start.key, tool.name, tuple(arguments.items()))
        if key not in answers:
            try:
                answers[key] = to_json_str(tool.ask(**arguments))
            except Exception:  # a tool that does not know the word
                answers[key] = None
        return answers[key]

    @property
    def _tools(self) -> list[ReadingTool]:
        return list(reading_tools(self._world))


def _values_named(key: str, value: object) -> Iterator[object]:
    parts = parts_of(value) if isinstance(value, dict | list) else ()
    return (each[key] for each in parts if isinstance(each.get(key), str))
