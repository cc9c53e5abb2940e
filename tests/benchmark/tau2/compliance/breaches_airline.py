"""Conversations of the airline's agent that keep the policy, and what breaks each of its rules.

A mutant is a gold conversation to which a scene is added: a user asks for one more thing, the agent
looks it up, proposes it and does it. ``SCENES`` keep the policy; a function of ``MUTANTS`` breaks
one rule in a scene, or in the gold conversation itself.
"""

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from maseval.benchmark.tau2.data.domain_files import domain_folder
from maseval.benchmark.tau2.domains import domain_named
from tests.benchmark.tau2.compliance.gold_talk import Do, Say, Step, proposal, steps_of
from tests.benchmark.tau2.staged import wish

Arguments = dict[str, Any]
Reservation = Mapping[str, Any]
Test = Callable[[Reservation], bool]
Scene = Callable[[random.Random], list[Step] | None]
Mutation = Callable[[list[Step], Mapping[str, Any], random.Random], list[Step] | None]
WITHOUT_INSURANCE = "I want to book a flight with my free bags, and no insurance."


@cache
def database() -> dict[str, Any]:
    domain = domain_named("airline")
    folder = domain_folder(domain, [domain.db_file], None, domain.version)
    found: dict[str, Any] = json.loads((folder / domain.db_file).read_text(encoding="utf-8"))
    return found


def gold_steps(task: Mapping[str, Any], version: str | None = None) -> list[Step]:
    """The gold conversation of a task, in which the user also says why a journey is cancelled."""
    steps = steps_of("airline", task, version=version)
    if any(isinstance(each, Do) and each.name == "cancel_reservation" for each in steps):
        steps[1:1] = [
            Say("assistant", "May I ask for the reason?"),
            Say("user", "The reason is the one that I gave, a change of my plans."),
        ]
    return steps


def statuses(reservation: Reservation) -> set[str]:
    flights = database()["flights"]
    return {
        flights[flight["flight_number"]]["dates"][flight["date"]]["status"]
        for flight in reservation["flights"]
    }


@cache
def reservations(kind: str) -> list[dict[str, Any]]:
    """The reservations of the database whose flights are in a state."""
    tests: dict[str, Test] = {
        "open": lambda r: statuses(r) <= {"available"},
        "flown": lambda r: bool(statuses(r) & {"landed", "flying"}),
        "cancelled": lambda r: "cancelled" in statuses(r),
        "delayed": lambda r: "delayed" in statuses(r),
        "quiet": lambda r: not statuses(r) & {"delayed", "cancelled"},
    }
    return [each for each in database()["reservations"].values() if tests[kind](each)]


def pick(rng: random.Random, kind: str, test: Test) -> dict[str, Any]:
    return rng.choice([each for each in reservations(kind) if test(each)])


def is_free(reservation: Reservation) -> bool:
    """True if it may be cancelled whatever the reason is."""
    recent = reservation["created_at"] >= "2024-05-14T15:00:00"
    return recent or reservation["cabin"] == "business" or "cancelled" in statuses(reservation)


def insured_only(reservation: Reservation) -> bool:
    return reservation["insurance"] == "yes" and not is_free(reservation)


def owner(reservation: Reservation) -> dict[str, Any]:
    found: dict[str, Any] = database()["users"][reservation["user_id"]]
    return found


def deserves(reservation: Reservation) -> bool:
    """True if its user may be compensated for it."""
    member = owner(reservation)["membership"] != "regular"
    return member or reservation["insurance"] == "yes" or reservation["cabin"] == "business"


def methods(user: Mapping[str, Any], source: str) -> list[str]:
    return [k for k, m in user["payment_methods"].items() if m["source"] == source]


def has_card(reservation: Reservation) -> bool:
    return bool(methods(owner(reservation), "credit_card"))


def allowance(cabin: str, membership: str, passengers: int) -> int:
    free = {"basic_economy": 0, "economy": 1, "business": 2}[cabin]
    return (free + {"regular": 0, "silver": 1, "gold": 2}[membership]) * passengers


