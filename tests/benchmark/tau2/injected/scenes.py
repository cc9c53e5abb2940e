"""Gold conversations of airline and retail as scenes: a wish, an offer, a yes, and the change.

Unlike the conversations for the rules of the policy, the user says each wish in its own words when
it is about it, so that a fault can be written into one wish and leave the others as they are.
"""

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from tests.benchmark.tau2.compliance import gold_airline, gold_retail
from tests.benchmark.tau2.compliance.gold_talk import Do, Say, Step
from tests.benchmark.tau2.staged import gold, is_write, to_be_said

Task = Mapping[str, Any]
GOODBYE = "No, that is all. Thank you. ###STOP###"
NO_MORE = "Is there anything else that I can do for you?"
YES = "Yes, please go ahead."


@dataclass
class Scene:
    """One change of the reference solution; any part may be left out."""

    before: list[Step]
    request: str
    offer: str
    call: Do
    reply: str = YES
    made: bool = True
    report: str = ""
    instead: list[Step] | None = None

    @property
    def name(self) -> str:
        return self.call.name

    @property
    def arguments(self) -> dict[str, Any]:
        return self.call.arguments

    def steps(self) -> list[Step]:
        """The scene; with ``instead``, what happens after the request in its place."""
        asked: list[Step] = [*self.before, Say("user", self.request)]
        if self.instead is not None:
            return [*asked, *self.instead]
        asked += [Say("assistant", self.offer), Say("user", self.reply)]
        return [*asked, *([self.call] if self.made else ()), Say("assistant", self.report)]


@dataclass
class Conversation:
    """The whole of it: who the user is, the scenes, what the user wants to know, and the end."""

    domain: str
    task: Task
    opening: list[Step]
    scenes: list[Scene]
    reads: list[Step]
    said: str
    ending: list[Step] = field(default_factory=lambda: [Say("user", GOODBYE)])
    reason: str = "user_stop"

    def steps(self) -> list[Step]:
        asked: list[Step] = [*self.reads]
        if self.said:
            asked += [Say("user", QUESTION), Say("assistant", self.said), Say("user", "I see.")]
        scenes = [step for scene in self.scenes for step in scene.steps()]
        return [*self.opening, *scenes, *asked, Say("assistant", NO_MORE), *self.ending]

    def copy(self) -> "Conversation":
        return deepcopy(self)

    def cut_in(self, scene: Scene, steps: Sequence[Step]) -> "Conversation":
        """The conversation ends with these steps, after the request of a scene."""
        at = self.scenes.index(scene)
        scene.instead = []
        before = [step for each in self.scenes[: at + 1] for step in each.steps()]
        self.opening, self.scenes, self.reads, self.said = [*self.opening, *before], [], [], ""
        self.ending = list(steps)
        return self


QUESTION = "Before we finish, please tell me the figures and facts that I wanted to know."


def words_of(call: Do) -> str:
    return call.name.replace("_", " ")


def about(call: Do) -> str:
    """The record that a call is about."""
    first = next(iter(call.arguments.values()))
    return str(first)


def offer_of(domain: str, call: Do) -> str:
    if domain == "retail" and call.name in gold_retail.WRITES:
        return gold_retail.proposal(call.name, call.arguments).text
    lines = [f"- {key}: {_plain(value)}" for key, value in call.arguments.items()]
    return "\n".join([f"I will {words_of(call)}:", *lines, "Do you confirm (yes/no)?"])


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def report_of(call: Do) -> str:
    return f"I have made the change for {about(call)}: {words_of(call)} is done."


def conversation(domain: str, task: Task) -> Conversation | None:
    """The reference solution of a task in scenes; None if nobody can tell who the user is."""
    user_id = customer(domain, task)
    if user_id is None:
        return None
    opening: list[Step] = [
        Say("user", "Hello, I need your help."),
        Say("assistant", "Of course. Who are you, please?"),
        Say("user", introduction(domain, user_id)),
        *looked_up(domain, user_id),
    ]
    scenes: list[Scene] = []
    reads: list[Step] = []
    for action in gold(task):
        call = Do(action["name"], dict(action["arguments"]))
        if not is_write(domain, action):
            reads.append(call)
            continue
        reads += record_of(domain, call)
        offer = offer_of(domain, call)
        request = wish_of(domain, call)
        scenes.append(Scene(reads, request, offer, call, report=report_of(call)))
        reads = []
    if any(isinstance(each, Do) and each.name.startswith("transfer") for each in reads):
        return None
    infos = to_be_said(task)
    said = f"Here they are: {', '.join(infos)}." if infos else ""
    return Conversation(domain, task, opening, scenes, reads, said)


