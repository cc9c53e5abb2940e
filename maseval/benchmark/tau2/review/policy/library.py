"""The library's policy as rules: an example of what a domain of one's own can bring."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from maseval.benchmark.tau2.domains.library.tools import LibraryTools
from maseval.benchmark.tau2.review.policy.confirming import (
    explicit_yes,
    no_text_beside_a_call,
    one_call_at_a_time,
)
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken, Kind, rule
from maseval.benchmark.tau2.review.talk import CallMoment

MOST_OWED = 10.00
MOST_RENEWALS = 2
MOST_HOLDS = 3
MOST_WAIVED = 5.00
_YEAR = timedelta(days=365)
_MONTH = timedelta(days=30)
_TABLES = {"loan_id": "loans", "hold_id": "holds", "fine_id": "fines", "member_id": "members"}
# What members ask for themselves; desk work and favours need no agreement.
_AGREED = ("renew_loan", "place_hold", "cancel_hold", "pay_fine", "renew_membership")
_WRITES = (*_AGREED, "check_in", "waive_fine")


@rule("library.loan.renewable", Kind.STATE, place="Loans, renewal", tools=["renew_loan"])
def renewable(moment: CallMoment) -> Iterator[Answer]:
    """A loan is renewed only before it is overdue, at most twice, and if nobody waits for it."""
    tools: LibraryTools = moment.tools
    loan = tools.db.loans.view(moment.arguments["loan_id"])
    if loan.due < tools.db.today:
        yield Broken("the loan is overdue", {"due": loan.due, "today": tools.db.today})
    if loan.renewals >= MOST_RENEWALS:
        yield Broken("the loan has been renewed often enough", {"renewals": loan.renewals})
    waiting = [hold for hold in tools.db.holds.values() if hold.status == "waiting"]
    if any(hold.title_id == tools.db.copies.view(loan.barcode).title_id for hold in waiting):
        yield Broken("somebody is waiting for the title", {"loan": loan.loan_id})


@rule("library.standing", Kind.STATE, place="Good standing", tools=["renew_loan", "place_hold"])
def good_standing(moment: CallMoment) -> Iterator[Answer]:
    """Renewals and holds are for members with a valid card who owe less than ten."""
    tools: LibraryTools = moment.tools
    member_id = _member(moment)
    if member_id is None:
        return
    member = tools.db.members.view(member_id)
    if member.card_expires < tools.db.today:
        yield Broken("the card has expired", {"expired": member.card_expires})
    fines = [fine for fine in tools.db.fines.values() if fine.member_id == member_id]
    # The sum of floats is rounded before it is compared with a whole amount.
    owed = round(sum(fine.amount for fine in fines if fine.status == "owed"), 2)
    if owed >= MOST_OWED:
        yield Broken("too much is owed", {"owed": owed})


@rule("library.return.dropped", Kind.STATE, place="Returns", tools=["check_in"])
def dropped(moment: CallMoment) -> Iterator[Answer]:
    """Only what lies in the drop box is checked in."""
    barcode = moment.arguments["barcode"]
    if barcode not in moment.tools.db.drop_box:
        yield Broken("the item does not lie in the drop box", {"barcode": barcode})


@rule("library.hold.allowed", Kind.STATE, place="Holds", tools=["place_hold"])
def hold_allowed(moment: CallMoment) -> Iterator[Answer]:
    """A hold is placed on what can be lent and is not on its shelf, and a member has three."""
    tools: LibraryTools = moment.tools
    title = tools.db.titles.view(moment.arguments["title_id"])
    if title.kind == "reference":
        yield Broken("reference works are not lent", {"title": title.title})
    copies = [copy for copy in tools.db.copies.values() if copy.title_id == title.title_id]
    if any(copy.status == "on shelf" for copy in copies):
        yield Broken("a copy is on the shelf", {"title": title.title})
    holds = [h for h in tools.db.holds.values() if h.member_id == moment.arguments["member_id"]]
    active = sum(hold.status != "cancelled" for hold in holds)
    if active >= MOST_HOLDS:
        yield Broken("the member has enough holds", {"active": active})


@rule("library.fine.waivable", Kind.STATE, place="Fines, waiving", tools=["waive_fine"])
def waivable(moment: CallMoment) -> Iterator[Answer]:
    """A small fine for a late return is waived, once in twelve months."""
    tools: LibraryTools = moment.tools
    fine = tools.db.fines.view(moment.arguments["fine_id"])
    if fine.reason != "late":
        yield Broken("only fines for late returns are waived", {"reason": fine.reason})
    if fine.amount > MOST_WAIVED:
        yield Broken("the fine is too high to be waived", {"amount": fine.amount})
    last = tools.db.members.view(fine.member_id).last_waiver
    if last is not None and tools.db.today - last < _YEAR:
        yield Broken("a fine was waived within the last year", {"last_waiver": last})


@rule("library.card.due", Kind.STATE, place="Cards", tools=["renew_membership"])
def card_due(moment: CallMoment) -> Iterator[Answer]:
    """A card is renewed from thirty days before it expires."""
    tools: LibraryTools = moment.tools
    expires = tools.db.members.view(moment.arguments["member_id"]).card_expires
    if expires - tools.db.today > _MONTH:
        yield Broken("it is too early to renew the card", {"expires": expires})


@rule("library.identity", Kind.DATA_FLOW, place="Always, 1st and 2nd point", tools=_WRITES)
def own_account(moment: CallMoment) -> Iterator[Answer]:
    """Only the account of the member who was looked up by card or by name and birth is changed."""
    member_id = _member(moment)
    made = moment.calls_read
    known = [each for each in made if each.call["name"] in ("get_member", "find_member")]
    if not any(not each.failed for each in known):
        yield Broken("the member was not identified")
    elif member_id is not None and not any(member_id in each.answer for each in known):
        yield Broken("the account belongs to somebody else", {"member": member_id})


def _member(moment: CallMoment) -> str | None:
    db = moment.tools.db
    # A return names no member, but the item's open loan does.
    if moment.call["name"] == "check_in":
        loans = [each for each in db.loans.values() if each.returned is None]
        barcode = moment.arguments.get("barcode")
        return next((each.member_id for each in loans if each.barcode == barcode), None)
    for name, table_name in _TABLES.items():
        table: Mapping[str, Any] = getattr(db, table_name)
        if (key := str(moment.arguments.get(name))) in table:
            return str(table[key].member_id)
    return None


RULES = (
    renewable,
    good_standing,
    dropped,
    hold_allowed,
    waivable,
    card_due,
    own_account,
    explicit_yes("library", "Always, 3rd point", _AGREED),
    one_call_at_a_time("library", "Always, 5th point"),
    no_text_beside_a_call("library", "Always, 5th point"),
)
