"""The shop's tools that change something, in groups by what they change."""

CANCEL, MODIFY_ITEMS = "cancel_pending_order", "modify_pending_order_items"
MODIFY_ADDRESS, MODIFY_PAYMENT = "modify_pending_order_address", "modify_pending_order_payment"
RETURN, EXCHANGE = "return_delivered_order_items", "exchange_delivered_order_items"
USER_ADDRESS = "modify_user_address"

REPLACING = (MODIFY_ITEMS, EXCHANGE)
OF_ITEMS = (*REPLACING, RETURN)
PAYING = (*OF_ITEMS, MODIFY_PAYMENT)
OF_ORDERS = (*PAYING, CANCEL, MODIFY_ADDRESS)
WRITES = (*OF_ORDERS, USER_ADDRESS)
