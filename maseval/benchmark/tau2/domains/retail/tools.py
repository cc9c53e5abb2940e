"""The tools of the shop's agent.

Names, parameters, results, error texts and the order of checks are those of the original, slips
included; each slip is marked where it happens.

After tau2-bench v0.2.0, src/tau2/domains/retail/tools.py (MIT, Sierra Research).
"""

import json
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Literal, cast

from maseval.benchmark.tau2.domains import arithmetic
from maseval.benchmark.tau2.domains.base import ToolKitBase, ToolType, is_tool
from maseval.benchmark.tau2.domains.retail.models import (
    CancelReason,
    GiftCard,
    Order,
    OrderItem,
    OrderPayment,
    PaymentMethod,
    Product,
    RetailDB,
    User,
    UserAddress,
    Variant,
)
from maseval.benchmark.tau2.world.state.records import SharedTable, Table


class RetailTools(ToolKitBase[RetailDB], predictable=True):
    """The tools of the shop's agent, over the shop's database."""

    @is_tool(ToolType.GENERIC)
    def calculate(self, expression: str) -> str:
        """Work out an arithmetic expression. The result is rounded to two decimal places.

        Args:
            expression: The expression, made of digits, decimal points, the operators + - * /,
                parentheses and spaces only, for example "2 * (10.50 + 4)".
        """
        return arithmetic.calculate(expression)

    @is_tool(ToolType.WRITE)
    def cancel_pending_order(self, order_id: str, reason: str) -> Order:
        """Cancel an order that is still pending, and refund it in full.

        Orders that were processed, delivered or had their items modified cannot be cancelled. A
        refund to a gift card is available at once; other refunds take 5 to 7 business days. Explain
        this to the customer and obtain an explicit yes before calling.

        Args:
            order_id: The order's id, with the leading "#", for example "#W0000000".
            reason: Why the customer cancels: "no longer needed" or "ordered by mistake".
        """
        order = self._order(order_id)
        if order.status != "pending":
            raise ValueError("Non-pending order cannot be cancelled")
        if reason not in {"no longer needed", "ordered by mistake"}:
            raise ValueError("Invalid reason")

        # Every entry is refunded, earlier refunds as well.
        refunds = [
            _transaction("refund", entry.amount, entry.payment_method_id)
            for entry in order.payment_history
        ]
        for refund in refunds:
            self._settle(order.user_id, refund.payment_method_id, refund.amount)
        order.status = "cancelled"
        order.cancel_reason = cast(CancelReason, reason)
        order.payment_history.extend(refunds)
        return order

    @is_tool(ToolType.WRITE)
    def exchange_delivered_order_items(
        self, order_id: str, item_ids: list[str], new_item_ids: list[str], payment_method_id: str
    ) -> Order:
        """Request the exchange of items of a delivered order for other variants of their products.

        An order can be exchanged or returned only once, so all items must be in one call. The
        difference in price is charged or refunded to the given payment method. Explain the
        details to the customer and obtain an explicit yes before calling.

        Args:
            order_id: The order's id, with the leading "#", for example "#W0000000".
            item_ids: The ids of the items to give back. An item ordered several times may be
                listed as many times.
            new_item_ids: The ids of the items wanted instead, one for each of item_ids and in the
                same order. Each must be an available variant of the same product.
            payment_method_id: The customer's payment method for the price difference, for example
                "gift_card_0000000". It can be looked up in the customer's details.
        """
        order = self._order(order_id)
        if order.status != "delivered":
            raise ValueError("Non-delivered order cannot be exchanged")
        _require_ordered(order, item_ids, "Number of {} not found.")
        if len(item_ids) != len(new_item_ids):
            raise ValueError("The number of items to be exchanged should match.")

        # This starts as an integer: an exchange of nothing is stored as 0 and not as 0.0, which
        # changes the hash.
        difference: float = 0
        for item_id, new_item_id in zip(item_ids, new_item_ids, strict=True):
            item = _item(order, item_id)
            # Unlike in a modification, the new item may equal the old one.
            difference += self._available_variant(item, new_item_id).price - item.price
        difference = round(difference, 2)

        method = self._payment_method(order.user_id, payment_method_id)
        if isinstance(method, GiftCard) and method.balance < difference:
            raise ValueError("Insufficient gift card balance to pay for the price difference")

        order.status = "exchange requested"
        # The lists are sorted separately, so the record no longer shows which item replaces which.
        order.exchange_items = sorted(item_ids)
        order.exchange_new_items = sorted(new_item_ids)
        order.exchange_payment_method_id = payment_method_id
        # Noted and not moved: the items have to come back first.
        order.exchange_price_difference = difference
        return order

    @is_tool(ToolType.READ)
    def find_user_id_by_name_zip(self, first_name: str, last_name: str, zip: str) -> str:
        """Find a customer's user id by name and zip code.

        Use this when the customer cannot give an email address, or none is found for it.

        Args:
            first_name: The customer's first name, in any capitalisation.
            last_name: The customer's last name, in any capitalisation.
            zip: The zip code of the customer's address, for example "12345".
        """
        for user in _users_found(self.db.users, _by_name, first_name, last_name):
            # The index joins both names with a blank, so two pairs of names may share a key.
            if (
                user.name.first_name.lower() == first_name.lower()
                and user.name.last_name.lower() == last_name.lower()
                and user.address.zip == zip
            ):
                return user.user_id
        raise ValueError("User not found")

    @is_tool(ToolType.READ)
    def find_user_id_by_email(self, email: str) -> str:
        """Find a customer's user id by email address.

        Args:
            email: The customer's email address, in any capitalisation.
        """
        for user in _users_found(self.db.users, _by_email, email):
            if user.email.lower() == email.lower():
                return user.user_id
        raise ValueError("User not found")

    @is_tool(ToolType.READ)
    def get_order_details(self, order_id: str) -> Order:
        """Get an order: its status, items, delivery address, parcels and payments.

        Args:
            order_id: The order's id, with the leading "#", for example "#W0000000".
        """
        return self.db.orders.view(self._known_order_id(order_id))

    @is_tool(ToolType.READ)
    def get_product_details(self, product_id: str) -> Product:
        """Get a product with all its variants: item ids, options, prices and availability.

        Args:
            product_id: The product's id, for example "6086499569". This is not an item id.
        """
        return self._product(product_id)

    @is_tool(ToolType.READ)
    def get_user_details(self, user_id: str) -> User:
        """Get a customer: name, address, email, payment methods and order ids.

        Args:
            user_id: The customer's user id, for example "sara_doe_496".
        """
        return self._user(user_id)

    @is_tool(ToolType.READ)
    def list_all_product_types(self) -> str:
        """List the names and product ids of all products that the shop sells.

        Each product comes in variants with item ids of their own; get_product_details lists them.
        """
        products = self.db.products
        # No tool changes a product, so the list of the loaded table is nearly always the answer.
        if products.touched:
            return _list_products(products.views())
        return _product_list(products.shared)

    @is_tool(ToolType.WRITE)
    def modify_pending_order_address(
        self,
        order_id: str,
        address1: str,
        address2: str,
        city: str,
        state: str,
        country: str,
        zip: str,
    ) -> Order:
        """Change the delivery address of a pending order.

        Explain the details to the customer and obtain an explicit yes before calling.

        Args:
            order_id: The order's id, with the leading "#", for example "#W0000000".
            address1: The first line of the address, for example "123 Main St".
            address2: The second line of the address, for example "Apt 1"; "" if there is none.
            city: The city, for example "San Francisco".
            state: The state, for example "CA".
            country: The country, for example "USA".
            zip: The zip code, for example "12345".
        """
        order = self._order(order_id)
        if not _is_pending(order):
            raise ValueError("Non-pending order cannot be modified")
        order.address = UserAddress(
            address1=address1, address2=address2, city=city, country=country, state=state, zip=zip
        )
        return order

    @is_tool(ToolType.WRITE)
    def modify_pending_order_items(
        self, order_id: str, item_ids: list[str], new_item_ids: list[str], payment_method_id: str
    ) -> Order:
        """Replace items of a pending order by other variants of their products.

        This can be done only once for an order, so all items must be in one call. The difference
        in price is charged or refunded to the given payment method. Explain the details to the
        customer and obtain an explicit yes before calling.

        Args:
            order_id: The order's id, with the leading "#", for example "#W0000000".
            item_ids: The ids of the items to replace. An item ordered several times may be listed
                as many times.
            new_item_ids: The ids of the items wanted instead, one for each of item_ids and in the
                same order. Each must be another, available variant of the same product.
            payment_method_id: The customer's payment method for the price difference, for example
                "gift_card_0000000". It can be looked up in the customer's details.
        """
        order = self._order(order_id)
        # Exactly pending: an order whose items were modified is modified no more.
        if order.status != "pending":
            raise ValueError("Non-pending order cannot be modified")
        _require_ordered(order, item_ids, "{} not found")
        if len(item_ids) != len(new_item_ids):
            raise ValueError("The number of items to be exchanged should match")

        difference: float = 0
        for item_id, new_item_id in zip(item_ids, new_item_ids, strict=True):
            if item_id == new_item_id:
                raise ValueError("The new item id should be different from the old item id")
            item = _item(order, item_id)
            variant = self._available_variant(item, new_item_id)
            difference += variant.price - item.price

        method = self._payment_method(order.user_id, payment_method_id)
        if isinstance(method, GiftCard) and method.balance < difference:
            raise ValueError("Insufficient gift card balance to pay for the new item")

        # Unlike the difference of an exchange, this amount is not rounded.
        # Without a difference in price it is a refund of nothing.
        moved = _transaction(
            "payment" if difference > 0 else "refund", abs(difference), payment_method_id
        )
        order.payment_history.append(moved)
        self._settle(order.user_id, payment_method_id, -difference)
        for item_id, new_item_id in zip(item_ids, new_item_ids, strict=True):
            # The look-up sees the changes of earlier pairs, and may find an item that one of them
            # made.
            item = _item(order, item_id)
            item.item_id = new_item_id
            # Price and options of the last pair's variant, whatever the item.
            item.price = variant.price
            item.options = dict(variant.options)
        order.status = "pending (item modified)"
        return order

    @is_tool(ToolType.WRITE)
    def modify_pending_order_payment(self, order_id: str, payment_method_id: str) -> Order:
        """Move the payment of a pending order to another of the customer's payment methods.

        The amount is charged to the new method and refunded to the old one. Explain the details to
        the customer and obtain an explicit yes before calling.

        Args:
            order_id: The order's id, with the leading "#", for example "#W0000000".
            payment_method_id: The payment method to pay with instead, for example
                "credit_card_0000000". It can be looked up in the customer's details.
        """
        order = self._order(order_id)
        if not _is_pending(order):
            raise ValueError("Non-pending order cannot be modified")
        method = self._payment_method(order.user_id, payment_method_id)
        # A payment can be moved only once, because afterwards there are three entries.
        if [entry.transaction_type for entry in order.payment_history] != ["payment"]:
            raise ValueError("There should be exactly one payment for a pending order")
        paid = order.payment_history[0]
        if paid.payment_method_id == payment_method_id:
            raise ValueError("The new payment method should be different from the current one")
        if isinstance(method, GiftCard) and method.balance < paid.amount:
            raise ValueError("Insufficient gift card balance to pay for the order")

        # The order of the entries is part of the hash.
        order.payment_history += [
            _transaction("payment", paid.amount, payment_method_id),
            _transaction("refund", paid.amount, paid.payment_method_id),
        ]
        self._settle(order.user_id, payment_method_id, -paid.amount)
        self._settle(order.user_id, paid.payment_method_id, paid.amount)
        return order

    @is_tool(ToolType.WRITE)
    def modify_user_address(
        self,
        user_id: str,
        address1: str,
        address2: str,
        city: str,
        state: str,
        country: str,
        zip: str,
    ) -> User:
        """Change a customer's default address. Addresses of existing orders stay as they are.

        Explain the details to the customer and obtain an explicit yes before calling.

        Args:
            user_id: The customer's user id, for example "sara_doe_496".
            address1: The first line of the address, for example "123 Main St".
            address2: The second line of the address, for example "Apt 1"; "" if there is none.
            city: The city, for example "San Francisco".
            state: The state, for example "CA".
            country: The country, for example "USA".
            zip: The zip code, for example "12345".
        """
        _require(user_id, self.db.users, "User not found")
        user = self.db.users[user_id]
        user.address = UserAddress(
            address1=address1, address2=address2, city=city, country=country, state=state, zip=zip
        )
        return user

    @is_tool(ToolType.WRITE)
    def return_delivered_order_items(
        self, order_id: str, item_ids: list[str], payment_method_id: str
    ) -> Order:
        """Request the return of items of a delivered order.

        An order can be returned or exchanged only once, so all items must be in one call. The
        customer receives an email on how and where to send the items. Explain the details to the
        customer and obtain an explicit yes before calling.

        Args:
            order_id: The order's id, with the leading "#", for example "#W0000000".
            item_ids: The ids of the items to return. An item ordered several times may be listed
                as many times.
            payment_method_id: The payment method to refund: the one that paid for the order, or
                one of the customer's gift cards.
        """
        order = self._order(order_id)
        if order.status != "delivered":
            raise ValueError("Non-delivered order cannot be returned")
        method = self._payment_method(order.user_id, payment_method_id)
        if (
            not isinstance(method, GiftCard)
            # The first entry counts, even if the payment was later moved to another method.
            and payment_method_id != order.payment_history[0].payment_method_id
        ):
            raise ValueError("Payment method should be the original payment method")
        _require_ordered(order, item_ids, "Some item not found")

        order.status = "return requested"
        order.return_items = sorted(item_ids)
        order.return_payment_method_id = payment_method_id
        return order

    @is_tool(ToolType.GENERIC)
    def transfer_to_human_agents(self, summary: str) -> str:
        """Hand the customer over to a human agent.

        Do so only if the customer asks for a human and the policy allows it, or if the request
        cannot be handled with the tools and the policy at hand.

        Args:
            summary: The customer's issue in a few sentences.
        """
        return "Transfer successful"

    def _known_order_id(self, order_id: str) -> str:
        _require(order_id, self.db.orders, "Order not found")
        return order_id

    def _order(self, order_id: str) -> Order:
        return self.db.orders[self._known_order_id(order_id)]

    def _user(self, user_id: str) -> User:
        _require(user_id, self.db.users, "User not found")
        return self.db.users.view(user_id)

    def _product(self, product_id: str) -> Product:
        _require(product_id, self.db.products, "Product not found")
        return self.db.products.view(product_id)

    def _available_variant(self, item: OrderItem, item_id: str) -> Variant:
        variants = self._product(item.product_id).variants
        _require(item_id, variants, "Variant not found")
        if not variants[item_id].available:
            raise ValueError(f"New item {item_id} not found or available")
        return variants[item_id]

    def _payment_method(self, user_id: str, payment_method_id: str) -> PaymentMethod:
        methods = self._user(user_id).payment_methods
        _require(payment_method_id, methods, "Payment method not found")
        return methods[payment_method_id]

    # Only gift cards keep account of what is paid with them.
    def _settle(self, user_id: str, payment_method_id: str, amount: float) -> None:
        if isinstance(self._payment_method(user_id, payment_method_id), GiftCard):
            card = cast(GiftCard, self.db.users[user_id].payment_methods[payment_method_id])
            # Rounding keeps float errors out of the balance, which is part of the hash.
            card.balance = round(card.balance + amount, 2)