def customer(domain: str, task: Task) -> str | None:
    if domain == "retail":
        user = gold_retail.owner(task)
        return None if user is None else user.user_id
    database = gold_airline.database()
    for action in gold(task):
        found = action["arguments"].get("user_id")
        reservation = database["reservations"].get(action["arguments"].get("reservation_id"))
        if found or reservation:
            return str(found or reservation["user_id"])
    return None


def introduction(domain: str, user_id: str) -> str:
    if domain == "retail":
        return gold_retail.introduction(gold_retail.shop().users.view(user_id))
    user = gold_airline.database()["users"][user_id]
    name = user["name"]
    return f"I am {name['first_name']} {name['last_name']}, and my user id is {user_id}."


def looked_up(domain: str, user_id: str) -> list[Step]:
    """The calls with which the agent learns who the user is."""
    details = Do("get_user_details", {"user_id": user_id})
    if domain == "airline":
        return [details]
    email = gold_retail.shop().users.view(user_id).email
    return [Do("find_user_id_by_email", {"email": email}), details]


def record_of(domain: str, call: Do) -> list[Step]:
    """The calls with which the agent reads what a change is about."""
    if domain == "retail":
        return list(gold_retail.reads(call.arguments))
    found = call.arguments.get("reservation_id")
    return [Do("get_reservation_details", {"reservation_id": found})] if found else []


def wish_of(domain: str, call: Do) -> str:
    return _shop_wish(call) if domain == "retail" else _flight_wish(call)


def _shop_wish(call: Do) -> str:
    told = call.arguments
    order = gold_retail.shop().orders.get(told.get("order_id", ""))
    if "zip" in told:
        whose = f"of order {told['order_id']}" if order else "in my profile"
        return f"Please change the address {whose} to {gold_retail.address(told)}."
    if call.name == gold_retail.CANCEL:
        return f"Please cancel order {told['order_id']}. The reason is: {told['reason']}."
    paid = in_words(order.user_id if order else "", str(told.get("payment_method_id")))
    names = {item.item_id: item.name for item in order.items} if order else {}
    old = [names.get(each, "item") for each in told.get("item_ids") or ()]
    if call.name == gold_retail.RETURN:
        what = f"return the {' and the '.join(old)} of order {told['order_id']}"
        return f"I want to {what}. The refund should go to my {paid}."
    if call.name == gold_retail.PAYMENT:
        return f"Please let me pay for order {told['order_id']} with my {paid}."
    verb = "exchange" if call.name == gold_retail.EXCHANGE else "modify"
    pairs = zip(old, told["new_item_ids"], strict=False)
    what = " and ".join(f"the {name} for the one with {options(new)}" for name, new in pairs)
    return f"I want to {verb} {what} in order {told['order_id']}. I pay with my {paid}."


def options(item_id: str) -> str:
    variant = gold_retail.variant_of(item_id)
    return ", ".join(f"{k} {v}" for k, v in variant.options.items()) if variant else item_id


def in_words(user_id: str, method: str) -> str:
    """A method of payment as people speak of it."""
    if method.startswith("paypal"):
        return "PayPal account"
    return "gift card" if method.startswith("gift") else f"credit card ({method})"


def _flight_wish(call: Do) -> str:
    told = call.arguments
    record = told.get("reservation_id")
    if call.name == "cancel_reservation":
        return f"I want to cancel reservation {record}, because my plans have changed."
    if call.name == "send_certificate":
        return f"I want a compensation of ${told['amount']} for the trouble."
    if call.name == "update_reservation_baggages":
        return f"I want to have {told['total_baggages']} bags in all on reservation {record}."
    if call.name == "update_reservation_passengers":
        people = [f"{each['first_name']} {each['last_name']}" for each in told["passengers"]]
        born = [each["dob"] for each in told["passengers"]]
        who = ", ".join(f"{n}, born {b}" for n, b in zip(people, born, strict=True))
        return f"The passengers of reservation {record} should be {who}."
    flights = ", ".join(f"{each['flight_number']} on {each['date']}" for each in told["flights"])
    if call.name == "book_reservation":
        people = [f"{p['first_name']} {p['last_name']} ({p['dob']})" for p in told["passengers"]]
        paid = ", ".join(f"{p['amount']} with {p['payment_id']}" for p in told["payment_methods"])
        return (
            f"I want to book {told['cabin']} from {told['origin']} to {told['destination']} on "
            f"{flights} for {', '.join(people)}, with {told['total_baggages']} bags and "
            f"insurance: {told['insurance']}. I pay {paid}."
        )
    return (
        f"Please put reservation {record} on {flights} in {told['cabin']}. "
        f"I pay with {told['payment_id']}."
    )
