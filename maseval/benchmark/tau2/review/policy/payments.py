"""Payments: which of a person's payment methods a text may mean."""

import re
from collections.abc import Collection, Mapping
from typing import Any

from maseval.benchmark.tau2.review.policy import phrases
from maseval.benchmark.tau2.review.words import stands_in

_KINDS = {
    "gift_card": phrases.GIFT_CARD,
    "paypal": re.compile("paypal"),
    "certificate": re.compile("certificate|voucher"),
}
_BRANDS = {
    "visa": re.compile(r"visa(?<!\wvisa)\b"),
    "mastercard": re.compile(r"m(?<!\wm)(?:aster ?card|c)\b"),
    "amex": re.compile(r"am(?<!\wam)(?:ex|erican express)\b"),
    "discover": re.compile(r"discover card(?<!\wdiscover card)\b"),
}
_OF_THE_ORIGINAL = ("original", "same", "initial", "used", "paid", "bought", "purchased")
_OF_PAYMENT = (
    *("card", "paypal", "certificate", "voucher", "visa", "amex", "express", "pay", "paid", "used"),
    *("bought", "same", "original", "purchased", "existing", " on ", "initial", "mc ", "cc "),
)


def methods_named(text: str, own: Mapping[str, Any], original: Collection[str] = ()) -> set[str]:
    """Return the ids of the payment methods that a text in lower case may mean.

    ``own`` are those of a person by their ids, ``original`` the one that paid before. A kind that
    the person does not have stands for itself.
    """
    if not any(word in text for word in _OF_PAYMENT):
        return set()
    if "nst" in text or "rather" in text or "not " in text:
        text = phrases.INSTEAD.sub(" ", text)
    numbered = {each for each, method in own.items() if _has_number(text, method)}
    if any(each in text for each in own):
        return numbered
    named: set[str] = set()
    for kind, words in _KINDS.items():
        if words.search(text):
            alike = {each for each, method in own.items() if method.source == kind}
            named |= alike or {kind.replace("_", " ")}
    cards = {each: card for each, card in own.items() if card.source == "credit_card"}
    named |= numbered or _cards_named(text, cards)
    if original and any(w in text for w in _OF_THE_ORIGINAL) and phrases.ORIGINAL.search(text):
        named |= set(original)
    if not named and phrases.ON_FILE.search(text):
        named |= set(own)
    return named


def _has_number(text: str, method: Any) -> bool:
    """Return True if a text has the id of a method, its number, or the last four digits."""
    number, last_four = method.id.rpartition("_")[2], getattr(method, "last_four", None)
    return method.id in text or any(
        stands_in(text, each) for each in (number, number[-4:], last_four) if each
    )


def _cards_named(text: str, cards: Mapping[str, Any]) -> set[str]:
    if "card" not in text and not any(brand.search(text) for brand in _BRANDS.values()):
        return set()
    unknown = {f"card ending in {each}" for each in phrases.ENDING.findall(text)}
    brands = ((each, _BRANDS.get(card.brand.lower())) for each, card in cards.items())
    by_brand = {each for each, brand in brands if brand is not None and brand.search(text)}
    if unknown or by_brand:
        return unknown or by_brand
    without_gifts = phrases.GIFT_CARD.sub(" ", text)
    if not phrases.CARD.search(without_gifts):
        return set()
    return set(cards) or ({"credit card"} if phrases.CREDIT_CARD.search(without_gifts) else set())
