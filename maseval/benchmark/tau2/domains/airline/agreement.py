"""The airline's rules about what was said: who asks, what was known, and what was agreed to."""

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from itertools import combinations

from maseval.benchmark.tau2.domains.airline.journeys import (
    amount_moved,
    entries,
    find_flight,
    flights_wanted,
    free_to_cancel,
    new_fares,
    number_of,
    owner_of,
    payments_of,
    reservation_of,
    text_of,
)
from maseval.benchmark.tau2.domains.airline.models import (
    Certificate,
    CreditCard,
    Flight,
    GiftCard,
    PaymentMethod,
    User,
)
from maseval.benchmark.tau2.domains.airline.routes import AIRPORTS
from maseval.benchmark.tau2.domains.airline.tools import BAGGAGE_PRICE, INSURANCE_PRICE
from maseval.benchmark.tau2.domains.confirming import (
    Detail,
    details_listed,
    explicit_yes,
    names,
    no_text_beside_a_call,
    nothing_after_a_transfer,
    one_call_at_a_time,
    spell_amount,
    spell_date,
    spell_payment,
    transfer_is_announced,
)
from maseval.benchmark.tau2.domains.consent import find_consent
from maseval.benchmark.tau2.domains.rules import (
    Answer,
    Broken,
    CannotTell,
    Kind,
    Moment,
    Talk,
    rule,
    talk_rule,
)
from maseval.benchmark.tau2.words import sentences

CHANGES = (
    *("book_reservation", "cancel_reservation", "update_reservation_baggages"),
    *("update_reservation_flights", "update_reservation_passengers"),
)
WRITES = (*CHANGES, "send_certificate")
ON_A_RESERVATION = tuple(tool for tool in CHANGES if tool != "book_reservation")
PAID = ("book_reservation", "update_reservation_flights", "update_reservation_baggages")
MOST_EXTRA_BAGS = 6
_TOP = "Airline Agent Policy"
_USER_ID = re.compile(r"\b[a-z]+_[a-z]+_\d{4}\b")
_NOT_ALNUM = re.compile(r"[^a-z0-9]")


@rule(
    "airline.identity.user_id",
    Kind.PROTOCOL,
    place="Book flight, 1st paragraph; Modify flight and Cancel flight, 1st paragraph",
    tools=CHANGES,
    reads_words=False,
)
def user_gives_id(moment: Moment) -> Iterator[Answer]:
    """The user says who they are, by their user id, before anything is changed."""
    owner, told = owner_of(moment), moment.user_said.lower()
    if owner is None or _gives(told, owner.user_id) or _others(moment, told, owner):
        return
    offered = [each for each in moment.talk.agent_before(moment.message_index)]
    if any(owner.user_id in each.text for each in offered):
        yield CannotTell("the agent named the user id, and the user did not")
    else:
        yield Broken("the user has not given a user id", {"owner": owner.user_id})


@rule(
    "airline.identity.own_record",
    Kind.DATA_FLOW,
    place="Modify flight and Cancel flight, 1st paragraph",
    tools=WRITES,
    reads_words=False,
)
def own_record(moment: Moment) -> Iterator[Answer]:
    """The change is to a record of the user who gave their id."""
    owner, told = owner_of(moment), moment.user_said.lower()
    if owner is None or _gives(told, owner.user_id):
        return
    others = _others(moment, told, owner)
    if others:
        yield Broken(
            f"the change is made for {owner.user_id}, and the user is {', '.join(others)}",
            {"owner": owner.user_id, "user": others},
        )


def _gives(told: str, user_id: str) -> bool:
    return user_id in told or _NOT_ALNUM.sub("", user_id) in _NOT_ALNUM.sub("", told)


def _others(moment: Moment, told: str, owner: User) -> list[str]:
    """Return the ids of other users that a text has."""
    found = sorted(set(_USER_ID.findall(told)) - {owner.user_id})
    return [each for each in found if each in moment.tools.db.users]


