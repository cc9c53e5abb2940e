"""The tools of the shop's agent as later releases have them, and those that are lenient.

After tau2-bench v1.0.1, src/tau2/domains/retail/tools.py (MIT, Sierra Research).
"""

from maseval.benchmark.tau2.domains.base import ToolType, is_tool
from maseval.benchmark.tau2.domains.retail.models import Variant
from maseval.benchmark.tau2.domains.retail.tools import RetailTools


class ItemRetailTools(RetailTools, called="RetailTools", predictable=True):
    """The shop's tools since v1.0.0: an item can be looked up without its product."""

    @is_tool(ToolType.READ, after="get_product_details")
    def get_item_details(self, item_id: str) -> Variant:
        """Get one variant of a product: its options, its price and whether it is available.

        Args:
            item_id: The item's id, for example "1008292230". This is not a product id.
        """
        for product_id in self.db.products:
            variants = self.db.products.view(product_id).variants
            if item_id in variants:
                return variants[item_id]
        raise ValueError("Item not found")


class FaultyItemRetailTools(RetailTools, called="RetailTools", predictable=True):
    """The shop's tools of tau2-bench-verified, whose lookup of items has a fault: it finds none."""

    @is_tool(ToolType.READ, after="get_product_details")
    def get_item_details(self, item_id: str) -> Variant:
        """Get one variant of a product: its options, its price and whether it is available.

        Args:
            item_id: The item's id, for example "1008292230". This is not a product id.
        """
        raise ValueError("Item not found")


class _Lenient(RetailTools):
    """Understands an order id without its ``#``, which the original does not."""

    def _known_order_id(self, order_id: str) -> str:
        if isinstance(order_id, str) and not order_id.startswith("#"):
            order_id = f"#{order_id}"
        return super()._known_order_id(order_id)


class LenientRetailTools(_Lenient):
    """The tools of v0.2.0, but order ids may lack their ``#``."""


class LenientItemRetailTools(_Lenient, ItemRetailTools):
    """The tools of v1.0.1, but order ids may lack their ``#``."""


class LenientFaultyItemRetailTools(_Lenient, FaultyItemRetailTools):
    """The tools of tau2-bench-verified, but order ids may lack their ``#``."""
