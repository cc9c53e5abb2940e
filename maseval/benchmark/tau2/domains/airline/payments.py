"""Payment for journeys: bookings are paid at once, changes by their difference in price.

After tau2-bench v0.2.0, src/tau2/domains/airline/tools.py (MIT, Sierra Research).
"""

from maseval.benchmark.tau2.domains.airline.models import Certificate, GiftCard, Payment, User


def check_payments(user: User, payments: list[Payment], total_price: int) -> None:
    """Refuse payments that the user cannot make, or that do not add up to the price."""
    for payment in payments:
        method = user.payment_methods.get(payment.payment_id)
        if method is None:
            raise ValueError(f"Payment method {payment.payment_id} not found")
        if isinstance(method, GiftCard | Certificate) and method.amount < payment.amount:
            raise ValueError(f"Not enough balance in payment method {payment.payment_id}")
    paid = sum(payment.amount for payment in payments)
    if paid != total_price:
        raise ValueError(
            f"Payment amount does not add up, total price is {total_price}, but paid {paid}"
        )


def charge(user: User, payment: Payment) -> None:
    """Take a checked payment; a certificate is used up whatever it was worth."""
    method = user.payment_methods[payment.payment_id]
    if isinstance(method, GiftCard):
        method.amount -= payment.amount
    elif isinstance(method, Certificate):
        del user.payment_methods[payment.payment_id]


def settle(user: User, payment_id: str, price: int) -> list[Payment]:
    """Charge what a change costs, or refund it if negative; entries for the payment history."""
    method = user.payment_methods.get(payment_id)
    if method is None:
        raise ValueError("Payment method not found")
    if isinstance(method, Certificate):
        raise ValueError("Certificate cannot be used to update reservation")
    if isinstance(method, GiftCard):
        if method.amount < price:
            raise ValueError("Gift card balance is not enough")
        method.amount -= price
    return [Payment(payment_id=payment_id, amount=price)] if price != 0 else []