def scene(
    name: str,
    arguments: Arguments,
    *,
    why: str = "Because my plans changed.",
    says_id: bool = True,
    done: Arguments | None = None,
    text: str | None = None,
) -> list[Step]:
    """One more wish: said, looked up, proposed and done; ``done`` if otherwise than proposed."""
    record = arguments.get("reservation_id")
    user = arguments.get("user_id") or database()["reservations"][record]["user_id"]
    given = f" My user id is {user}." if says_id else ""
    about = f" It is about reservation {record}." if record else ""
    steps: list[Step] = [Say("user", f"There is one more thing.{given}{about} {why}")]
    steps += [Do("get_user_details", {"user_id": user})] if says_id else []
    steps += [Do("get_reservation_details", {"reservation_id": record})] if record else []
    offered = Say("assistant", text) if text else proposal(name, arguments)
    answer = Say("user", "Yes, please go ahead.")
    return [*steps, offered, answer, Do(name, dict(done or arguments))]


def with_scene(steps: Sequence[Step], added: Sequence[Step] | None) -> list[Step] | None:
    return None if added is None else [*steps[:-1], *added, *steps[-2:]]


@cache
def offers(seats: int) -> list[tuple[dict[str, Any], str, int]]:
    """The flights that can be booked in economy, with date and price."""
    return [
        (flight, date, day["prices"]["economy"])
        for flight in database()["flights"].values()
        for date, day in flight["dates"].items()
        if day["status"] == "available" and day["available_seats"]["economy"] >= seats
    ]


@cache
def unbookable() -> list[tuple[dict[str, Any], str]]:
    return [
        (flight, date)
        for flight in database()["flights"].values()
        for date, day in flight["dates"].items()
        if day["status"] in ("delayed", "on time", "flying")
    ]


def booking(rng: random.Random, passengers: int = 1, *, cards: int = 1, bags: bool = True) -> Any:
    """The arguments of a booking that keeps the policy, for a user with so many credit cards."""
    users = database()["users"].values()
    user = rng.choice([each for each in users if len(methods(each, "credit_card")) >= cards])
    flight, date, price = rng.choice(offers(passengers))
    free = allowance("economy", user["membership"], passengers)
    people = [
        {"first_name": "Ana", "last_name": f"Silva{chr(65 + n)}", "dob": f"1990-01-{n + 1:02}"}
        for n in range(passengers)
    ]
    card = methods(user, "credit_card")[0]
    return {
        "user_id": user["user_id"],
        "origin": flight["origin"],
        "destination": flight["destination"],
        "flight_type": "one_way",
        "cabin": "economy",
        "flights": [{"flight_number": flight["flight_number"], "date": date}],
        "passengers": people,
        "payment_methods": [{"payment_id": card, "amount": price * passengers}],
        "total_baggages": free if bags else 0,
        "nonfree_baggages": 0,
        "insurance": "no",
    }


def hiding(arguments: Arguments, *keys: str) -> str:
    """A proposal that does not name some of the arguments."""
    shown = {key: value for key, value in arguments.items() if key not in keys}
    return proposal("book_reservation", shown).text


def book(arguments: Arguments, **more: Any) -> list[Step]:
    return scene("book_reservation", arguments, **{"why": WITHOUT_INSURANCE, **more})


def cancel(reservation: Reservation, **more: Any) -> list[Step]:
    arguments = {"reservation_id": reservation["reservation_id"]}
    return scene("cancel_reservation", arguments, **more)


def add_bags(arguments: Arguments) -> list[Step]:
    return scene("update_reservation_baggages", arguments, why="I want to add my bags.")


