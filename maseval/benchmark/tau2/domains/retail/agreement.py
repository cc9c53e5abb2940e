"""Rules of the shop about what was said before a change: the figure, the payment, the details.

The agent's last text before the customer's reply is the question, and both together are what was
agreed to. Where that leaves something open, earlier texts since the last change count as well.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache

from maseval.benchmark.tau2.domains.retail.eligibility import (
    CANCEL,
    MODIFY_ADDRESS,
    MODIFY_PAYMENT,
    OF_ITEMS,
    PAYING,
    REASONS,
    REPLACING,
    RETURN,
    USER_ADDRESS,
    WRITES,
    amount_booked,
    items_of,
    method_of,
    order_of,
    owner_of,
    paid_with,
    replacements,
)
from maseval.benchmark.tau2.domains.retail.models import (
    CreditCard,
    GiftCard,
    OrderItem,
    User,
    UserAddress,
)
from maseval.benchmark.tau2.domains.rules import (
    Answer,
    Broken,
    CannotTell,
    Kind,
    Moment,
    Rule,
    Said,
    rule,
)
from maseval.benchmark.tau2.words import agrees, asks, mentions, sentences

_AMOUNT = re.compile(r"\$ ?(\d[\d,]*(?:\.\d+)?)|\b(\d[\d,]*\.\d\d)\b")
_DONE = (
    r"(?:process|refund|issu|charg|credit|appli|cancel|complet|updat|exchang|modifi|initiat)\w*ed"
)
_REPORTS = re.compile(
    rf"\b(?:has|have|had|was|were) (?:\w+ ){{0,3}}{_DONE}\b|\band refunded\b", re.I
)
_GIVES_BACK = re.compile(r"\b(?:refund|credited|receive|get back|returned to)", re.I)
_TAKES = re.compile(r"\b(?:charg|pay(?!pal|ment)|additional|extra|owe|due|cost)", re.I)
_OF_A_CHANGE = re.compile(
    r"\b(?:differen|additional|extra|refund|charg|owe|credited|pay(?!pal|ment))"
    r"|\$ ?[\d.,]+ (?:more|less|cheaper|back)",
    re.I,
)
_OF_A_REFUND = re.compile(r"\b(?:refund|credited|receive|get back)|\$ ?[\d.,]+ back", re.I)
# An amount right behind these is what will be moved, even if it is also a price.
_MOVED = re.compile(
    r"\b(?:differen|refund|charg|credited|pay(?!pal|ment))\w*(?: \w+){0,3}:? ?[-+]?\$? ?$", re.I
)

_GIFT_CARD = re.compile(r"\bgift[- ]?card", re.I)
_PAYPAL = re.compile(r"\bpaypal", re.I)
_CARD = re.compile(
    r"\b(?:credit|debit|my|the|your|that|this|same|original|visa|master) ?cards?\b", re.I
)
_CREDIT_CARD = re.compile(r"\b(?:credit|debit) ?cards?\b", re.I)
_BRANDS = {
    "visa": re.compile(r"\bvisa\b", re.I),
    "mastercard": re.compile(r"\bmaster ?card\b", re.I),
    "amex": re.compile(r"\bamex\b|\bamerican express\b", re.I),
    "discover": re.compile(r"\bdiscover card\b", re.I),
}
_ORIGINAL = re.compile(
    r"\b(?:original|same|initial)(?:ly)? (?:\w+ )?(?:payment|method|card|account|form|way|visa"
    r"|mastercard|paypal)|payment method (?:you )?(?:\w+ )?used|used (?:for|to pay|in|on|when)"
    r"|(?:paid|bought|purchased) (?:\w+ )?with|(?:originally|previously) (?:paid|used)",
    re.I,
)
_INSTEAD = re.compile(r"\b(?:inste?ad of|rather than)[^.,;!?\n]*", re.I)
_ON_FILE = re.compile(r"\bon (?:file|record|your account|your profile)|existing payment", re.I)

_REASON_WORDS = {
    "no longer needed": re.compile(
        r"\b(?:no longer|any ?more|any longer|(?:do|does|did|is|are|was)(?:n't| not)|not|never"
        r"|no|without) (?:\w+ ){0,3}(?:need|want|require|use|interest)|changed (?:my|their) mind"
        r"|(?:need|want) (?:it|them|this|that|those|these) any|unneeded|unnecessary",
        re.I,
    ),
    "ordered by mistake": re.compile(
        r"\b(?:mistake|accident|wrong|in error|by error|didn't mean|did not mean|unintention"
        r"|inadvertent)",
        re.I,
    ),
}

_REMINDS = re.compile(
    r"\b(?:all|any|any other|other|more|additional|further|every|each|complete|only|else)\b"
    r"[^.?!\n]{0,60}\b(?:items?|products?|changes?|modif\w*|exchang\w*)\b"
    r"|\b(?:only|just) (?:\w+ ){0,4}once\b|\bone[- ]time\b|anything else"
    r"|\b(?:everything|complete list|full list)\b",
    re.I,
)
_EVERYTHING = re.compile(
    r"\b(?:all|everything|both|entire|whole|every|each|them|these|those|rest|other)\b", re.I
)
_NO_WORD = re.compile(r"[^a-z0-9]+")
_SIZES = {
    "s": "s|small",
    "m": "m|medium",
    "l": "l|large",
    "xl": "xl|extra[ -]large",
}
_ZIP = re.compile(r"(?<![\w#$.-])\d{5}(?![\w.-])")
_DEFAULT = re.compile(
    r"\b(?:default|on file|on record|in (?:my|your) (?:profile|account)|profile|same|current)\b",
    re.I,
)
_STREET = re.compile(
    r"\b\d+ (?:\w+ ){1,3}(?:st|street|ave|avenue|dr|drive|ln|lane|rd|road)\b", re.I
)


def _asked(moment: Moment) -> tuple[Said | None, Said | None]:
    return moment.talk.question_and_reply(moment.message_index)


def _last_change(moment: Moment) -> int:
    """Return the message of the last change that was made before, in an earlier message."""
    for made in reversed(moment.talk.calls_before(moment.message_index)):
        if made.call["name"] in WRITES and not made.failed:
            return made.message_index
    return -1


def _texts_backwards(moment: Moment) -> list[Said]:
    """Return what both sides said before a call, the last text first."""
    at, talk = moment.message_index, moment.talk
    both = [*talk.user_before(at), *talk.agent_before(at)]
    return sorted(both, key=lambda said: -said.message_index)


def _changes_on_this_reply(moment: Moment) -> int:
    """Count the changes that follow the same words of the customer."""
    _, reply = _asked(moment)
    start = reply.message_index if reply else -1
    end = next(
        (each.message_index for each in moment.talk.user if each.message_index > start), None
    )
    return sum(
        made.call["name"] in WRITES and (end is None or made.message_index < end)
        for made in moment.talk.calls
        if made.message_index > start
    )


# ---- the figure


def _amounts_in(text: str) -> list[tuple[int, float]]:
    """Return the amounts of money in a text, each with its place."""
    found = ((each.start(), each[1] or each[2]) for each in _AMOUNT.finditer(text))
    return [(at, float(amount.replace(",", ""))) for at, amount in found]


def _figures_told(
    moment: Moment, text: str, about: re.Pattern[str], *, done: bool = False
) -> list[tuple[str, float]]:
    """Return the amounts that a text says will be moved, or were, each with its sentence.

    Prices and balances are no such amounts.
    """
    if not _AMOUNT.search(text):
        return []
    prices = _prices(moment)
    return [
        (sentence, amount)
        for sentence in sentences(text)
        if about.search(sentence) and bool(_REPORTS.search(sentence)) is done
        for at, amount in _amounts_in(sentence)
        if amount not in prices or _MOVED.search(sentence[:at])
    ]


def _prices(moment: Moment) -> set[float]:
    """Return the amounts that may stand beside a figure without being one."""
    user, order = owner_of(moment), order_of(moment)
    methods = user.payment_methods.values() if user else ()
    known = {method.balance for method in methods if isinstance(method, GiftCard)}
    if order is not None and moment.call["name"] in REPLACING:
        known |= {item.price for item in order.items}
        known |= {entry.amount for entry in order.payment_history}
        known |= {pair.variant.price for pair in replacements(moment)}
    return known


def _parts(moment: Moment) -> set[float]:
    """Return the amounts of the items of a change that add up to its own."""
    if moment.call["name"] in REPLACING:
        return {abs(round(new.price - old.price, 2)) for old, new in replacements(moment)}
    return {item.price for item in items_of(moment)}


@rule(
    "retail.amount.told",
    Kind.DATA_FLOW,
    place="Introduction: 5th paragraph; Modify items, Return, Exchange: on payment",
    tools=(*OF_ITEMS, CANCEL, MODIFY_PAYMENT),
    reads_words=True,
)
def figure_is_the_one_told(moment: Moment) -> Iterator[Answer]:
    """The amount that the customer agreed to is the amount that is booked."""
    booked = amount_booked(moment)
    question, _ = _asked(moment)
    if booked is None or question is None or not _is_well_formed(moment):
        return
    figures = _figures_told(moment, question.text, _words_about(moment))
    if not figures:
        return
    parts = _parts(moment)
    right = [(text, told) for text, told in figures if _same_amount(told, abs(booked))]
    told = [amount for _, amount in figures]
    if not right and not all(amount in parts for amount in told):
        if _changes_on_this_reply(moment) > 1:
            yield CannotTell(f"{_money(told)} was told for several changes at once")
        else:
            yield Broken(
                f"{_money(told)} was told, and {abs(booked):.2f} is booked",
                {"told": told[0] if len(told) == 1 else told, "booked": booked},
                question.message_index,
            )
    elif right and all(_wrong_way(text, moment, booked) for text, _ in right):
        way = "charged" if booked > 0 else "given back"
        yield Broken(
            f"{abs(booked):.2f} is {way}, and the customer was told the opposite",
            {"told": right[0][0], "booked": booked},
            question.message_index,
        )


@rule(
    "retail.amount.reported",
    Kind.DATA_FLOW,
    place="Introduction: 6th paragraph",
    tools=(*OF_ITEMS, CANCEL, MODIFY_PAYMENT),
    reads_words=True,
)
def figure_reported_is_right(moment: Moment) -> Iterator[Answer]:
    """The amount that the agent reports after a change is the amount that was booked."""
    booked, report = amount_booked(moment), report_of(moment)
    if booked is None or moment.failed or report is None or not _is_well_formed(moment):
        return
    if _changes_on_this_reply(moment) > 1:
        return  # whose figure it is cannot be told, and often a sum is reported
    about = _words_about(moment)
    figures = _figures_told(moment, report.text, about, done=True)
    if not asks(report.text):
        figures += _figures_told(moment, report.text, about)
    told = [amount for _, amount in figures]
    parts = _parts(moment)
    if not told or any(_same_amount(each, abs(booked)) or each in parts for each in told):
        return
    yield Broken(
        f"{_money(told)} was reported, and {abs(booked):.2f} was booked",
        {"told": told[0] if len(told) == 1 else told, "booked": booked},
        report.message_index,
    )


def report_of(moment: Moment) -> Said | None:
    """Return the agent's first text after a call, unless the customer speaks before it."""
    at = moment.message_index
    later = (said for said in moment.talk.agent if said.message_index > at)
    report = next(later, None)
    if report is None or any(
        at < each.message_index < report.message_index for each in moment.talk.user
    ):
        return None
    return report


