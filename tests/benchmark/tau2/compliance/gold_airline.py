"""Conversations of the airline that keep its policy, made from reference solutions."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from maseval.benchmark.tau2.data_loader import domain_folder
from maseval.benchmark.tau2.domains import domain_named
from tests.benchmark.tau2.compliance.gold_talk import Do, Say, Step, steps_of


@cache
def database() -> dict[str, Any]:
    domain = domain_named("airline")
    folder = domain_folder(domain, [domain.db_file], None)
    found: dict[str, Any] = json.loads((folder / domain.db_file).read_text(encoding="utf-8"))
    return found


def conversation(task: Mapping[str, Any], version: str | None = None) -> list[Step]:
    """The gold conversation of a task, in which the user also says why a journey is cancelled.

    The agent looks up what it changes and what it books before it speaks of it.
    """
    steps: list[Step] = []
    for step in steps_of("airline", task, version=version):
        if isinstance(step, Do) and step.name in WRITES:
            steps[-2:-2] = _looked_up(step.arguments)
        steps.append(step)
    if any(isinstance(each, Do) and each.name == "cancel_reservation" for each in steps):
        steps[1:1] = [
            Say("assistant", "May I ask for the reason?"),
            Say("user", "The reason is the one that I gave, a change of my plans."),
        ]
    return steps


WRITES = ("book_reservation", "cancel_reservation", "update_reservation_flights")
WRITES += ("update_reservation_baggages", "update_reservation_passengers")


def _looked_up(arguments: Mapping[str, Any]) -> Iterator[Step]:
    if "reservation_id" in arguments:
        yield Do("get_reservation_details", {"reservation_id": arguments["reservation_id"]})
    for each in arguments.get("flights", ()):
        flight = database()["flights"][each["flight_number"]]
        route = {key: flight[key] for key in ("origin", "destination")}
        yield Do("search_direct_flight", {**route, "date": each["date"]})
