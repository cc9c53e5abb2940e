"""Telecom: a mobile carrier's support desk, and the customer's phone at the other end of the line.

Both sides have tools. The agent sees the company's database; only the customer can look at the
phone and press its buttons, so the agent must find the fault by asking.

After tau2-bench v0.2.0, src/tau2/domains/telecom/ (MIT, Sierra Research).
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from maseval.benchmark.tau2.domains.domain import (
    Customers,
    Domain,
    LateRules,
    MoneyField,
    PermanenceRule,
    Policy,
    append_only,
    only_rises,
    stays,
)
from maseval.benchmark.tau2.domains.telecom.models import *  # noqa: F403  # the records, as in MASEval
from maseval.benchmark.tau2.domains.telecom.models import (
    BillStatus,
    LineStatus,
    PaymentRequest,
    Surroundings,
    TelecomDB,
    TelecomUserDB,
)
from maseval.benchmark.tau2.domains.telecom.tools import TelecomTools
from maseval.benchmark.tau2.domains.telecom.user_tools import TelecomUserTools
from maseval.benchmark.tau2.world.state.copying import own

_OF_THE_COMPANY = ("suspend_line", "resume_line", "enable_roaming", "disable_roaming")
SYNC_AFTER = {*_OF_THE_COMPANY, "send_payment_request", "refuel_data", "make_payment"}
"""The tools whose changes the other side sees; all that the customer does but pay stays there."""


def sync(tools: TelecomTools, user_tools: TelecomUserTools) -> None:
    """Tell the phone what the company grants its line, and the company what was paid.

    The phone does not search for a network here: after a change at the company it shows what it
    showed before, until the customer does something that makes it search.
    """
    # Data laid over a database makes a new one, which has to be coupled again.
    if not (tools.is_coupled and user_tools.is_coupled):
        tools.db.user_db = user_tools.db
        tools.is_coupled = user_tools.is_coupled = True
    surroundings = user_tools.db.surroundings
    # Until a task says whose phone this is, there is no line to look up.
    if surroundings.phone_number is None:
        return
    line = tools.line_with_number(surroundings.phone_number)
    _tell(surroundings, "line_active", line.status == LineStatus.ACTIVE)
    _tell(surroundings, "roaming_allowed", line.roaming_enabled)
    allowance = tools.plan(line.plan_id).data_limit_gb + line.data_refueling_gb
    _tell(surroundings, "mobile_data_usage_exceeded", line.data_used_gb >= allowance)
    request = surroundings.payment_request
    if request is not None and request.paid:
        own(tools.db.bills, tools.bill(request.bill_id)).status = BillStatus.PAID
        # It is cleared before the next look-up, so that paying one bill can bring up another.
        surroundings.payment_request = None
    # An unpaid request is neither refreshed nor withdrawn, as in the original.
    if surroundings.payment_request is None:
        _tell(surroundings, "payment_request", _next_request(tools, surroundings.phone_number))


def _tell(surroundings: Surroundings, name: str, value: object) -> None:
    # This runs after every step of a simulation, and hardly ever is there any news. Writing a
    # field of a record costs ten times what reading it does.
    if getattr(surroundings, name) is not value:
        setattr(surroundings, name, value)


def _next_request(tools: TelecomTools, phone_number: str) -> PaymentRequest | None:
    customer = tools.get_customer_by_phone(phone_number)
    for bill in tools.bills_of(customer, BillStatus.AWAITING_PAYMENT):
        return PaymentRequest(bill_id=bill.bill_id, amount_due=bill.total_due)
    return None


# Values that no tool can undo.
PERMANENCE = (
    PermanenceRule(
        "lines", ("data_refueling_gb",), only_rises, "data that was added cannot be taken back"
    ),
    PermanenceRule("bills", ("line_items",), append_only, "an entry on a bill stays there"),
    PermanenceRule("bills", (), stays, "a bill that was opened cannot be removed"),
)


def _billed(bill: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    yield "charged", sum(item["amount"] for item in bill["line_items"])
    if bill["status"] == BillStatus.PAID:
        yield "paid", bill["total_due"]


def _policy(support: str, solo_support: str) -> Policy:
    def compose(folder: Path, solo: bool) -> str:
        main = folder / ("main_policy_solo.md" if solo else "main_policy.md")
        manual = folder / (solo_support if solo else support)
        return (
            f"<main_policy>\n{main.read_text(encoding='utf-8')}\n</main_policy>\n"
            f"<tech_support_policy>\n{manual.read_text(encoding='utf-8')}\n</tech_support_policy>"
        )

    return compose


def _telecom(name: str, policy: Policy) -> Domain:
    return Domain(
        name=name,
        folder_name="telecom",
        db=TelecomDB,
        db_file="db.toml",
        toolkit=TelecomTools,
        user_db=TelecomUserDB,
        user_db_file="user_db.toml",
        user_toolkit=TelecomUserTools,
        sync=sync,
        sync_after=SYNC_AFTER,
        policy_text=policy,
        task_files={
            "base": "tasks.json",
            "small": "tasks_small.json",
            "full": "tasks_full.json",
        },
        rules=LateRules("telecom.rules"),
        permanence=PERMANENCE,
        money=[MoneyField("bills", _billed)],
        customers=Customers("customers", "customer_id", {"lines": "line_ids"}),
    )


TELECOM = _telecom("telecom", _policy("tech_support_manual.md", "tech_support_manual.md"))
TELECOM_WORKFLOW = _telecom(
    "telecom-workflow",
    _policy("tech_support_workflow.md", "tech_support_workflow_solo.md"),
)

__all__ = [
    "TELECOM",
    "TELECOM_WORKFLOW",
    "TelecomDB",
    "TelecomTools",
    "TelecomUserDB",
    "TelecomUserTools",
]