def _words_about(moment: Moment) -> re.Pattern[str]:
    return _OF_A_REFUND if moment.call["name"] in (CANCEL, RETURN) else _OF_A_CHANGE


def _is_well_formed(moment: Moment) -> bool:
    listed = moment.arguments.get("item_ids")
    if moment.call["name"] not in OF_ITEMS:
        return True
    found = replacements(moment) if moment.call["name"] in REPLACING else items_of(moment)
    return isinstance(listed, list) and len(found) == len(listed) > 0


def _same_amount(told: float, booked: float) -> bool:
    return abs(told - booked) < 0.006 or (told == int(told) and told == round(booked))


def _wrong_way(text: str, moment: Moment, booked: float) -> bool:
    """Tell whether a text gives back what is taken, or the other way round."""
    if moment.call["name"] == MODIFY_PAYMENT:
        return False  # one method gets back what the other pays
    back, taken = bool(_GIVES_BACK.search(text)), bool(_TAKES.search(text))
    return back != taken and (back if booked > 0 else taken) and booked != 0


def _money(amounts: Iterable[float]) -> str:
    return ", ".join(dict.fromkeys(f"{each:.2f}" for each in amounts))


# ---- the payment


def _methods_named(text: str, user: User, original: list[str]) -> set[str]:
    """Return the ids of the payment methods that a text may mean.

    A kind that the customer does not have stands for itself.
    """
    text = _INSTEAD.sub(" ", text)
    named = {each for each in user.payment_methods if each in text}
    if named:
        return named
    for kind, pattern in (("gift_card", _GIFT_CARD), ("paypal", _PAYPAL)):
        if pattern.search(text):
            own = {each.id for each in user.payment_methods.values() if each.source == kind}
            named |= own or {kind.replace("_", " ")}
    named |= _cards_named(text, user)
    if _ORIGINAL.search(text):
        named |= set(original)
    if not named and _ON_FILE.search(text):
        named |= set(user.payment_methods)
    return named