def known_to(moment: Moment) -> str:
    """Return in lower case all that was said by the user, answered by tools, or agreed to."""
    known, consent = moment.talk.known_before(moment.message_index), find_consent(moment)
    if consent is not None and consent.given:
        known += f"\n{consent.question.text}"
    return known.lower()


@rule(
    "airline.record.known",
    Kind.DATA_FLOW,
    place="Modify flight and Cancel flight, 1st paragraph",
    tools=ON_A_RESERVATION,
    reads_words=False,
)
def reservation_known(moment: Moment) -> Iterator[Answer]:
    """The id of the reservation was said by the user, agreed to, or found with a tool."""
    reservation_id = text_of(moment.arguments.get("reservation_id"))
    if reservation_id and reservation_id.lower() not in known_to(moment):
        yield Broken(
            f"nobody has named reservation {reservation_id}, and no tool has shown it",
            {"reservation": reservation_id},
        )


@rule(
    "airline.flights.known",
    Kind.DATA_FLOW,
    place=f"{_TOP}, 4th paragraph",
    tools=["book_reservation", "update_reservation_flights"],
    reads_words=False,
)
def flights_known(moment: Moment) -> Iterator[Answer]:
    """The flights were found with a tool, named by the user, or agreed to."""
    known = known_to(moment)
    flights = [flight for flight, _ in flights_wanted(moment.arguments)]
    unknown = [flight for flight in flights if flight.lower() not in known]
    if unknown:
        text = f"no tool has shown {', '.join(unknown)}, and the user did not name it"
        yield Broken(text, {"flights": unknown})


@rule(
    "airline.passengers.known",
    Kind.DATA_FLOW,
    place="Book flight, Passengers, 2nd bullet; Modify flight, Change passengers",
    tools=["book_reservation", "update_reservation_passengers"],
    reads_words=False,
)
def passengers_known(moment: Moment) -> Iterator[Answer]:
    """The names and birthdays of passengers were said, agreed to, or found with a tool."""
    known = known_to(moment)
    for passenger in entries(moment.arguments, "passengers"):
        name = [text_of(passenger.get(key)) for key in ("first_name", "last_name")]
        for value in name:
            if value and value.lower() not in known:
                yield Broken(f"nobody has named a passenger {' '.join(name)}", {"passenger": name})
                break
        born = text_of(passenger.get("dob"))
        if born and born not in known and not _tells_date(known, born):
            text = f"nobody has said that {' '.join(name)} was born on {born}"
            yield Broken(text, {"passenger": name, "born": born})


def _tells_date(known: str, date: str) -> bool:
    """Tell whether a date may have been told in other words: with its year and its day."""
    year, _, rest = date.partition("-")
    day = rest.partition("-")[2].lstrip("0")
    return year in known and any(names(known, each) for each in (*spell_date(date), day))


@rule("airline.payment.agreed", Kind.DATA_FLOW, place=_TOP, tools=PAID, reads_words=True)
def agreed_payment(moment: Moment) -> Iterator[Answer]:
    """The payment method is one that the user chose or agreed to."""
    user, consent = owner_of(moment), find_consent(moment)
    if user is None or consent is None:
        return
    named = _methods_in(consent.question.text, user.payment_methods)
    for said in moment.talk.user_before(moment.message_index):
        chosen = _methods_in(said.text, user.payment_methods)
        if said.message_index == consent.reply.message_index and chosen:
            named = chosen
        elif said.message_index > consent.reply.message_index:
            named |= chosen
    for used in payments_of(moment.arguments):
        if named and used in user.payment_methods and used not in named:
            yield Broken(
                f"{used} is used, and the user agreed to {', '.join(sorted(named))}",
                {"agreed": sorted(named), "used": used},
            )


def _methods_in(text: str, methods: Mapping[str, PaymentMethod]) -> set[str]:
    """Return the payment methods that a text may mean; none if it speaks of none."""
    lower = text.lower()
    exactly = {
        each
        for each, method in methods.items()
        if any(names(lower, form) for form in spell_payment(method, each))
    }
    kinds = {
        each
        for each, method in methods.items()
        if any(kind in lower for kind in _kind_words(method))
    }
    return exactly | (kinds if not exactly else set())


