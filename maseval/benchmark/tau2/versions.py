"""The rules of a release, by which conversations are held, replayed, scored and summarised.

Wherever two releases of the original differ, the difference is a field here; the code asks the
field and never the version.

After tau2-bench v0.2.0 to v1.0.1, src/tau2/ (MIT, Sierra Research).
"""

from collections.abc import Callable
from typing import NamedTuple

from maseval.benchmark.tau2.formats.message import Tau2Message, message_text, message_text_of_1_0_1
from maseval.benchmark.tau2.formats.simulation import (
    FORM_0_2_0,
    FORM_1_0_1,
    FileForm,
    TerminationReason,
)
from maseval.core.exceptions import ConfigurationError

FIRST_ENDINGS = frozenset(
    {
        TerminationReason.USER_STOP,
        TerminationReason.AGENT_STOP,
        TerminationReason.MAX_STEPS,
        TerminationReason.TOO_MANY_ERRORS,
    }
)


class ReplayRules(NamedTuple):
    """Rules of replay, which brings a recorded conversation back to its end state.

    ``mutating_only`` makes only the calls of tools that change something; the recorded answers to
    all others are not looked at. Not ``strict``, a different answer is accepted and the change
    stays; ``can_be_lenient`` says whether the release knows that. ``shares_databases``: initial
    values for one side make both sides use that side's database.
    """

    mutating_only: bool = False
    strict: bool = True
    can_be_lenient: bool = False
    shares_databases: bool = False


class EvaluationRules(NamedTuple):
    """Rules of a verdict.

    ``unscored_basis`` is the reward basis of a verdict for which nothing was looked at, and
    ``reason_text`` how its note names the reason. ``judge_in_all``: the judge is part of ``all``
    where the task's basis names it. ``names_tool_types``: each action check says what kind of tool
    the action uses. ``messages_required``: a simulation without messages is not one.
    """

    types: tuple[str, ...]
    reason_text: Callable[[str], str]
    unscored_basis: tuple[str, ...] | None
    judge_in_all: bool = False
    names_tool_types: bool = False
    messages_required: bool = True


class LoopRules(NamedTuple):
    """Rules of the conversation: its turns, and its end.

    ``greeting_is_seen``: the agent's own history begins with its greeting. ``counts_errors``:
    failed tool calls count towards ``max_errors``. ``answers_first``: limits are looked at only
    when no call waits for its answer. ``says_goodbye``: both sides are told when it is over, and
    with ``goodbye_after_errors`` also when it ended in an exception.
    ``speech_alone`` is how a simulation without a user ends in which the agent speaks; None if
    that is an error of the run. ``endings`` are the reasons that the release knows.
    """

    endings: frozenset[TerminationReason]
    describe: Callable[[Tau2Message], str]
    describe_empty: Callable[[Tau2Message], str]
    greeting_is_seen: bool = False
    counts_errors: bool = False
    answers_first: bool = False
    says_goodbye: bool = False
    goodbye_after_errors: bool = True
    speech_alone: TerminationReason | None = None


class ParticipantRules(NamedTuple):
    """Rules of the requests that the reference agent and the simulated user make.

    ``skips_blank_messages``: the user does not hear an agent's empty message.
    ``disables_claude_thinking``: models named ``claude...`` are sent ``thinking: disabled``.
    ``sends_nulls``: what an assistant message does not have is sent as null and not left out.
    ``refuses_blank_requests``: a request with a message that says and calls nothing is not made.
    """

    skips_blank_messages: bool = False
    refuses_blank_requests: bool = False
    disables_claude_thinking: bool = False
    sends_nulls: bool = False


class RuleSet(NamedTuple):
    """All rules of one release."""

    version: str
    replay: ReplayRules
    evaluation: EvaluationRules
    loop: LoopRules
    participants: ParticipantRules
    files: FileForm

    def leniently(self, lenient: bool = True) -> "RuleSet":
        """Return the same rules with a replay that accepts different answers, or that does not."""
        if lenient and not self.replay.can_be_lenient:
            raise ConfigurationError(
                f"lenient_replay is True, but tau2-bench {self.version} replays strictly only; "
                "leave it out, or score by the rules of 1.0.1"
            )
        return self._replace(replay=self.replay._replace(strict=not lenient))


def _python_name(reason: str) -> str:
    """Return the name of the Python object, as the original shows its own reasons."""
    names = {known.value: f"TerminationReason.{known.name}" for known in FIRST_ENDINGS}
    return names.get(reason, reason)


def _empty(message: Tau2Message) -> str:
    return f"AssistantMessage must have either content or tool calls. Got {message_text(message)}"


def _empty_of_1_0_1(message: Tau2Message) -> str:
    kind = f"{message['role'].capitalize()}Message"
    return f"{kind} must have either content or tool_calls. Got {message_text_of_1_0_1(message)}"


_FIRST_TYPES = ("all", "env", "action", "communicate", "nl_assertions", "all_with_nl_assertions")

RULES_0_2_0 = RuleSet(
    version="0.2.0",
    replay=ReplayRules(),
    evaluation=EvaluationRules(_FIRST_TYPES, _python_name, unscored_basis=("DB",)),
    loop=LoopRules(FIRST_ENDINGS, message_text, _empty),
    participants=ParticipantRules(disables_claude_thinking=True, sends_nulls=True),
    files=FORM_0_2_0,
)

# A rule that is not named here is that of v0.2.0.
RULES_1_0_1 = RuleSet(
    version="1.0.1",
    replay=ReplayRules(mutating_only=True, can_be_lenient=True, shares_databases=True),
    evaluation=EvaluationRules(
        (*_FIRST_TYPES, "all_ignore_basis", "all_with_nl_assertions_ignore_basis"),
        reason_text=str,
        unscored_basis=None,
        judge_in_all=True,
        names_tool_types=True,
        messages_required=False,
    ),
    loop=LoopRules(
        frozenset(TerminationReason),
        message_text_of_1_0_1,
        _empty_of_1_0_1,
        greeting_is_seen=True,
        counts_errors=True,
        answers_first=True,
        says_goodbye=True,
        speech_alone=TerminationReason.AGENT_ERROR,
    ),
    participants=ParticipantRules(skips_blank_messages=True, refuses_blank_requests=True),
    files=FORM_1_0_1,
)

# Its code is that of tau2-bench between v0.2.0 and v1.0.0.
RULES_VERIFIED = RULES_0_2_0._replace(
    version="verified",
    evaluation=EvaluationRules(_FIRST_TYPES, reason_text=str, unscored_basis=None),
    loop=LoopRules(
        FIRST_ENDINGS | {TerminationReason.AGENT_ERROR, TerminationReason.USER_ERROR},
        message_text,
        _empty,
        greeting_is_seen=True,
        counts_errors=True,
        answers_first=True,
        says_goodbye=True,
        goodbye_after_errors=False,
        speech_alone=TerminationReason.AGENT_ERROR,
    ),
)