def _cards_named(text: str, user: User) -> set[str]:
    cards = [each for each in user.payment_methods.values() if isinstance(each, CreditCard)]
    exact = {each.id for each in cards if mentions(text, each.last_four)}
    if exact:
        return exact
    by_brand = {
        each.id
        for each in cards
        if (brand := _BRANDS.get(each.brand.lower())) is not None and brand.search(text)
    }
    if by_brand:
        return by_brand
    without_gifts = _GIFT_CARD.sub(" ", text)
    if _CARD.search(without_gifts):
        return {each.id for each in cards} or (
            {"credit card"} if _CREDIT_CARD.search(without_gifts) else set()
        )
    return set()


@rule(
    "retail.payment.confirmed",
    Kind.DATA_FLOW,
    place="Introduction: 5th paragraph; Modify payment, Modify items, Return, Exchange: on payment",
    tools=PAYING,
    reads_words=True,
)
def payment_is_the_one_agreed(moment: Moment) -> Iterator[Answer]:
    """The payment method that is used is the one that was agreed to."""
    user, order, method = owner_of(moment), order_of(moment), method_of(moment)
    if user is None or order is None or method is None:
        return
    original, changed = paid_with(order)[:1], _last_change(moment)
    for said in _texts_backwards(moment):
        if said.message_index < changed:
            return
        text = " ".join(each for each in sentences(said.text) if not _REPORTS.search(each))
        named = _methods_named(text, user, original)
        if not named:
            continue
        if method.id in named:
            return
        if _changes_on_this_reply(moment) > 1:
            yield CannotTell(f"{', '.join(sorted(named))} was named for several changes at once")
        elif not named & set(user.payment_methods) and _question_names(moment, user, method.id):
            yield CannotTell(f"{', '.join(sorted(named))} was wished for, and is not to be had")
        else:
            yield Broken(
                f"{', '.join(sorted(named))} was agreed to, and {method.id} is used",
                {"agreed": sorted(named), "used": method.id},
            )
        return