# No tool changes names or email addresses, so those of the file are looked up in an index. A model
# may ask for what is no text, and gets the error of the comparison.
def _users_found(
    users: Table[User], index: Callable[[SharedTable[User]], Mapping[str, list[str]]], *words: str
) -> Iterator[User]:
    texts = [word.lower() for word in words if isinstance(word, str)]
    if users.added_keys() or len(texts) < len(words):
        return users.views()
    keys = index(users.shared).get(" ".join(texts), ())
    return (users.view(key) for key in keys if key in users)


@lru_cache(maxsize=32)
def _by_name(users: SharedTable[User]) -> Mapping[str, list[str]]:
    index = defaultdict(list)
    for key, user in users.raw.items():
        name = user["name"]
        index[f"{name['first_name']} {name['last_name']}".lower()].append(key)
    return index


@lru_cache(maxsize=32)
def _by_email(users: SharedTable[User]) -> Mapping[str, list[str]]:
    index = defaultdict(list)
    for key, user in users.raw.items():
        index[user["email"].lower()].append(key)
    return index


@lru_cache(maxsize=32)
def _product_list(products: SharedTable[Product]) -> str:
    return _list_products(products.records().values())


def _list_products(products: Iterable[Product]) -> str:
    return json.dumps({product.name: product.product_id for product in products}, sort_keys=True)


def _require(key: str, known: Container[str], refusal: str) -> None:
    if key not in known:
        raise ValueError(refusal)


def _require_ordered(order: Order, item_ids: list[str], refusal: str) -> None:
    ordered = [item.item_id for item in order.items]
    for item_id in item_ids:
        if item_ids.count(item_id) > ordered.count(item_id):
            raise ValueError(refusal.format(item_id))


def _is_pending(order: Order) -> bool:
    # This includes orders whose items were modified: address and payment may still change.
    return "pending" in order.status


def _item(order: Order, item_id: str) -> OrderItem:
    return next(item for item in order.items if item.item_id == item_id)


def _transaction(
    kind: Literal["payment", "refund"], amount: float, payment_method_id: str
) -> OrderPayment:
    return OrderPayment(transaction_type=kind, amount=amount, payment_method_id=payment_method_id)