def _kind_words(method: PaymentMethod) -> list[str]:
    match method:
        case CreditCard():
            return ["credit card", "credit_card", method.brand.lower()]
        case GiftCard():
            return ["gift card", "gift_card"]
        case Certificate():
            return ["certificate", "voucher"]


_AMOUNT = re.compile(r"\$ ?(\d[\d,]*(?:\.\d+)?)")
_CLAIMS = {
    "book_reservation": "total|charge[ds]?|cost|pay|price",
    "cancel_reservation": "refund(?:ed)?",
    "update_reservation_baggages": "total|charge[ds]?|cost|pay|fee",
    "update_reservation_flights": "refund(?:ed)?|difference|additional|charge[ds]?|due|pay|total",
}


# In a line with a price: that it is one for each passenger.
_PER_HEAD = re.compile(
    r"\b(?:per|each|apiece)\b|/ ?(?:person|passenger|pax)|[x\u00d7*] ?\d\b|\b\d+ ?[x\u00d7*] ?\$",
    re.IGNORECASE,
)
_PRICE = re.compile(r"\$|\b(?:price|fare|cost|amount|refund|difference)", re.IGNORECASE)


@cache
def _claim_patterns(tool: str) -> tuple[re.Pattern[str], ...]:
    words = _CLAIMS.get(tool, "total")
    amount = _AMOUNT.pattern
    return (
        re.compile(rf"\b(?:{words})\b[^$\n.!?]{{0,60}}{amount}", re.IGNORECASE),
        re.compile(rf"{amount} (?:\w+ ){{0,3}}(?:{words})\b", re.IGNORECASE),
        re.compile(rf"\b(?:{words})\b[^\n!?]{{0,120}}= ?\**{amount}", re.IGNORECASE),
    )


@rule("airline.price.agreed", Kind.DATA_FLOW, place=_TOP, tools=CHANGES, reads_words=True)
def agreed_price(moment: Moment) -> Iterator[Answer]:
    """The sum that is charged or refunded is the sum that the user was told."""
    moved, consent = amount_moved(moment), find_consent(moment)
    if not moved or consent is None:
        return
    text = consent.question.text
    told = _amounts(_AMOUNT, text)
    claims = set().union(*(_amounts(each, text) for each in _claim_patterns(moment.call["name"])))
    people = _people(moment) if _tells_prices_per_head(text) else 1
    if not claims or _leads_to(told | _extras(moment), abs(moved), people):
        return
    if claims <= _facts(moment):
        return
    if any(each in text for each in _other_reservations(moment)):
        yield CannotTell("the sums that were told may be for several reservations")
        return
    verb = "refunded" if moved < 0 else "charged"
    sums = ", ".join(f"${each:,.2f}" for each in sorted(claims))
    yield Broken(
        f"${abs(moved):,.2f} is {verb}, and the user was told {sums}",
        {"told": sorted(told), "moved": moved},
    )


def _tells_prices_per_head(text: str) -> bool:
    """Tell whether a text has prices for each passenger; free bags are not meant."""
    return any(
        _PER_HEAD.search(line) and _PRICE.search(line) and not _BAG.search(line)
        for line in sentences(text)
    )


def _extras(moment: Moment) -> set[float]:
    """Return what insurance and bags of a booking cost, which the user may have added to it."""
    arguments, people = moment.arguments, _people(moment)
    insured = INSURANCE_PRICE * people if arguments.get("insurance") == "yes" else 0
    bags = BAGGAGE_PRICE * (number_of(arguments.get("nonfree_baggages")) or 0)
    return {float(each) for each in (insured, bags, insured + bags) if each}