def _question_names(moment: Moment, user: User, method_id: str) -> bool:
    question, order = _asked(moment)[0], order_of(moment)
    original = paid_with(order)[:1] if order else []
    return question is not None and method_id in _methods_named(question.text, user, original)


@rule(
    "retail.payment.provided",
    Kind.PROTOCOL,
    place="Modify payment, Modify items, Return, Exchange: on payment",
    tools=PAYING,
)
def customer_chose_the_payment(moment: Moment) -> Iterator[Answer]:
    """The customer says, or agrees to, how the money goes, where there is a choice."""
    user, order, method = owner_of(moment), order_of(moment), method_of(moment)
    if user is None or order is None or method is None or len(user.payment_methods) < 2:
        return
    original = paid_with(order)[:1]
    for said in _texts_backwards(moment):
        if method.id in _methods_named(said.text, user, original):
            return
    yield Broken(
        f"nobody named {method.id}, one of {len(user.payment_methods)} payment methods",
        {"used": method.id, "has": list(user.payment_methods)},
    )


# ---- the reason


@rule(
    "retail.cancel.reason_said",
    Kind.PROTOCOL,
    place="Cancel pending order: 2nd paragraph",
    tools=(CANCEL,),
)
def reason_is_the_customers(moment: Moment) -> Iterator[Answer]:
    """The reason of a cancellation is the one that the customer gave or agreed to."""
    reason = moment.arguments.get("reason")
    words = _REASON_WORDS.get(reason) if isinstance(reason, str) else None
    if words is None or words.search(moment.user_said):
        return
    question, reply = _asked(moment)
    other = next(name for name in _REASON_WORDS if name != reason)
    values = {"reason": reason}
    if question is not None and reply is not None and agrees(reply.text):
        offered = [name for name in REASONS if _REASON_WORDS[name].search(question.text)]
        if offered == [reason]:
            return
    if _REASON_WORDS[other].search(moment.user_said):
        yield Broken(f"the customer said {other!r}, and {reason!r} is booked", values)
    else:
        yield Broken(f"the customer never gave the reason {reason!r}", values)