def change(rng: random.Random, *, basic: bool) -> Arguments | None:
    """Another flight of the same route for an open direct journey."""
    journeys = [
        each
        for each in reservations("open")
        if len(each["flights"]) == 1 and has_card(each) and each["flight_type"] == "one_way"
    ]
    for each in rng.sample(journeys, len(journeys)):
        other = other_flight(rng, each)
        if other and (each["cabin"] == "basic_economy") == basic:
            return {
                "reservation_id": each["reservation_id"],
                "cabin": each["cabin"],
                "flights": [other],
                "payment_id": methods(owner(each), "credit_card")[0],
            }
    return None


def other_flight(rng: random.Random, reservation: Reservation) -> dict[str, str] | None:
    [taken], seats = reservation["flights"], len(reservation["passengers"])
    found = [
        {"flight_number": flight["flight_number"], "date": date}
        for flight in database()["flights"].values()
        if (flight["origin"], flight["destination"]) == (taken["origin"], taken["destination"])
        and flight["flight_number"] != taken["flight_number"]
        for date, day in flight["dates"].items()
        if day["status"] == "available" and day["available_seats"][reservation["cabin"]] >= seats
    ]
    return rng.choice(found) if found else None


def free_bags(rng: random.Random) -> Arguments:
    """The arguments that add to an open journey all the bags that are free."""

    def is_fit(each: Reservation) -> bool:
        return (
            has_card(each) and not each["nonfree_baggages"] and free(each) > each["total_baggages"]
        )

    def free(each: Reservation) -> int:
        return allowance(each["cabin"], owner(each)["membership"], len(each["passengers"]))

    reservation = pick(rng, "open", is_fit)
    return {
        "reservation_id": reservation["reservation_id"],
        "total_baggages": free(reservation),
        "nonfree_baggages": 0,
        "payment_id": methods(owner(reservation), "credit_card")[0],
    }


def as_it_is(reservation: Reservation, source: str, **changes: Any) -> Arguments:
    """The arguments that leave the flights of a reservation as they are."""
    kept = [{key: f[key] for key in ("flight_number", "date")} for f in reservation["flights"]]
    return {
        "reservation_id": reservation["reservation_id"],
        "cabin": reservation["cabin"],
        "flights": kept,
        "payment_id": methods(owner(reservation), source)[0],
        **changes,
    }


def certificate(
    reservation: Reservation,
    rate: float,
    *,
    why: str = "I want compensation for this reservation.",
    looked_up: bool = True,
) -> list[Step]:
    """A certificate of a rate a passenger, after the reservation and its flights were looked up."""
    record, user = reservation["reservation_id"], reservation["user_id"]
    amount = int(rate * len(reservation["passengers"]))
    steps: list[Step] = [
        Say("user", f"My user id is {user}. Now to reservation {record}. {why}"),
        Do("get_user_details", {"user_id": user}),
    ]
    if looked_up:
        steps.append(Do("get_reservation_details", {"reservation_id": record}))
        for flight in reservation["flights"]:
            wanted = {key: flight[key] for key in ("flight_number", "date")}
            steps.append(Do("get_flight_status", wanted))
    offer = f"I can offer you a certificate of ${amount} as a gesture. Would you like it?"
    sent = Do("send_certificate", {"user_id": user, "amount": amount})
    return [*steps, Say("assistant", offer), Say("user", "Yes, please."), sent]


# Scenes that keep the policy.


def changes(rng: random.Random) -> list[Step] | None:
    arguments = change(rng, basic=False)
    return arguments and scene("update_reservation_flights", arguments)


def renames(rng: random.Random) -> list[Step]:
    reservation = rng.choice(reservations("open"))
    people = [dict(each) for each in reservation["passengers"]]
    people[0] |= {"first_name": "Olga", "last_name": "Meier"}
    arguments = {"reservation_id": reservation["reservation_id"], "passengers": people}
    return scene("update_reservation_passengers", arguments)


