"""The airline's rules: gold conversations keep them, and each is found broken where it is."""

import itertools

import pytest

from maseval.benchmark.tau2.data_loader import load_raw_task, load_raw_tasks
from maseval.benchmark.tau2.domains import domain_named
from maseval.benchmark.tau2.review.policy.airline.rules import RULES
from maseval.benchmark.tau2.review.policy.checking import DEMANDED
from maseval.benchmark.tau2.review.policy.rules import Kind
from tests.benchmark.tau2.compliance.gold_airline import conversation
from tests.benchmark.tau2.compliance.gold_talk import Do, Say, compliance_of

pytestmark = pytest.mark.data

RELEASES = {"0.2.0": "tau2_data", "1.0.1": "tau2_data_of_1_0_1", "verified": "tau2_data_verified"}
FORM = {rule.id for rule in RULES if rule.kind is Kind.FORM}
# The reference solutions that break a rule of state.
GOLD_BREAKS = {
    ("0.2.0", "2", "airline.compensation.grounds"),
    ("0.2.0", "7", "airline.cancel.eligible"),
    ("0.2.0", "9", "airline.cancel.flown"),
    ("0.2.0", "27", "airline.compensation.grounds"),
    ("0.2.0", "29", "airline.flights.journey"),
    ("0.2.0", "33", "airline.bags.paid"),
    ("0.2.0", "37", "airline.cancel.flown"),
    ("0.2.0", "38", "airline.compensation.grounds"),
    ("verified", "33", "airline.bags.paid"),
}
# The same solutions send certificates before they have looked at the flights.
GOLD_SKIPS_FACTS = {("0.2.0", task, "airline.compensation.facts") for task in ("2", "27", "38")}


@pytest.mark.beside
@pytest.mark.parametrize("version", RELEASES)
def test_gold_conversations_break_only_what_the_gold_demands(version, request):
    request.getfixturevalue(RELEASES[version])
    found, demanded = set(), set()
    for task in load_raw_tasks("airline", None, version=version):
        compliance = compliance_of("airline", task, conversation(task, version), version=version)
        assert not compliance.failed_rules
        assert not compliance.undecided, (task["id"], compliance.undecided)
        for breach in compliance.breaches:
            (demanded if breach.kind == DEMANDED else found).add((version, task["id"], breach.rule))

    assert demanded == {each for each in GOLD_BREAKS if each[0] == version}
    assert {each for each in found if each[2] not in FORM} == {
        each for each in GOLD_SKIPS_FACTS if each[0] == version
    }


ABSURD = [None, "", -1, True, [], [None], [{}], {"a": 1}, "\u20ac" * 5]


def test_absurd_arguments_make_no_rule_raise(tau2_data):
    task = load_raw_task("airline", "43")
    tools = domain_named("airline").toolkit
    keys = {
        "book_reservation": (
            *("user_id", "origin", "destination", "flight_type", "cabin", "flights", "passengers"),
            *("payment_methods", "total_baggages", "nonfree_baggages", "insurance"),
        ),
        "cancel_reservation": ("reservation_id",),
        "update_reservation_flights": ("reservation_id", "cabin", "flights", "payment_id"),
        "update_reservation_passengers": ("reservation_id", "passengers"),
        "update_reservation_baggages": (
            *("reservation_id", "total_baggages", "nonfree_baggages", "payment_id"),
        ),
        "send_certificate": ("user_id", "amount"),
    }
    real = {"reservation_id": "FDZ0T5", "user_id": "anya_garcia_5901", "cabin": "economy"}
    steps = [Say("user", "My user id is anya_garcia_5901."), Say("assistant", "Proceed?")]
    for name, arguments in keys.items():
        assert tools.mutates(name)
        steps += [Say("user", "Yes."), Do(name, {})]
        for key, value in itertools.product(arguments, ABSURD):
            whole = {each: real.get(each, "economy") for each in arguments}
            steps += [Do(name, {**whole, key: value}), Do(name, {key: value})]

    compliance = compliance_of("airline", task, steps)

    assert compliance.failed_rules == ()
    assert compliance.unreadable is None


def test_a_change_to_no_flights_at_all_is_a_breach_that_was_carried_out(tau2_data):
    task = load_raw_task("airline", "43")
    arguments = {
        "reservation_id": "FDZ0T5",
        "cabin": "economy",
        "flights": [],
        "payment_id": "gift_card_0000000",
    }
    steps = [Say("user", "Remove my flights"), Do("update_reservation_flights", arguments)]

    found = [b for b in compliance_of("airline", task, steps).breaches if "journey" in b.rule]

    assert [breach.text.startswith("no flight is left") for breach in found] == [True]
