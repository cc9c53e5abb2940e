"""Every rule about the user, asked about a recorded conversation, passed or failed."""

from collections.abc import Mapping
from typing import Any

from maseval.benchmark.tau2.conversation.recording import HasSimulation
from maseval.benchmark.tau2.domains.domain import Domain
from maseval.benchmark.tau2.domains.releases import AnyVersion
from maseval.benchmark.tau2.review.users import choices, facts, looking, turns, wishes
from maseval.benchmark.tau2.review.users.finding import UserFaults, UserRule
from maseval.benchmark.tau2.review.users.part import UserPart
from maseval.benchmark.tau2.scoring.case import AnyTask, Case, open_case
from maseval.data.store import AnyPath

LANGUAGE_NOT_READ = "language not read"
NO_USER = "the agent worked without a user"

# The rule that reads no words is asked in any language.
_WORDLESS: tuple[UserRule, ...] = (turns.said_nothing,)
RULES: tuple[UserRule, ...] = (
    *_WORDLESS,
    turns.spoke_as_the_agent,
    facts.invented_values,
    facts.invented_dates,
    facts.invented_places,
    facts.invented_standing,
    facts.invented_circumstances,
    wishes.gold_never_spoken_of,
    wishes.wishes_never_said,
    wishes.told_before_being_asked,
    turns.left_before_the_write,
    choices.other_value_named,
    choices.other_option_named,
    choices.offer_turned_down,
    choices.order_not_in_the_task,
    choices.asked_for_a_transfer,
    choices.agreed_against_its_terms,
    choices.change_of_mind_missed,
    looking.reported_without_looking,
    looking.said_to_be_done,
    looking.steps_refused,
    looking.steps_undone,
)


def check_user_of_case(case: Case) -> UserFaults:
    """Find what the user did wrong in a recorded conversation; say nothing where it is unsure."""
    if case.setting.solo:
        return UserFaults(unreadable=NO_USER)
    part = UserPart(case)
    read = part.talk.is_english
    found = (fault for rule in (RULES if read else _WORDLESS) for fault in rule(part))
    faults = sorted(dict.fromkeys(found), key=lambda each: each.message_index)
    return UserFaults(tuple(faults), None if read else LANGUAGE_NOT_READ)


def check_user(
    simulation: Mapping[str, Any] | HasSimulation,
    *,
    domain: str | Domain,
    task: AnyTask | None = None,
    solo: bool = False,
    data_dir: AnyPath | None = None,
    version: AnyVersion = None,
) -> UserFaults:
    """Find what the user did wrong in a simulation; the arguments are those of score_simulation."""
    return check_user_of_case(
        open_case(simulation, domain, task, solo=solo, data_dir=data_dir, version=version)
    )
