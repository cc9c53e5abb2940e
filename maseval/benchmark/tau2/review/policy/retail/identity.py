"""Rules of the shop about whose records are used, and where the values of a call come from."""

import re
from collections.abc import Iterator

from maseval.benchmark.tau2.domains.retail import MODIFY_ADDRESS, OF_ORDERS, USER_ADDRESS, WRITES
from maseval.benchmark.tau2.review.policy import phrases
from maseval.benchmark.tau2.review.policy.retail.eligibility import RetailCall, retail
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken, CannotTell
from maseval.benchmark.tau2.review.talk import CallMoment, once_per_call

_BY_EMAIL, _BY_NAME = "find_user_id_by_email", "find_user_id_by_name_zip"
FINDING = (_BY_EMAIL, _BY_NAME)
_READ_ORDER, _READ_USER = "get_order_details", "get_user_details"
_PROFILE, _ORDERS = (_READ_USER, USER_ADDRESS), (_READ_ORDER, *OF_ORDERS)
_EXAMPLE = "1008292230"
_ADDRESS_PARTS = ("address1", "address2", "city", "state", "zip")
_STATES = dict(
    re.findall(
        r"([A-Z]{2}) ([a-z ]+)",
        "AL alabama,AK alaska,AZ arizona,AR arkansas,CA california,CO colorado,CT connecticut,"
        "DE delaware,DC district of columbia,FL florida,GA georgia,HI hawaii,ID idaho,IL illinois,"
        "IN indiana,IA iowa,KS kansas,KY kentucky,LA louisiana,ME maine,MD maryland,"
        "MA massachusetts,MI michigan,MN minnesota,MS mississippi,MO missouri,MT montana,"
        "NE nebraska,NV nevada,NH new hampshire,NJ new jersey,NM new mexico,NY new york,"
        "NC north carolina,ND north dakota,OH ohio,OK oklahoma,OR oregon,PA pennsylvania,"
        "RI rhode island,SC south carolina,SD south dakota,TN tennessee,TX texas,UT utah,"
        "VT vermont,VA virginia,WA washington,WV west virginia,WI wisconsin,WY wyoming",
    )
)
_CODES = {name: code.lower() for code, name in _STATES.items()}


@once_per_call
def found_users(moment: CallMoment) -> list[str]:
    """Return the customers who were found by email, or by name and zip code, so far."""
    made = (each for each in moment.calls_read if each.call["name"] in FINDING)
    return list(dict.fromkeys(each.answer.strip() for each in made if not each.failed))


@retail.protocol(
    "identity.first",
    "Introduction: 2nd and 3rd paragraph",
    _READ_ORDER,
    _READ_USER,
    *WRITES,
    words=False,
)
def identity_comes_first(call: RetailCall) -> Iterator[Answer]:
    """The customer is found by email, or by name and zip code, before any record is used."""
    if not found_users(call) and not _already_used(call):
        yield Broken(
            "records are used before the customer was found by email, or by name and zip code"
        )


def _already_used(call: RetailCall) -> bool:
    """Return True if records were used before: the breach was then reported already."""
    return any(
        made.call["name"] in (*_PROFILE, *_ORDERS) and not made.failed
        for made in call.earlier_calls
    )


@retail.flow("identity.said", "Introduction: 2nd paragraph", *FINDING, words=True)
def customer_said_who(call: RetailCall) -> Iterator[Answer]:
    """The customer is looked up by what the customer said, and by nothing guessed."""
    said = _bare(call.user_words)
    for name, value in call.arguments.items():
        if isinstance(value, str) and value and _bare(value) not in said:
            yield Broken(f"the customer never said the {name} {value!r}")


@retail.flow("identity.one_user", "Introduction: 4th paragraph", _READ_USER, *WRITES)
def only_one_customer(call: RetailCall) -> Iterator[Answer]:
    """Only records of the customer who was identified are used."""
    helped, owner = helped_user(call), call.owner
    if owner is not None and helped is not None and owner.user_id != helped:
        yield Broken(f"the record belongs to {owner.user_id}, and the customer is {helped}")


