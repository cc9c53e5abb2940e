"""Values that the shop's tools cannot undo."""

from maseval.benchmark.tau2.world.state.permanence import (
    PermanenceRule,
    append_only,
    moves_along,
    once_set,
)

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
