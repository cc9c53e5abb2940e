"""Retail: an online shop whose assistant looks up, changes, returns and exchanges orders.

After tau2-bench v0.2.0, src/tau2/domains/retail/ (MIT, Sierra Research).
"""

import re
from dataclasses import replace

from maseval.benchmark.tau2.domains.domain import (
    Domain,
    LateRules,
    OpenChoice,
    PermanenceRule,
    append_only,
    moves_along,
    once_set,
    payment_choice,
)
from maseval.benchmark.tau2.domains.retail.models import *  # noqa: F403  # the records, as in MASEval
from maseval.benchmark.tau2.domains.retail.models import RetailDB
from maseval.benchmark.tau2.domains.retail.release_tools import (
    FaultyItemRetailTools,
    ItemRetailTools,
    LenientFaultyItemRetailTools,
    LenientItemRetailTools,
    LenientRetailTools,
)
from maseval.benchmark.tau2.domains.retail.tools import RetailTools

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
        *("reason", "reason", (CANCEL,)),
        settled_by=re.compile(
            r"mistake|accident|no longer|\bneed|\breason|because|financ|money|wait|better deal",
            re.IGNORECASE,
        ),
    ),
)

# Values that no tool can undo.
_ORDER = {
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
            *("cancel_reason", "exchange_items", "exchange_new_items", "return_items"),
            *("exchange_payment_method_id", "return_payment_method_id"),
        )
    ),
)

RETAIL = Domain(
    name="retail",
    db=RetailDB,
    toolkit=RetailTools,
    lenient_toolkit=LenientRetailTools,
    solo_refusal="Retail domain does not support solo mode",
    rules=LateRules("retail.rules"),
    choices=CHOICES,
    permanence=PERMANENCE,
)

RETAIL_WITH_ITEMS = replace(RETAIL, toolkit=ItemRetailTools, lenient_toolkit=LenientItemRetailTools)
RETAIL_WITH_FAULTY_ITEMS = replace(
    RETAIL, toolkit=FaultyItemRetailTools, lenient_toolkit=LenientFaultyItemRetailTools
)

__all__ = ["RETAIL", "RETAIL_WITH_FAULTY_ITEMS", "RETAIL_WITH_ITEMS", "RetailDB", "RetailTools"]
