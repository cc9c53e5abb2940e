"""Records of the telecom company: plans, customers, their lines and devices, their bills.

After tau2-bench v0.2.0, src/tau2/domains/telecom/data_model.py (MIT, Sierra Research).
"""

import datetime as dt
from enum import StrEnum

from pydantic import ConfigDict, Field, PrivateAttr

from maseval.benchmark.tau2.domains.base import DB
from maseval.benchmark.tau2.world.state.copying import Memo, Rows
from maseval.benchmark.tau2.world.state.records import Record


class TelecomRecord(Record):
    """A record that knows all its fields."""

    model_config = ConfigDict(extra="forbid")


class DeviceType(StrEnum):
    PHONE = "phone"
    ROUTER = "router"
    TABLET = "tablet"
    WATCH = "watch"
    OTHER = "other"


class LineStatus(StrEnum):
    ACTIVE = "Active"
    SUSPENDED = "Suspended"
    PENDING_ACTIVATION = "Pending Activation"
    CLOSED = "Closed"


class BillStatus(StrEnum):
    DRAFT = "Draft"
    ISSUED = "Issued"
    AWAITING_PAYMENT = "Awaiting Payment"
    PAID = "Paid"
    OVERDUE = "Overdue"
    DISPUTED = "Disputed"


class AccountStatus(StrEnum):
    ACTIVE = "Active"
    SUSPENDED = "Suspended"
    PENDING_VERIFICATION = "Pending Verification"
    CLOSED = "Closed"


class PaymentMethodType(StrEnum):
    CREDIT_CARD = "Credit Card"
    DEBIT_CARD = "Debit Card"
    PAYPAL = "PayPal"


class Address(TelecomRecord):
    street: str
    city: str
    state: str
    zip_code: str


class Plan(TelecomRecord):
    plan_id: str
    name: str
    data_limit_gb: float
    price_per_month: float
    data_refueling_price_per_gb: float


class Device(TelecomRecord):
    device_id: str
    device_type: DeviceType
    model: str
    imei: str | None = None
    is_esim_capable: bool
    activated: bool = False
    activation_date: dt.datetime | None = None
    last_esim_transfer_date: dt.datetime | None = None


class Line(TelecomRecord):
    """A phone number with its plan, and the data used in the current cycle."""

    line_id: str
    phone_number: str
    status: LineStatus = LineStatus.PENDING_ACTIVATION
    plan_id: str
    device_id: str | None = None
    data_used_gb: float = 0.0
    data_refueling_gb: float = 0.0
    roaming_enabled: bool = False
    contract_end_date: dt.date | None = None
    last_plan_change_date: dt.date | None = None
    last_sim_replacement_date: dt.date | None = None
    suspension_start_date: dt.date | None = None


class LineItem(TelecomRecord):
    """One entry of a bill; credits are negative."""

    description: str
    amount: float
    date: dt.date
    item_type: str


class Bill(TelecomRecord):
    bill_id: str
    customer_id: str
    period_start: dt.date
    period_end: dt.date
    issue_date: dt.date
    total_due: float
    due_date: dt.date
    line_items: list[LineItem] = Field(default_factory=list)
    status: BillStatus = BillStatus.DRAFT

    def add(self, item: LineItem) -> None:
        """Put an entry on the bill."""
        self.line_items.append(item)
        self.total_due += item.amount


class PaymentMethod(TelecomRecord):
    method_type: PaymentMethodType
    account_number_last_4: str
    expiration_date: str


class Customer(TelecomRecord):
    customer_id: str
    full_name: str
    date_of_birth: str
    email: str
    phone_number: str
    address: Address
    account_status: AccountStatus = AccountStatus.PENDING_VERIFICATION
    payment_methods: list[PaymentMethod] = Field(default_factory=list)
    line_ids: list[str] = Field(default_factory=list)
    bill_ids: list[str] = Field(default_factory=list)
    # The default is a plain date, which is never validated: that is how it enters the hash.
    created_at: dt.datetime = dt.date(2025, 1, 1)  # type: ignore[assignment]
    last_extension_date: dt.date | None = None
    goodwill_credit_used_this_year: float = 0.0


class _Phone:
    """Points at the customer's database; where both are copied, at its copy."""

    db: DB | None = None

    def __deepcopy__(self, memo: Memo) -> "_Phone":
        twin = _Phone()
        if self.db is not None:
            if id(self.db) not in memo:
                memo[id(self.db)] = self.db.twin(memo)
            twin.db = memo[id(self.db)]
        return twin


class TelecomDB(DB):
    """The company's database; its tables are short lists, searched from the front."""

    plans: Rows[Plan] = Field(default_factory=list)
    customers: Rows[Customer] = Field(default_factory=list)
    lines: Rows[Line] = Field(default_factory=list)
    bills: Rows[Bill] = Field(default_factory=list)
    devices: Rows[Device] = Field(default_factory=list)
    _phone: _Phone = PrivateAttr(default_factory=_Phone)

    @property
    def user_db(self) -> DB | None:
        """The customer's side of the world, once there is one; no part of this database."""
        return self._phone.db

    @user_db.setter
    def user_db(self, db: DB | None) -> None:
        self._phone.db = db

    def get_statistics(self) -> dict[str, int]:
        """Count the records of each kind."""
        return {
            "num_plans": len(self.plans),
            "num_customers": len(self.customers),
            "num_lines": len(self.lines),
            "num_bills": len(self.bills),
            "num_devices": len(self.devices),
            "num_payment_methods": sum(len(each.payment_methods) for each in self.customers),
        }