# ---- the details


@rule(
    "retail.items.reminder",
    Kind.FORM,  # without it nothing else goes wrong, as long as the items themselves are agreed to
    place="Modify items: 1st paragraph; Exchange delivered order: 1st paragraph",
    tools=REPLACING,
    reads_words=True,
)
def customer_is_reminded(moment: Moment) -> Iterator[Answer]:
    """The customer is reminded to name all items before the only change of the items."""
    if not any(
        _REMINDS.search(said.text) for said in moment.talk.agent_before(moment.message_index)
    ):
        yield Broken("the customer was not reminded to name all items that are to be changed")


@rule(
    "retail.details.order",
    Kind.PROTOCOL,
    place="Cancel pending order: 2nd paragraph; Return delivered order: 2nd paragraph",
    tools=(CANCEL, RETURN),
)
def order_was_named(moment: Moment) -> Iterator[Answer]:
    """The customer is asked to confirm the order by its id."""
    order = order_of(moment)
    if order is None:
        return
    bare = order.order_id.lstrip("#").lower()
    if not any(bare in said.text.lower() for said in _texts_backwards(moment)):
        yield Broken(f"order {order.order_id} was never named", {"order": order.order_id})


@rule(
    "retail.details.items",
    Kind.PROTOCOL,
    place="Introduction: 5th paragraph; Return delivered order: 2nd paragraph",
    tools=OF_ITEMS,
)
def items_were_named(moment: Moment) -> Iterator[Answer]:
    """The items that are changed or returned were named before the customer agreed."""
    text = _before_the_reply(moment)
    order, listed = order_of(moment), items_of(moment)
    if order is not None and len(listed) == len(order.items) and mentions(text, order.order_id):
        return
    for item in {each.item_id: each for each in listed}.values():
        if not _names_item(text, item):
            if _EVERYTHING.search(text) and len(listed) > 1:
                yield CannotTell(f"{item.name} is among all of them, if at all")
            else:
                yield Broken(
                    f"{item.name} was not spoken of before the customer agreed",
                    {"item": item.item_id, "name": item.name},
                )


def _before_the_reply(moment: Moment) -> str:
    """Return all that both sides said before the customer's last words, in small letters."""
    _, reply = _asked(moment)
    at = reply.message_index if reply else moment.message_index
    return "\n".join(
        said.text for said in _texts_backwards(moment) if said.message_index < at
    ).lower()


def _names_item(text: str, item: OrderItem) -> bool:
    words = [each for each in re.split(r"[\s-]+", item.name.lower()) if len(each) > 2]
    return item.item_id in text or any(each.rstrip("s") in text for each in words)