def _facts(moment: Moment) -> set[float]:
    """Return other sums that belong to the matter: fares, balances, and what bags cost."""
    user, reservation = owner_of(moment), reservation_of(moment)
    facts = {0.0}
    if reservation is not None:
        facts |= {float(BAGGAGE_PRICE * count) for count in range(MOST_EXTRA_BAGS)}
    for method in user.payment_methods.values() if user else ():
        facts.add(getattr(method, "amount", 0.0))
    if reservation is not None:
        people, before = len(reservation.passengers), [f.price for f in reservation.flights]
        fares: list[float] = [*before, sum(before)]
        after = (amount_moved(moment) or 0) / (people or 1) + sum(before)
        fares += [after, *new_fares(moment), sum(new_fares(moment))]
        facts |= {float(fare * factor) for fare in fares for factor in (1, people)}
    return facts


def _other_reservations(moment: Moment) -> list[str]:
    user, own = owner_of(moment), moment.arguments.get("reservation_id")
    return [each for each in user.reservations if each != own] if user else []


def _amounts(pattern: re.Pattern[str], text: str) -> set[float]:
    return {float(each.replace(",", "")) for each in pattern.findall(text)}


def _leads_to(told: Collection[float], moved: float, people: int) -> bool:
    """Tell whether an amount follows from those told: times the passengers, or from two of them."""
    single = {each * factor for each in told for factor in {1, people}}
    if moved in single:
        return True
    return any(moved in (a + b, abs(a - b)) for a, b in combinations(sorted(single), 2))


def _people(moment: Moment) -> int:
    reservation = reservation_of(moment)
    if reservation is not None:
        return len(reservation.passengers)
    return len(entries(moment.arguments, "passengers"))


_COVERED = re.compile(
    r"\b(?:sick|ill(?:ness)?|health|medical|doctor|hospital|surgery|injur|pregnan|unwell|covid|flu"
    r"|fever|disease|operation|diagnos|broke (?:my|his|her)|weather|storm|hurricane|snow|blizzard"
    r"|flood|tornado|typhoon|under the weather|(?:not|n't|not been) feel(?:ing)? (?:\w+ )?"
    r"(?:well|good|great|up to))",
    re.IGNORECASE,
)
_MAYBE_COVERED = re.compile(
    r"\b(?:emergency|died|death|passed away|funeral|accident|feeling)", re.IGNORECASE
)
_NEGATED = re.compile(r"\b(?:no|not|n't|isn't|without|never)\b[^.!?,;]{0,30}$", re.IGNORECASE)


@rule(
    "airline.cancel.reason",
    Kind.STATE,
    place="Cancel flight, 4th condition",
    tools=["cancel_reservation"],
    reads_words=True,
)
def covered_reason(moment: Moment) -> Iterator[Answer]:
    """What only insurance allows to cancel is cancelled for reasons of health or weather."""
    reservation = reservation_of(moment)
    if reservation is None or reservation.insurance != "yes":
        return
    if free_to_cancel(moment, reservation):
        return
    told = moment.user_said
    for found in _COVERED.finditer(told):
        if not _NEGATED.search(told[max(0, found.start() - 40) : found.start()]):
            return
    if _MAYBE_COVERED.search(told):
        yield CannotTell("the user's reason may be one of health")
        return
    yield Broken(
        f"reservation {reservation.reservation_id} may be cancelled only for reasons of health or "
        "weather, and the user gave none",
        {"reservation": reservation.reservation_id, "cabin": reservation.cabin},
    )


_REASON = re.compile(
    r"\b(?:because|reason|due to|change (?:of|in) (?:my |our )?plans?|changed? (?:my |our )?plans?"
    r"|plans? (?:have |has |had )?(?:to )?change|no longer|mistake|conflict"
    r"|(?:can't|cannot|can not|unable to|not able to|won't) (?:make|travel|go|fly|attend|take|be)"
    r"|emergency|died|passed away|cancell?ed (?:by|my flight)|airline cancell?ed"
    r"|(?:don't|do not) need|duplicate|overlap|mix-?up|(?:free|give) (?:up )?(?:my|your|the) seat)",
    re.IGNORECASE,
)
_REASON_TO_CANCEL = re.compile(
    r"\b(?:since|schedul|meeting|too (?:long|expensive|late|early)|delay|better|instead"
    r"|so (?:that )?i|save|cheaper|won't|can't)",
    re.IGNORECASE,
)
_CANCEL = re.compile(r"\bcancel|\brefund", re.IGNORECASE)
_ASKS_REASON = re.compile(r"\b(?:reasons?|why)\b", re.IGNORECASE)