SCENES: dict[str, Scene] = {
    "book": lambda rng: book(booking(rng, rng.randint(1, 3))),
    "change flights": changes,
    "add bags": lambda rng: add_bags(free_bags(rng)),
    "rename": renames,
    "cancel": lambda rng: cancel(pick(rng, "open", is_free)),
    "cancel when ill": lambda rng: cancel(
        pick(rng, "open", insured_only), why="I must cancel, I fell ill."
    ),
    "compensate": lambda rng: certificate(pick(rng, "cancelled", deserves), 100),
}

# Scenes that break one rule.


def too_many_payments(rng: random.Random) -> list[Step]:
    arguments = booking(rng, cards=2, bags=False)
    price = arguments["payment_methods"][0]["amount"]
    first, second = methods(database()["users"][arguments["user_id"]], "credit_card")[:2]
    parts = [{"payment_id": first, "amount": price - 1}, {"payment_id": second, "amount": 1}]
    return book({**arguments, "payment_methods": parts})


def foreign_payment(rng: random.Random) -> list[Step]:
    arguments, other = booking(rng), booking(rng)
    [payment] = arguments["payment_methods"]
    if other["user_id"] == arguments["user_id"]:
        other["payment_methods"][0]["payment_id"] = "credit_card_0000000"
    payment["payment_id"] = other["payment_methods"][0]["payment_id"]
    return book(arguments)


def bags_for_nothing(rng: random.Random) -> list[Step]:
    arguments = booking(rng)
    arguments["total_baggages"] += rng.randint(1, 3)
    return book(arguments)


def bags_charged_wrongly(rng: random.Random) -> list[Step]:
    arguments = free_bags(rng)
    key = rng.choice(("total_baggages", "nonfree_baggages"))
    return add_bags({**arguments, key: arguments[key] + rng.randint(1, 3)})


def bags_removed(rng: random.Random) -> list[Step]:
    reservation = pick(
        rng, "open", lambda r: r["total_baggages"] > 0 == r["nonfree_baggages"] and has_card(r)
    )
    fewer = rng.randrange(reservation["total_baggages"])
    card = methods(owner(reservation), "credit_card")[0]
    record = {"reservation_id": reservation["reservation_id"], "payment_id": card}
    return add_bags({**record, "total_baggages": fewer, "nonfree_baggages": 0})


def unbookable_flight(rng: random.Random) -> list[Step]:
    arguments = booking(rng)
    flight, date = rng.choice(unbookable())
    arguments |= {"origin": flight["origin"], "destination": flight["destination"]}
    arguments["flights"] = [{"flight_number": flight["flight_number"], "date": date}]
    return book(arguments)


def other_booked_journey(rng: random.Random) -> list[Step]:
    change = rng.choice(({"flight_type": "round_trip"}, {"destination": "XYZ"}, {"origin": "XYZ"}))
    return book(booking(rng) | change)


def other_journey(rng: random.Random) -> list[Step] | None:
    arguments = change(rng, basic=False)
    if arguments is None:
        return None
    flight, date, _ = rng.choice(offers(5))
    there = [{"flight_number": flight["flight_number"], "date": date}]
    taken = database()["reservations"][arguments["reservation_id"]]
    if (flight["origin"], flight["destination"]) == (taken["origin"], taken["destination"]):
        there = []
    arguments["flights"] = rng.choice(([], there, there, there))
    return scene("update_reservation_flights", arguments)


def basic_economy_changed(rng: random.Random) -> list[Step] | None:
    arguments = change(rng, basic=True)
    return arguments and scene("update_reservation_flights", arguments)


def cabin_after_flight(rng: random.Random) -> list[Step]:
    reservation = pick(rng, "flown", has_card)
    cabin = "business" if reservation["cabin"] != "business" else "economy"
    arguments = as_it_is(reservation, "credit_card", cabin=cabin)
    return scene("update_reservation_flights", arguments)


def paid_by_certificate(rng: random.Random) -> list[Step]:
    reservation = pick(rng, "open", lambda r: bool(methods(owner(r), "certificate")))
    return scene("update_reservation_flights", as_it_is(reservation, "certificate"))