@once_per_call
def helped_user(moment: CallMoment) -> str | None:
    """Return the first of those found whose records were used; the last one if none was yet."""
    found = found_users(moment)
    for made in moment.calls_read if len(found) > 1 else ():
        user_id = _owner_named(moment, made.call["name"], made.call["arguments"])
        if user_id in found and not made.failed:
            return str(user_id)
    return found[-1] if found else None


def _owner_named(call: CallMoment, tool: str, arguments: object) -> object:
    if not isinstance(arguments, dict):
        return None
    if tool in _PROFILE:
        return arguments.get("user_id")
    if tool not in _ORDERS:
        return None
    order_id, orders = arguments.get("order_id"), call.tools.db.orders
    known = isinstance(order_id, str) and order_id in orders
    return orders.view(order_id).user_id if known else None


@retail.protocol(
    "order.read", "Cancel, Modify, Return, Exchange: 1st paragraph each", *OF_ORDERS, words=False
)
def status_was_checked(call: RetailCall) -> Iterator[Answer]:
    """The order's status is looked up before the order is changed."""
    order = call.order
    if order is None:
        return
    for made in call.calls_read:
        if made.call["name"] in _ORDERS and not made.failed:
            asked = made.call["arguments"].get("order_id")
            if isinstance(asked, str) and asked.lstrip("#") == order.order_id.lstrip("#"):
                return
    yield Broken(f"order {order.order_id} was never looked up")


@retail.flow("values.known", "Introduction: 6th paragraph", *WRITES)
def ids_are_known(call: RetailCall) -> Iterator[Answer]:
    """The ids of a call were read, or said by the customer, before."""
    known = _texts_before(call)
    named = [call.arguments.get(name) for name in ("order_id", "payment_method_id", "user_id")]
    for each in (*named, *call.ids("item_ids"), *call.ids("new_item_ids")):
        # What stands in the description of a tool as an example was read there.
        described = each == _EXAMPLE or (isinstance(each, str) and phrases.ALL_ZEROS.search(each))
        if isinstance(each, str) and each and each.lstrip("#") not in known and not described:
            yield Broken(f"{each} appears in nothing read or said before")


@retail.flow(
    "address.known", "Introduction: 6th paragraph", MODIFY_ADDRESS, USER_ADDRESS, words=True
)
def address_is_known(call: RetailCall) -> Iterator[Answer]:
    """Each part of a new address was said by the customer, or read."""
    known = _words(_texts_before(call))
    for name in _ADDRESS_PARTS:
        value = call.arguments.get(name)
        if not isinstance(value, str) or not _words(value).strip():
            continue
        if not any(f" {each} " in known for each in _ways_to_say(name, value)):
            words = _words(value).split()
            if name in ("address1", "address2", "city") and all(f" {w} " in known for w in words):
                yield CannotTell(f"the words of {value!r} were said, but not together")
            elif name in ("address1", "address2") and _number(value) in known:
                yield CannotTell(f"{value!r} may have been said in other words")
            else:
                yield Broken(f"{value!r} was neither said nor read")


def _ways_to_say(name: str, value: str) -> list[str]:
    bare = _words(value).strip()
    if name == "state":
        return [bare, _STATES.get(bare.upper(), bare), _CODES.get(bare, bare)]
    return [bare]


def _number(value: str) -> str:
    found = re.search(r"\d+", value)
    return f" {found[0]} " if found else " never said "


def _texts_before(call: RetailCall) -> str:
    """Return all that the customer said and the tools answered before a call."""
    answers = (made.answer for made in call.calls_read if not made.failed)
    return "\n".join([call.user_said, *answers])


def _bare(text: str) -> str:
    return "".join(text.lower().split())


def _words(text: str) -> str:
    """Return a text in small letters, its words separated by one space and framed by spaces."""
    return f" {' '.join(text.lower().translate(phrases.PLAIN).split())} "