@rule(
    "airline.cancel.reason_obtained",
    Kind.PROTOCOL,
    place="Cancel flight, 2nd paragraph",
    tools=["cancel_reservation"],
)
def reason_obtained(moment: Moment) -> Iterator[Answer]:
    """The agent learns why the user cancels before it cancels."""
    for said in moment.talk.user_before(moment.message_index):
        if _REASON.search(said.text) or _COVERED.search(said.text):
            return
        # Weaker words count where the user speaks of cancelling.
        if _CANCEL.search(said.text) and _REASON_TO_CANCEL.search(said.text):
            return
    for said in moment.talk.agent_before(moment.message_index):
        if _ASKS_REASON.search(said.text):
            return
    yield Broken("the user was not asked for a reason to cancel, and gave none")


@rule(
    "airline.book.insurance_asked",
    Kind.PROTOCOL,
    place="Book flight, Travel insurance, 1st bullet",
    tools=["book_reservation"],
)
def insurance_asked(moment: Moment) -> Iterator[Answer]:
    """The agent asks whether the user wants insurance before it books."""
    at = moment.message_index
    said = (*moment.talk.agent_before(at), *moment.talk.user_before(at))
    if not any("insur" in each.text.lower() for each in said):
        yield Broken("nobody spoke of travel insurance before the booking")


_DECLINED = r"\b(?:no|not|n't|without|skip|decline|zero|neither)\b[^.!?;]*\b"
_NO_INSURANCE = re.compile(rf"{_DECLINED}insurance", re.IGNORECASE)
_NO_BAGS = re.compile(rf"{_DECLINED}(?:bags?|baggage|luggage|suitcases?)", re.IGNORECASE)
_INSURANCE = re.compile(r"\binsur", re.IGNORECASE)
_BAG = re.compile(r"\b(?:bag|luggage|suitcase)", re.IGNORECASE)


@rule(
    "airline.book.insurance_wanted",
    Kind.DATA_FLOW,
    place="Book flight, Travel insurance, 1st bullet",
    tools=["book_reservation"],
    reads_words=True,
)
def insurance_wanted(moment: Moment) -> Iterator[Answer]:
    """Insurance is sold to users who want it."""
    declined = _declined(moment, _INSURANCE, _NO_INSURANCE)
    if moment.arguments.get("insurance") == "yes" and declined:
        yield Broken("insurance is sold to a user who declined it", {"user": declined})


@rule(
    "airline.bags.wanted",
    Kind.DATA_FLOW,
    place="Book flight, Checked bag allowance, last paragraph",
    tools=["book_reservation", "update_reservation_baggages"],
    reads_words=True,
)
def bags_wanted(moment: Moment) -> Iterator[Answer]:
    """No bags are added that the user does not need."""
    reservation = reservation_of(moment)
    before = number_of(reservation.total_baggages) or 0 if reservation else 0
    bags = number_of(moment.arguments.get("total_baggages")) or 0
    if bags <= before:
        return
    at = moment.message_index
    spoken = (*moment.talk.agent_before(at), *moment.talk.user_before(at))
    if not any(_BAG.search(each.text) for each in spoken):
        yield Broken(f"{bags:g} bags are booked, and nobody spoke of bags", {"bags": bags})
        return
    declined = _declined(moment, _BAG, _NO_BAGS)
    if declined:
        text = f"{bags:g} bags are booked for a user who declined them"
        yield Broken(text, {"bags": bags, "user": declined})