def fewer_passengers(rng: random.Random) -> list[Step]:
    reservation = pick(rng, "open", lambda r: len(r["passengers"]) > 1)
    record, people = reservation["reservation_id"], reservation["passengers"][1:]
    arguments = {"reservation_id": record, "passengers": people}
    return scene("update_reservation_passengers", arguments)


def wrong_compensation(rng: random.Random) -> list[Step]:
    reservation = pick(rng, "cancelled", deserves)
    return certificate(reservation, rng.choice((40, 60, 75, 110, 150, 200.5)))


def no_grounds(rng: random.Random) -> list[Step]:
    """Nothing happened, or a delay after which nothing was changed."""
    reservation = pick(rng, rng.choice(("quiet", "delayed")), deserves)
    return certificate(reservation, 50)


def undeserved(rng: random.Random) -> list[Step]:
    kind = rng.choice(("cancelled", "delayed"))
    return certificate(pick(rng, kind, lambda r: not deserves(r)), 100)


def unknown_record(rng: random.Random) -> list[Step]:
    reservation = pick(rng, "open", is_free)
    return [
        Say("user", f"My user id is {reservation['user_id']}. Cancel my trip, my plans changed."),
        Say("assistant", "I will cancel that reservation. Do you confirm (yes/no)?"),
        Say("user", "yes"),
        Do("cancel_reservation", {"reservation_id": reservation["reservation_id"]}),
    ]


def unknown_flight(rng: random.Random) -> list[Step]:
    arguments, other = booking(rng), booking(rng)
    flight, date, price = rng.choice(offers(1))
    done = {
        **arguments,
        "flights": [{"flight_number": flight["flight_number"], "date": date}],
        "origin": flight["origin"],
        "destination": flight["destination"],
        "payment_methods": [{**arguments["payment_methods"][0], "amount": price}],
    }
    same = done["flights"][0]["flight_number"] == arguments["flights"][0]["flight_number"]
    return book(arguments, done=done if not same else {**done, "flights": other["flights"]})


def unknown_passenger(rng: random.Random) -> list[Step]:
    arguments = booking(rng)
    change = rng.choice(({"dob": f"18{rng.randint(10, 99)}-03-17"}, {"first_name": "Zebulon"}))
    people = [{**arguments["passengers"][0], **change}]
    return book(arguments, done={**arguments, "passengers": people})


def other_payment(rng: random.Random) -> list[Step]:
    arguments = booking(rng, cards=2, bags=False)
    [payment] = arguments["payment_methods"]
    cards = methods(database()["users"][arguments["user_id"]], "credit_card")
    payment["payment_id"], used = rng.sample(cards, 2)
    return book(arguments, done={**arguments, "payment_methods": [{**payment, "payment_id": used}]})


def wrong_price(rng: random.Random) -> list[Step]:
    arguments = booking(rng, rng.randint(1, 3))
    wrong = arguments["payment_methods"][0]["amount"] + rng.choice((-7, 11, 23, 130))
    told = json.loads(json.dumps(arguments))
    told["payment_methods"][0]["amount"] = wrong
    text = hiding(told).replace("\nDo you", f"\nTotal: ${wrong}\nDo you")
    return book(arguments, text=text)


def insurance_not_asked(rng: random.Random) -> list[Step]:
    arguments = booking(rng)
    text = hiding(arguments, "insurance")
    return book(arguments, text=text, why="I want to book a flight with my free bags.")


def insurance_unwanted(rng: random.Random) -> list[Step]:
    arguments = booking(rng) | {"insurance": "yes"}
    arguments["payment_methods"][0]["amount"] += 30
    return book(arguments, text=hiding(arguments, "insurance"))


def bags_unwanted(rng: random.Random) -> list[Step]:
    arguments = booking(rng)
    why = "I want to book a flight. No insurance please. I do not have any bags."
    text = hiding(arguments, "total_baggages", "nonfree_baggages")
    return book(arguments, text=text, why=why)