@rule(
    "retail.details.options",
    Kind.PROTOCOL,
    place="Introduction: 5th paragraph",
    tools=REPLACING,
)
def new_items_were_described(moment: Moment) -> Iterator[Answer]:
    """The item that comes instead was described before the customer agreed."""
    text = _before_the_reply(moment)
    for item, variant in replacements(moment):
        if variant.item_id in text or f"{variant.price:.2f}" in text.replace(",", ""):
            continue
        changed = [
            key if value in ("yes", "no") else value  # "waterproof" tells more than "yes"
            for key, value in variant.options.items()
            if item.options.get(key) != value
        ]
        told = [each for each in changed if _says_option(text, each)]
        if changed and not told:
            yield Broken(
                f"the new {item.name} was never described",
                {"item": variant.item_id, "options": dict(variant.options)},
            )
        elif len(told) < len(changed):
            missing = ", ".join(each for each in changed if each not in told)
            yield CannotTell(f"the new {item.name} was described without {missing}")


def _says_option(text: str, value: str) -> bool:
    """Tell whether a text in small letters has the words of an option, in any order or as one."""
    words = re.findall(r"[a-z0-9]+", value.lower())
    if all(_find_word(_SIZES.get(word, word)).search(text) for word in words):
        return True
    return len(value) > 3 and not value.isalpha() and "".join(words) in _NO_WORD.sub("", text)


@cache
def _find_word(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z0-9])(?:{word})s?(?![a-z0-9])")


@rule(
    "retail.details.address",
    Kind.PROTOCOL,
    place="Introduction: 5th paragraph",
    tools=(MODIFY_ADDRESS, USER_ADDRESS),
)
def address_was_named(moment: Moment) -> Iterator[Answer]:
    """The new address was named before the customer agreed."""
    texts = "\n".join(said.text for said in _texts_backwards(moment)).lower()
    street, suite, zip_code, city = (
        moment.arguments.get(each) for each in ("address1", "address2", "zip", "city")
    )
    missing = {
        name: value
        for name, value in (("address1", street), ("address2", suite), ("zip", zip_code))
        if isinstance(value, str)
        and value
        and value.lower() not in texts
        and value != getattr(_address_now(moment), name, None)
    }
    if not missing or (_is_the_default(moment) and _DEFAULT.search(texts)):
        return
    if _names_place(texts, city) and ("address1" not in missing or _hints_at(texts, street)):
        yield CannotTell(f"the address in {city} was named in other words, if at all")
        return
    yield Broken(f"{', '.join(missing.values())} was never named", missing)


def _names_place(texts: str, city: object) -> bool:
    return isinstance(city, str) and city != "" and city.lower() in texts


def _hints_at(texts: str, street: object) -> bool:
    """Tell whether texts have the number of a house, or speak of an address that is on record."""
    number = re.match(r"\d+", street) if isinstance(street, str) else None
    return _DEFAULT.search(texts) is not None or (number and mentions(texts, number[0])) is True


def _is_the_default(moment: Moment) -> bool:
    user = owner_of(moment)
    return user is not None and user.address.address1 == moment.arguments.get("address1")


@rule(
    "retail.address.confirmed",
    Kind.DATA_FLOW,
    place="Introduction: 5th paragraph",
    tools=(MODIFY_ADDRESS, USER_ADDRESS),
    reads_words=True,
)
def address_is_the_one_agreed(moment: Moment) -> Iterator[Answer]:
    """The address that is entered is the one that was agreed to."""
    question, reply = _asked(moment)
    if question is None or reply is None:
        return
    text, now = question.text.lower(), _address_now(moment)
    for name, told in (("zip", _ZIP.findall(text)), ("address1", _STREET.findall(text))):
        value = moment.arguments.get(name)
        others = set(told) - {getattr(now, name, "").lower()}
        if isinstance(value, str) and others and value.lower() not in text:
            yield Broken(
                f"{', '.join(sorted(others))} was agreed to, and {value} is entered",
                {"agreed": sorted(others), "entered": value},
            )
            return


def _address_now(moment: Moment) -> UserAddress | None:
    """Return the address that a call would replace."""
    record = order_of(moment) if moment.call["name"] == MODIFY_ADDRESS else owner_of(moment)
    return record.address if record else None


AGREEMENT: tuple[Rule, ...] = (
    *(
        figure_is_the_one_told,
        figure_reported_is_right,
        payment_is_the_one_agreed,
        customer_chose_the_payment,
    ),
    *(reason_is_the_customers, customer_is_reminded, order_was_named, items_were_named),
    *(new_items_were_described, address_was_named, address_is_the_one_agreed),
)