def _declined(moment: Moment, subject: re.Pattern[str], no: re.Pattern[str]) -> str:
    """Return the user's last sentence about something if it declines it.

    What a later proposal names again, the user has agreed to.
    """
    consent = find_consent(moment)
    for said in reversed(moment.talk.user_before(moment.message_index)):
        about = [each for each in sentences(said.text) if subject.search(each)]
        if about:
            later = consent is not None and consent.question.message_index > said.message_index
            if later and consent and subject.search(consent.question.text):
                return ""
            return about[-1] if no.search(about[-1]) else ""
    return ""


_DAYS = re.compile(
    r"\b(\d+)\s*(?:-|\u2013|to)\s*(\d+)\s+(?:business |working )?days", re.IGNORECASE
)


@talk_rule("airline.refund.period", Kind.PROTOCOL, place="Cancel flight, Refund")
def refund_period(talk: Talk) -> Iterator[Answer]:
    """A refund is announced for five to seven business days later."""
    for said in talk.agent:
        for sentence in sentences(said.text) if "days" in said.text else ():
            found = _DAYS.search(sentence)
            if found and "refund" in sentence.lower() and found.groups() != ("5", "7"):
                yield Broken(
                    "a refund is promised for another time than in 5 to 7 business days",
                    {"said": found[0]},
                    said.message_index,
                )


_CARD_ON_FILE = re.compile(
    r"original|same (?:card|payment|method)|on file|\bcard\b|certificate|voucher|payment method"
)
_NUMBER_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def _reservation_details(moment: Moment) -> Iterator[Detail]:
    reservation = reservation_of(moment)
    if reservation is not None:
        places = [re.escape(each) for each in _places(reservation.origin, reservation.destination)]
        route = re.compile("|".join(places)) if places else None
        yield Detail(
            "the reservation", reservation.reservation_id, [reservation.reservation_id], route
        )


def _places(*codes: object) -> list[str]:
    """Return airports by code and by city, in lower case."""
    found = [text_of(code) for code in codes]
    return [each.lower() for code in found if code for each in (code, AIRPORTS.get(code, code))]


def _payment_details(moment: Moment) -> Iterator[Detail]:
    user = owner_of(moment)
    for payment_id in payments_of(moment.arguments):
        method = user.payment_methods.get(payment_id) if user else None
        if method is None or user is None:
            continue
        forms = spell_payment(method, payment_id)
        alike = [each for each in user.payment_methods.values() if each.source == method.source]
        if len(alike) == 1:
            forms += _kind_words(method)
        yield Detail("the payment method", payment_id, forms, _CARD_ON_FILE)


def _flight_details(moment: Moment) -> Iterator[Detail]:
    reservation = reservation_of(moment)
    kept = {(f.flight_number, f.date) for f in reservation.flights} if reservation else set()
    for flight_number, date in flights_wanted(moment.arguments):
        if (flight_number, date) in kept:
            continue
        flight = find_flight(moment.tools, flight_number)
        if flight is not None:
            yield Detail("the flight", flight_number, [flight_number], _departure(flight))
            yield Detail("the date", date, spell_date(date), _same_day(date))


def _departure(flight: Flight) -> re.Pattern[str]:
    """Return a pattern for the time at which a flight leaves, on a clock of 24 or of 12 hours."""
    hours, minutes = flight.scheduled_departure_time_est.split(":")[:2]
    noon, hour = "ap"[int(hours) >= 12], (int(hours) - 1) % 12 + 1
    full = rf"\b{hours}:{minutes}\b|\b{hour}(?::{minutes})? ?{noon}\.?m"
    return re.compile(full)


def _same_day(date: str) -> re.Pattern[str]:
    day = date.rpartition("-")[2].lstrip("0")
    return re.compile(rf"same (?:day|date)|tomorrow|next day|\b{re.escape(day)}(?:st|nd|rd|th)?\b")


_CABINS = {
    "basic_economy": re.compile(r"basic[ _-]economy"),
    "economy": re.compile(r"(?<!basic )(?<!basic_)(?<!basic-)economy"),
    "business": re.compile(r"business"),
}