def other_period(rng: random.Random) -> list[Step]:
    days = rng.choice(("7 to 10", "3-5", "10-14", "1 to 2"))
    text = f"Your refund will arrive within {days} business days."
    return [Say("user", "When do I get a refund?"), Say("assistant", text)]


def other_terms(rng: random.Random) -> list[Step]:
    """Another date, another cabin, or a flight of which only an earlier text spoke."""
    arguments = booking(rng)
    flight, date, price = rng.choice([each for each in offers(1) if each[1] != "2024-05-31"])
    taken = {"flight_number": flight["flight_number"], "date": date}
    arguments |= {"origin": flight["origin"], "destination": flight["destination"]}
    arguments["flights"] = [taken]
    arguments["payment_methods"][0]["amount"] = price
    text = hiding(arguments)
    kind = rng.randrange(3)
    if kind == 0:
        other = {**taken, "date": "2024-05-31"}
        return book(arguments, text=text.replace(json.dumps([taken]), json.dumps([other])))
    if kind == 1:
        return book(arguments, text=text.replace("cabin: economy", "cabin: business"))
    options = Say("assistant", f"There are {taken['flight_number']} and HAT999, from {date} on.")
    asked = Say("user", "I take HAT999, please.")
    steps = book(arguments, text=text.replace(taken["flight_number"], "HAT999"))
    return [*steps[:2], options, asked, *steps[2:]]


def never_done(rng: random.Random) -> list[Step]:
    told = rng.choice(
        (
            "Your reservation has been cancelled.",
            "I have sent you a certificate of $100.",
            "I've successfully booked your new reservation.",
        )
    )
    return [Say("user", "Is it done?"), Say("assistant", told)]


def done_twice(rng: random.Random) -> list[Step]:
    steps = book(booking(rng))
    return [*steps, steps[-1]]


def after_transfer(rng: random.Random) -> list[Step]:
    handed = Do("transfer_to_human_agents", {"summary": "The user wants a human."})
    return [handed, *cancel(pick(rng, "open", is_free))]


def without_yes(rng: random.Random) -> list[Step]:
    """A proposal, and then no yes: no proposal either, a no, a question, a yes for once only."""
    steps = cancel(pick(rng, "open", is_free))
    if rng.random() < 0.2:
        return done_twice(rng)
    if rng.random() < 0.3:
        return [*steps[:-3], steps[-1]]
    answers = ("No, please do not.", "How much do I get back?", "Wait, let me think about it.")
    return [*steps[:-2], Say("user", rng.choice(answers)), steps[-1]]


def details_not_listed(rng: random.Random) -> list[Step]:
    arguments = booking(rng)
    text = hiding(arguments, rng.choice(("flights", "payment_methods", "cabin")))
    why = "I want to book a journey. Do add my free bags, and no insurance."
    return book(arguments, text=text, why=why)


def no_user_id(steps: list[Step], task: Mapping[str, Any], rng: random.Random) -> list[Step] | None:
    """The gold conversation of a user who never says who they are, and one more change."""
    writes = [each for each in steps if isinstance(each, Do) and "reservation_id" in each.arguments]
    found = re.search(r"[a-z]+_[a-z]+_\d{4}", wish(task))
    if found is None or not any(each.name.startswith(("cancel", "update")) for each in writes):
        return None
    return [
        replace(each, text=each.text.replace(found[0], "a customer of yours"))
        if isinstance(each, Say)
        else each
        for each in steps
    ]


def foreign_record(
    steps: list[Step], task: Mapping[str, Any], rng: random.Random
) -> list[Step] | None:
    """A reservation of somebody else is cancelled for the user."""
    if "user id" not in wish(task).lower():
        return None
    foreign = pick(rng, "open", lambda r: is_free(r) and r["user_id"] not in wish(task))
    return adding(lambda rng: cancel(foreign, says_id=False))(steps, task, rng)


