"""The user's part: what its task tells it, and how the conversation went."""

import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from itertools import accumulate

from maseval.benchmark.tau2.formats.message import STOP, Tau2ToolCall
from maseval.benchmark.tau2.review import words
from maseval.benchmark.tau2.review.policy import scenario_text
from maseval.benchmark.tau2.review.policy.confirming import TRANSFER_TEXT, TRANSFER_TOOL
from maseval.benchmark.tau2.review.talk import CallMade, Talk, Utterance
from maseval.benchmark.tau2.scoring.case import Case
from maseval.benchmark.tau2.world.setting import Setting

_TEXTS = ("reason_for_call", "task_instructions", "known_info", "unknown_info")
_WORD = re.compile(r"[a-z][a-z'-]{2,}")
_LETTERS = 5
_CHANGE_OF_MIND = re.compile(
    r"\b(?:if|when) the (?:\w+ )?agent (?:finally )?asks (?:you )?(?:for|to) (?:\w+ )?confirm"
)


class UserPart:
    """A task's words to its user, and the conversation in which the user played them."""

    def __init__(self, case: Case) -> None:
        self.setting: Setting = case.setting
        self.talk = Talk(case.recording.messages)
        self.ending = case.recording.termination_reason
        self._task = case.raw_task

    @cached_property
    def told(self) -> str:
        """All that the task says to the user, in small letters, with what its world begins as."""
        return scenario_text(self._task).lower()

    @cached_property
    def instructions(self) -> tuple[str, ...]:
        """The sentences of the instructions, without the persona."""
        return words.sentences(_instruction_text(self._task))

    @property
    def changes_its_mind(self) -> bool:
        """True if the task wants it to change its mind when it is asked to confirm."""
        return _CHANGE_OF_MIND.search(self.told) is not None

    @cached_property
    def gold(self) -> list[Tau2ToolCall]:
        """The writes of the reference solution."""
        calls = [action.call() for action in self.setting.task.actions]
        return [call for call in calls if self.setting.may_write(call)]

    @cached_property
    def writes(self) -> list[CallMade]:
        """The writes that were made and not refused, of both sides."""
        made = (each for each in self.talk.calls if not each.failed)
        return [each for each in made if self.setting.may_write(each.call)]

    @cached_property
    def gold_text(self) -> str:
        """The arguments of the reference solution, in small letters: what it has is not wrong."""
        return json.dumps([call["arguments"] for call in self.gold], default=str).lower()

    def was_done(self, call: Tau2ToolCall) -> bool:
        """Tell whether a call was made, and not refused."""
        name, arguments = call["name"], call["arguments"]
        made = (each.call for each in self.writes)
        return any(each["name"] == name and each["arguments"] == arguments for each in made)

    def read_around(self, at: int) -> str:
        """Return what tools have answered to reads, up to the next write after a message.

        Later answers may hold what the user said, and no longer show that it was true.
        """
        changed = next((w.message_index for w in self.writes if w.message_index > at), None)
        places, ends, text = self._reads
        return text if changed is None else text[: ends[bisect_left(places, changed)]]

    @cached_property
    def _reads(self) -> tuple[list[int], list[int], str]:
        """The messages of reads that were answered, where each answer ends, and all of them."""
        written = {(each.message_index, each.answer_index) for each in self.writes}
        read = [
            each
            for each in self.talk.calls
            if not each.failed and (each.message_index, each.answer_index) not in written
        ]
        texts = [f"{each.answer.lower()}\n" for each in read]
        ends = [0, *accumulate(map(len, texts))]
        return [each.message_index for each in read], ends, "".join(texts)

    def sources(self, at: int) -> tuple[str, ...]:
        """Return all from which the user can have a fact that it states, in small letters."""
        return self.told, self.agent_said_before(at), self.gold_text, self.read_around(at)

    def agent_said_before(self, at: int) -> str:
        """Return all that the agent had said before a message, in small letters."""
        return "\n".join(each.text for each in self.talk.agent_before(at)).lower()

    @cached_property
    def spoken(self) -> str:
        """All that was said by both sides, in small letters."""
        said = (*self.talk.user, *self.talk.agent)
        return "\n".join(each.text for each in said).lower()

    @property
    def ended_by_user(self) -> bool:
        """True if the user said that it was done, and was not handed over to somebody."""
        messages = self.talk.messages
        return (
            bool(messages)
            and messages[-1]["role"] == "user"
            and STOP in (messages[-1].get("content") or "")
            and not self.was_transferred
        )

    @cached_property
    def was_transferred(self) -> bool:
        """True if the agent handed over to a human, with the tool or in the set words."""
        tools = {each.call["name"] for each in self.talk.calls}
        return TRANSFER_TOOL in tools or any(TRANSFER_TEXT in e.text for e in self.talk.agent)

    def was_refused_before(self, at: int) -> bool:
        """Tell whether the agent had refused something by then: other wishes may then be right."""
        return self._refused < at

    @cached_property
    def _refused(self) -> int:
        refused = (e.message_index for e in self.talk.agent if words.refusal(e.text))
        return next(refused, len(self.talk.messages))

    @cached_property
    def statements(self) -> list[Utterance]:
        """The sentences with which the user states something."""
        return [
            Utterance(said.message_index, sentence)
            for said in self.talk.user
            for sentence in words.sentences(said.text)
            if not sentence.rstrip().endswith("?")
        ]

    def question_before(self, at: int) -> Utterance | None:
        """Return the agent's last text before a message."""
        before = self.talk.agent_before(at)
        return before[-1] if before else None

    def acted_between(self, start: int, end: int) -> bool:
        """Tell whether the user called a tool between two messages."""
        made = (each for each in self.talk.calls if start < each.message_index < end)
        return any(each.call["requestor"] == "user" for each in made)

    def exchanges(self) -> Iterator[tuple[Utterance, Utterance]]:
        """Yield the agent's texts that the user answered in words, each with the answer."""
        for reply in self.talk.user:
            question = self.question_before(reply.message_index)
            if question is not None:
                yield question, reply


def _instruction_text(task: Mapping[str, object]) -> str:
    scenario = task.get("user_scenario")
    found = scenario.get("instructions") if isinstance(scenario, Mapping) else scenario
    if isinstance(found, Mapping):
        return "\n".join(str(found[key]) for key in _TEXTS if found.get(key))
    return str(found or "")


@lru_cache(maxsize=2048)
def stems(text: str) -> frozenset[str]:
    """Return the beginnings of the words that carry a text's meaning, so that forms are alike."""
    found = (each.strip("'-") for each in _WORD.findall(text.lower()))
    return frozenset(each[:_LETTERS] for each in found if each not in _PLAIN)


_PLAIN = frozenset(
    _WORD.findall(
        """
        the and for you your yours want wants also would like need needs with that this these those
        from have has had are was were will can could should them they their there then than not but
        into only just make made sure all any some one two three more most very much other others
        another same new get gets getting know please agent when what which who whom whose how why
        where its it's don't doesn't didn't isn't won't i'm i'd i've you're you've out about over
        under after before because since while both each every either neither first second finally
        possible him her his she able ask asks asking tell tells say says mention use using used
        instead currently current recent recently too really
        """
    )
)
