"""The airline's rules about who asks, and about what is known before it is used."""

import re
from collections.abc import Iterator

from maseval.benchmark.tau2.domains.airline.models import User
from maseval.benchmark.tau2.review.policy.airline.journeys import (
    BOOK,
    CHANGES,
    FLIGHTS,
    PASSENGERS,
    TOP,
    WRITES,
    airline,
    entries,
    flights_wanted,
    owner_of,
    text_of,
)
from maseval.benchmark.tau2.review.policy.confirming import names, spell_date
from maseval.benchmark.tau2.review.policy.consent import find_consent
from maseval.benchmark.tau2.review.policy.rules import (
    Answer,
    Broken,
    CallMoment,
    CannotTell,
    once_per_call,
)

ON_A_RESERVATION = tuple(tool for tool in CHANGES if tool != BOOK)
_USER_ID = re.compile(r"\b[a-z]+_[a-z]+_\d{4}\b")
_NOT_ALNUM = re.compile(r"[^a-z0-9]")


@airline.protocol(
    "identity.user_id",
    "Book flight, 1st paragraph; Modify flight and Cancel flight, 1st paragraph",
    *CHANGES,
    words=False,
)
def user_gives_id(moment: CallMoment) -> Iterator[Answer]:
    """The user says who they are, by their user id, before anything is changed."""
    owner, told = owner_of(moment), moment.user_said.lower()
    if owner is None or _gives(told, owner.user_id) or _others(moment, told, owner):
        return
    offered = moment.agent_texts
    if any(owner.user_id in each.text for each in offered):
        yield CannotTell("the agent named the user id, and the user did not")
    else:
        yield Broken("the user has not given a user id")


@airline.flow("identity.own_record", "Modify flight and Cancel flight, 1st paragraph", *WRITES)
def own_record(moment: CallMoment) -> Iterator[Answer]:
    """The change is to a record of the user who gave their id."""
    owner, told = owner_of(moment), moment.user_said.lower()
    if owner is None or _gives(told, owner.user_id):
        return
    others = _others(moment, told, owner)
    if others:
        yield Broken(
            f"the change is made for {owner.user_id}, and the user is {', '.join(others)}",
            {"user": others},
        )


def _gives(told: str, user_id: str) -> bool:
    return user_id in told or _NOT_ALNUM.sub("", user_id) in _NOT_ALNUM.sub("", told)


def _others(moment: CallMoment, told: str, owner: User) -> list[str]:
    """Return the ids of other users that a text has."""
    found = sorted(set(_USER_ID.findall(told)) - {owner.user_id})
    return [each for each in found if each in moment.tools.db.users]


@once_per_call
def known_to(moment: CallMoment) -> str:
    """Return in lower case all that was said by the user, answered by tools, or agreed to."""
    known, consent = moment.talk.known_words_before(moment.message_index), find_consent(moment)
    if consent is not None and consent.given:
        known += f"\n{consent.question.text.lower()}"
    return known


@airline.flow("record.known", "Modify flight and Cancel flight, 1st paragraph", *ON_A_RESERVATION)
def reservation_known(moment: CallMoment) -> Iterator[Answer]:
    """The id of the reservation was said by the user, agreed to, or found with a tool."""
    reservation_id = text_of(moment.arguments.get("reservation_id"))
    if reservation_id and reservation_id.lower() not in known_to(moment):
        yield Broken(f"nobody has named reservation {reservation_id}, and no tool has shown it")


@airline.flow("flights.known", f"{TOP}, 4th paragraph", BOOK, FLIGHTS)
def flights_known(moment: CallMoment) -> Iterator[Answer]:
    """The flights were found with a tool, named by the user, or agreed to."""
    known = known_to(moment)
    flights = [flight for flight, _ in flights_wanted(moment.arguments)]
    unknown = [flight for flight in flights if flight.lower() not in known]
    if unknown:
        yield Broken(f"no tool has shown {', '.join(unknown)}, and the user did not name it")


@airline.flow(
    "passengers.known",
    "Book flight, Passengers, 2nd bullet; Modify flight, Change passengers",
    BOOK,
    PASSENGERS,
    words=True,
)
def passengers_known(moment: CallMoment) -> Iterator[Answer]:
    """The names and birthdays of passengers were said, agreed to, or found with a tool."""
    known = known_to(moment)
    for passenger in entries(moment.arguments, "passengers"):
        name = [text_of(passenger.get(key)) for key in ("first_name", "last_name")]
        for value in name:
            if value and value.lower() not in known:
                yield Broken(f"nobody has named a passenger {' '.join(name)}")
                break
        born = text_of(passenger.get("dob"))
        if born and born not in known and not _tells_date(known, born):
            yield Broken(f"nobody has said that {' '.join(name)} was born on {born}")


def _tells_date(known: str, date: str) -> bool:
    """Tell whether a date may have been told in other words: with its year and its day."""
    year, _, rest = date.partition("-")
    day = rest.partition("-")[2].lstrip("0")
    return year in known and any(names(known, each) for each in (*spell_date(date), day))