def _bag_details(moment: Moment) -> Iterator[Detail]:
    reservation = reservation_of(moment)
    total = number_of(moment.arguments.get("total_baggages"))
    before = number_of(reservation.total_baggages) or 0 if reservation else 0
    if total is None or total == before:
        return
    counts = {int(total), int(total - before)}
    forms = [form for each in counts for form in _spell_count(each)]
    yield Detail("the number of bags", int(total), forms, _BAG)


def _spell_count(count: int) -> list[str]:
    if count == 1:
        return ["1", "one", "a bag", "a checked bag", "bag"]
    word = [_NUMBER_WORDS[count]] if 0 <= count < len(_NUMBER_WORDS) else []
    return [str(count), *word]


def _passenger_details(moment: Moment) -> Iterator[Detail]:
    for passenger in entries(moment.arguments, "passengers"):
        first, last = (text_of(passenger.get(key)) for key in ("first_name", "last_name"))
        if first:
            yield Detail("the passenger", f"{first} {last}", [first, last], _PEOPLE)


_PEOPLE = re.compile(r"\b(?:myself|both|same passengers?|passengers?|travell?ers?|me)\b")


def _booking_details(moment: Moment) -> Iterator[Detail]:
    yield from _flight_details(moment)
    yield from _passenger_details(moment)
    yield from _payment_details(moment)
    yield from _cabin_details(moment)
    yield from _bag_details(moment)
    total = amount_moved(moment)
    for payment in entries(moment.arguments, "payment_methods") if total else ():
        # The parts are as good as their sum.
        forms = [*spell_amount(total or 0), *spell_amount(number_of(payment.get("amount")) or 0)]
        yield Detail("the price", total, forms, _ANY_PRICE)


_ANY_PRICE = re.compile(r"\$ ?\d")


def _cabin_details(moment: Moment) -> Iterator[Detail]:
    cabin = text_of(moment.arguments.get("cabin"))
    reservation = reservation_of(moment)
    if cabin in _CABINS and (reservation is None or reservation.cabin != cabin):
        yield Detail("the cabin", cabin, [_CABINS[cabin]])


def _change_details(moment: Moment) -> Iterator[Detail]:
    yield from _reservation_details(moment)
    yield from _flight_details(moment)
    yield from _cabin_details(moment)
    if amount_moved(moment):
        yield from _payment_details(moment)


def _bags_change_details(moment: Moment) -> Iterator[Detail]:
    yield from _reservation_details(moment)
    yield from _bag_details(moment)
    if amount_moved(moment):
        yield from _payment_details(moment)


def _new_passenger_details(moment: Moment) -> Iterator[Detail]:
    yield from _reservation_details(moment)
    yield from _passenger_details(moment)


_CONFIRM = f"{_TOP}, 3rd paragraph"
_ONE_CALL = f"{_TOP}, 5th paragraph"
_TRANSFER = f"{_TOP}, 7th paragraph"

AGREEMENT_RULES = (
    explicit_yes("airline", _CONFIRM, CHANGES),
    details_listed(
        "airline",
        _CONFIRM,
        {
            "book_reservation": _booking_details,
            "cancel_reservation": _reservation_details,
            "update_reservation_flights": _change_details,
            "update_reservation_baggages": _bags_change_details,
            "update_reservation_passengers": _new_passenger_details,
        },
    ),
    user_gives_id,
    own_record,
    reservation_known,
    flights_known,
    passengers_known,
    agreed_payment,
    agreed_price,
    covered_reason,
    reason_obtained,
    insurance_asked,
    insurance_wanted,
    bags_wanted,
    refund_period,
    one_call_at_a_time("airline", _ONE_CALL),
    no_text_beside_a_call("airline", _ONE_CALL),
    transfer_is_announced("airline", _TRANSFER),
    nothing_after_a_transfer("airline", _TRANSFER, WRITES),
)