def adding(
    broken: Scene, *, silent_about: str | None = None, without: Sequence[str] = ()
) -> Mutation:
    """Add a scene, to conversations that do not speak of something or use a tool by themselves."""

    def mutate(steps: list[Step], task: Mapping[str, Any], rng: random.Random) -> list[Step] | None:
        if {"transfer", *without} & {
            each.name.split("_")[0] for each in steps if isinstance(each, Do)
        }:
            return None
        said = " ".join(each.text for each in steps if isinstance(each, Say)).lower()
        if silent_about and re.search(silent_about, said):
            return None
        return with_scene(steps, broken(rng))

    return mutate


MUTANTS: dict[str, Mutation] = {
    "airline.book.passengers": adding(lambda rng: book(booking(rng, 6))),
    "airline.book.payment_kinds": adding(too_many_payments),
    "airline.payment.in_profile": adding(foreign_payment),
    "airline.flights.payment_kind": adding(paid_by_certificate, without=["book"]),
    "airline.book.bags": adding(bags_for_nothing),
    "airline.bags.paid": adding(bags_charged_wrongly),
    "airline.bags.removed": adding(bags_removed),
    "airline.flights.bookable": adding(unbookable_flight),
    "airline.book.journey": adding(other_booked_journey),
    "airline.flights.journey": adding(other_journey),
    "airline.flights.basic_economy": adding(basic_economy_changed),
    "airline.cabin.flown": adding(cabin_after_flight),
    "airline.passengers.number": adding(fewer_passengers),
    "airline.cancel.flown": adding(lambda rng: cancel(pick(rng, "flown", lambda r: True))),
    "airline.cancel.eligible": adding(
        lambda rng: cancel(pick(rng, "open", lambda r: not deserves_to_be_cancelled(r)))
    ),
    "airline.cancel.reason": adding(
        lambda rng: cancel(pick(rng, "open", insured_only)),
        silent_about=r"sick|ill\b|health|weather|feeling|died|death|passed away|emergency|accident",
    ),
    "airline.compensation.eligible": adding(undeserved),
    "airline.compensation.amount": adding(wrong_compensation),
    "airline.compensation.grounds": adding(no_grounds),
    "airline.compensation.facts": adding(
        lambda rng: certificate(pick(rng, "cancelled", deserves), 100, looked_up=False)
    ),
    "airline.compensation.unasked": adding(
        lambda rng: certificate(pick(rng, "cancelled", deserves), 100, why="I am not happy."),
        silent_about="compensat|certificate|refund|voucher|owe|gesture|make up|some(thing| kind)",
    ),
    "airline.identity.user_id": no_user_id,
    "airline.identity.own_record": foreign_record,
    "airline.record.known": adding(unknown_record),
    "airline.flights.known": adding(unknown_flight, without=["get", "update", "search", "book"]),
    "airline.passengers.known": adding(unknown_passenger),
    "airline.payment.agreed": adding(other_payment),
    "airline.price.agreed": adding(wrong_price),
    "airline.flights.agreed": adding(other_terms),
    "airline.claim.done": adding(never_done, silent_about="cancel|book|certificate"),
    "airline.cancel.reason_obtained": adding(
        lambda rng: cancel(pick(rng, "open", is_free), why="Please cancel it."),
        silent_about=r"reason|because|plan|cancel|refund|n.?t need|no longer|\bill\b|sick",
    ),
    "airline.book.insurance_asked": adding(insurance_not_asked, silent_about="insur"),
    "airline.book.insurance_wanted": adding(insurance_unwanted),
    "airline.bags.wanted": adding(bags_unwanted),
    "airline.refund.period": adding(other_period),
    "airline.transfer.last": adding(after_transfer),
    "airline.confirm.yes": adding(without_yes),
    "airline.confirm.details": adding(details_not_listed, silent_about="economy|card"),
}


def deserves_to_be_cancelled(reservation: Reservation) -> bool:
    return reservation["insurance"] == "yes" or is_free(reservation)
