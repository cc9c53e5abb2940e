"""Records of the shop: products in variants, customers with means of payment, and orders.

The order of the fields is the order in which a model reads them.

After tau2-bench v0.2.0, src/tau2/domains/retail/data_model.py (MIT, Sierra Research).
"""

from typing import Annotated, Literal

from pydantic import Field

from maseval.benchmark.tau2.domains.base import DB
from maseval.benchmark.tau2.world.state.records import Record, Table


class Variant(Record):
    """One buyable form of a product; its item id is what orders refer to."""

    item_id: str
    options: dict[str, str]
    available: bool
    price: float


class Product(Record):
    """A kind of thing that is sold."""

    name: str
    product_id: str
    variants: dict[str, Variant]


class UserName(Record):
    first_name: str
    last_name: str


class UserAddress(Record):
    """The address of a customer or of an order."""

    address1: str
    address2: str
    city: str
    country: str
    state: str
    zip: str


class CreditCard(Record):
    """A card; what is charged to it is not kept."""

    source: Literal["credit_card"]
    id: str
    brand: str
    last_four: str


class GiftCard(Record):
    """The one means of payment that can run out."""

    source: Literal["gift_card"]
    id: str
    balance: float


class Paypal(Record):
    """A PayPal account; what is charged to it is not kept."""

    source: Literal["paypal"]
    id: str


PaymentMethod = Annotated[CreditCard | GiftCard | Paypal, Field(discriminator="source")]


class User(Record):
    user_id: str
    name: UserName
    address: UserAddress
    email: str
    payment_methods: dict[str, PaymentMethod]
    orders: list[str]


class OrderItem(Record):
    """A variant as it was ordered, at the price of that day."""

    name: str
    product_id: str
    item_id: str
    price: float
    options: dict[str, str]


class OrderFulfillment(Record):
    """A parcel, or several, and what is in it."""

    tracking_id: list[str]
    item_ids: list[str]


class OrderPayment(Record):
    """Money that moved for an order."""

    transaction_type: Literal["payment", "refund"]
    amount: float
    payment_method_id: str


OrderStatus = Literal[
    "processed",
    "pending",
    "pending (item modified)",
    "delivered",
    "cancelled",
    "exchange requested",
    "return requested",
]
CancelReason = Literal["no longer needed", "ordered by mistake"]


class Order(Record):
    """A customer's order, and what became of it."""

    order_id: str
    user_id: str
    address: UserAddress
    items: list[OrderItem]
    status: OrderStatus
    fulfillments: list[OrderFulfillment]
    payment_history: list[OrderPayment]
    cancel_reason: CancelReason | None = None
    exchange_items: list[str] | None = None
    exchange_new_items: list[str] | None = None
    exchange_payment_method_id: str | None = None
    exchange_price_difference: float | None = None
    return_items: list[str] | None = None
    return_payment_method_id: str | None = None


class RetailDB(DB):
    products: Table[Product]
    users: Table[User]
    orders: Table[Order]

    def get_statistics(self) -> dict[str, int]:
        return {
            "num_products": len(self.products),
            "num_users": len(self.users),
            "num_orders": len(self.orders),
            "total_num_items": sum(len(product.variants) for product in self.products.views()),
        }
