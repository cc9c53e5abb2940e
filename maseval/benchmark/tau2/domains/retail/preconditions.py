"""Prohibitions of the shop's policy that the database decides and the tools do not check."""

from collections.abc import Iterator, Mapping
from typing import Any

from maseval.benchmark.tau2.domains.retail.models import GiftCard
from maseval.benchmark.tau2.domains.retail.tools import RetailTools


def returning(tools: RetailTools, arguments: Mapping[str, Any]) -> Iterator[str]:
    """A refund goes to the method that paid, or to a gift card."""
    order = tools.db.orders.view(arguments["order_id"])
    method_id = arguments["payment_method_id"]
    method = tools.db.users.view(order.user_id).payment_methods.get(method_id)
    paid_with = {entry.payment_method_id for entry in order.payment_history}
    if method_id not in paid_with and method is not None and not isinstance(method, GiftCard):
        yield f"the refund goes to {method_id}, which neither paid nor is a gift card"


def exchange(tools: RetailTools, arguments: Mapping[str, Any]) -> Iterator[str]:
    """An item is exchanged for another option of its product, not for itself."""
    pairs = zip(arguments["item_ids"], arguments["new_item_ids"], strict=False)
    same = [old for old, new in pairs if old == new]
    if same:
        yield f"item {', '.join(same)} is exchanged for itself"


PRECONDITIONS = {
    "return_delivered_order_items": returning,
    "exchange_delivered_order_items": exchange,
}
