"""Retail: an online shop whose assistant looks up, changes, returns and exchanges orders.

After tau2-bench v0.2.0, src/tau2/domains/retail/ (MIT, Sierra Research).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from maseval.benchmark.tau2.domains.base import ToolType, is_tool
from maseval.benchmark.tau2.domains.domain import (
    Customers,
    Domain,
    LateRules,
    MoneyField,
    OpenChoice,
    PermanenceRule,
    append_only,
    moves_along,
    once_set,
    payment_choice,
)
from maseval.benchmark.tau2.domains.retail.models import *  # noqa: F403  # the records, as in MASEval
from maseval.benchmark.tau2.domains.retail.models import Product, RetailDB, Variant
from maseval.benchmark.tau2.domains.retail.tools import RetailTools


class ItemRetailTools(RetailTools, called="RetailTools", predictable=True):
    """The shop's tools since v1.0.0: an item can be looked up without its product."""

    @is_tool(ToolType.READ, after="get_product_details")
    def get_item_details(self, item_id: str) -> Variant:
        """Get one variant of a product: its options, its price and whether it is available.

        Args:
            item_id: The item's id, for example "1008292230". This is not a product id.
        """
        # There is no index of items, as in the original: the first product that has it counts.
        for product in self._searched_products():
            if item_id in product.variants:
                return product.variants[item_id]
        raise ValueError("Item not found")

    def _searched_products(self) -> Iterable[Product]:
        return self.db.products.views()


class FaultyItemRetailTools(ItemRetailTools, called="RetailTools", predictable=True):
    """The shop's tools of tau2-bench-verified, whose lookup of items has a fault: it finds none."""

    def _searched_products(self) -> Iterable[Product]:
        return ()


class _Lenient(RetailTools):
    """Understands an order id without its ``#``, which the original does not."""

    def _known_order_id(self, order_id: str) -> str:
        if isinstance(order_id, str) and not order_id.startswith("#"):
            order_id = f"#{order_id}"
        return super()._known_order_id(order_id)


class LenientRetailTools(_Lenient):
    """The tools of v0.2.0, but order ids may lack their ``#``."""


class LenientItemRetailTools(_Lenient, ItemRetailTools):
    """The same for v1.0.1."""


class LenientFaultyItemRetailTools(_Lenient, FaultyItemRetailTools):
    """The same for tau2-bench-verified."""


# The tools that change something, in groups by what they change.
CANCEL, MODIFY_ITEMS = "cancel_pending_order", "modify_pending_order_items"
MODIFY_ADDRESS, MODIFY_PAYMENT = "modify_pending_order_address", "modify_pending_order_payment"
RETURN, EXCHANGE = "return_delivered_order_items", "exchange_delivered_order_items"
USER_ADDRESS = "modify_user_address"

REPLACING = (MODIFY_ITEMS, EXCHANGE)
OF_ITEMS = (*REPLACING, RETURN)
PAYING = (*OF_ITEMS, MODIFY_PAYMENT)
OF_ORDERS = (*PAYING, CANCEL, MODIFY_ADDRESS)
WRITES = (*OF_ORDERS, USER_ADDRESS)

CHOICES = (
    payment_choice("payment_method_id", *OF_ITEMS),
    OpenChoice("items", "item_ids", REPLACING, unordered=True, beside=("new_item_ids",)),
    OpenChoice(
        "reason",
        "reason",
        (CANCEL,),
        # Any word about a motive counts as settling the reason.
        settled_by=re.compile(
            r"mistake|accident|no longer|\bneed|\breason|because|financ|money|wait|better deal",
            re.IGNORECASE,
        ),
    ),
)

# Values that no tool can undo.
_ORDER = {
    # No tool leads away from a status that is not listed.
    "pending": ("pending (item modified)", "cancelled"),
    "delivered": ("exchange requested", "return requested"),
}

PERMANENCE = (
    PermanenceRule(
        "orders", ("payment_history",), append_only, "money that moved stays in the history"
    ),
    PermanenceRule(
        "orders", ("status",), moves_along(_ORDER), "no tool leads back to the earlier status"
    ),
    *(
        PermanenceRule(
            "orders", (field,), once_set, "what was requested for an order cannot be taken back"
        )
        for field in (
            "cancel_reason",
            "exchange_items",
            "exchange_new_items",
            "return_items",
            "exchange_payment_method_id",
            "return_payment_method_id",
        )
    ),
)


def _order_money(order: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for each in order["payment_history"]:
        sign = 1 if each["transaction_type"] == "payment" else -1
        yield each["payment_method_id"], sign * each["amount"]
    # Exchanges and returns are requested: the money moves when the items are back.
    if order["exchange_price_difference"]:
        yield str(order["exchange_payment_method_id"]), order["exchange_price_difference"]
    prices = {item["item_id"]: item["price"] for item in order["items"]}
    for item_id in order["return_items"] or ():
        yield str(order["return_payment_method_id"]), -prices.get(item_id, 0.0)


RETAIL = Domain(
    name="retail",
    db=RetailDB,
    toolkit=RetailTools,
    lenient_toolkit=LenientRetailTools,
    solo_refusal="Retail domain does not support solo mode",
    rules=LateRules("retail.rules"),
    choices=CHOICES,
    permanence=PERMANENCE,
    money=[MoneyField("orders", _order_money)],
    customers=Customers("users", "user_id"),
)

RETAIL_WITH_ITEMS = replace(RETAIL, toolkit=ItemRetailTools, lenient_toolkit=LenientItemRetailTools)
RETAIL_WITH_FAULTY_ITEMS = replace(
    RETAIL, toolkit=FaultyItemRetailTools, lenient_toolkit=LenientFaultyItemRetailTools
)

__all__ = ["RETAIL", "RETAIL_WITH_FAULTY_ITEMS", "RETAIL_WITH_ITEMS", "RetailDB", "RetailTools"]
