"""Experiments of the audit, in a small shop whose tools have the faults that are looked for."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from maseval.benchmark.tau2.data_loader import UnknownTaskError
from maseval.benchmark.tau2.domains.base import DB, ToolKitBase, ToolType, is_tool
from maseval.benchmark.tau2.domains.domain import Domain
from maseval.benchmark.tau2.review.audit import audit
from maseval.benchmark.tau2.world.state.records import Record, Table

CARDS = {
    "card_1": {"id": "card_1", "source": "gift_card", "balance": 50.0},
    "card_2": {"id": "card_2", "source": "credit_card", "balance": 0.0},
}
DATA = {
    "users": {
        "ada_1": {"user_id": "ada_1", "first_name": "Ada", "email": "ada@x.org", "cards": CARDS},
        "bob_2": {"user_id": "bob_2", "first_name": "Bob", "email": "bob@x.org", "cards": {}},
    },
    "orders": {
        "W100": {"order_id": "W100", "user_id": "ada_1", "status": "pending", "note": "", "log": []}
    },
}


class User(Record):
    user_id: str
    first_name: str
    email: str
    cards: dict[str, dict[str, Any]]


class Order(Record):
    order_id: str
    user_id: str
    status: str
    note: str
    log: list[str]


class ShopDB(DB):
    users: Table[User]
    orders: Table[Order]


class ShopTools(ToolKitBase[ShopDB]):
    @is_tool(ToolType.READ)
    def get_order(self, order_id: str) -> Order:
        """Show an order."""
        return self.db.orders.view(order_id)

    @is_tool(ToolType.READ)
    def get_user(self, user_id: str) -> User:
        """Show a customer."""
        return self.db.users.view(user_id)

    @is_tool(ToolType.WRITE)
    def pay(self, order_id: str, card_id: str) -> Order:
        """Pay an order."""
        order = self.db.orders[order_id]
        if card_id not in self.db.users.view(order.user_id).cards:
            raise ValueError("no such card")
        order.log.append(card_id)
        return order

    @is_tool(ToolType.WRITE)
    def write_note(self, order_id: str, note: str) -> Order:
        """Put a note on an order."""
        order = self.db.orders[order_id]
        order.note = note
        order.log.append(note)
        return order

    @is_tool(ToolType.WRITE)
    def pack(self, order_id: str, items: list[str]) -> Order:
        """Pack items."""
        order = self.db.orders[order_id]
        order.log += items
        return order

    @is_tool(ToolType.WRITE)
    def cancel(self, order_id: str) -> Order:
        """Cancel an order."""
        order = self.db.orders[order_id]
        order.status = "cancelled"
        order.log.append("refund")
        return order


class FaultyShopTools(ShopTools):
    @is_tool(ToolType.READ)
    def get_user(self, user_id: str) -> User:
        """Show a customer."""
        raise ValueError("not found")

    @is_tool(ToolType.READ)
    def get_order(self, order_id: str) -> Order:
        """Show an order."""
        self.db.orders[order_id].log.append("shown")
        return self.db.orders.view(order_id)

    @is_tool(ToolType.WRITE)
    def pay(self, order_id: str, card_id: str) -> Order:
        """Pay an order."""
        self.db.orders[order_id].log.append("begun")
        return super().pay(order_id, card_id)


class ChancyShopTools(ShopTools):
    notes: list[str] = []  # noqa: RUF012  # the fault: one list for all worlds

    @is_tool(ToolType.WRITE)
    def pay(self, order_id: str, card_id: str) -> Order:
        """Pay an order."""
        self.db.orders[order_id].note = uuid4().hex
        return super().pay(order_id, card_id)

    @is_tool(ToolType.WRITE)
    def cancel(self, order_id: str) -> Order:
        """Cancel an order."""
        self.notes.append("refund")
        order = self.db.orders[order_id]
        order.log = [*self.notes]
        return order


def step(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


PAY = step("pay", order_id="W100", card_id="card_1")
OTHER = "If you are asked to confirm, prefer the other one."


@pytest.fixture
def shop(tmp_path: Path) -> Callable[..., Domain]:
    def make(
        *actions: dict[str, Any],
        told: str = "You are Ada. Do it.",
        toolkit: type[ShopTools] = ShopTools,
        more: tuple[dict[str, Any], ...] = (),
        ticket: str | None = None,
        **criteria: Any,
    ) -> Domain:
        numbered = [{"action_id": str(n), **each} for n, each in enumerate(actions)]
        task = {
            "id": "one",
            "user_scenario": {"instructions": told},
            "ticket": ticket,
            "evaluation_criteria": {"actions": numbered, **criteria},
        }
        (tmp_path / "db.json").write_text(json.dumps(DATA))
        (tmp_path / "tasks.json").write_text(json.dumps([task, *more]))
        (tmp_path / "policy.md").write_text("Serve well.")
        return Domain(name="shop", db=ShopDB, toolkit=toolkit, data_dir=tmp_path)

    return make


def found(domain: Domain, kind: str) -> list[Any]:
    return [each for each in audit(domain) if each.kind == kind]


@pytest.mark.parametrize(
    ("told", "severity"),
    [("Have a note put on it.", "warning"), ("The note is: Please ring twice and wait.", "info")],
)
def test_a_text_that_is_compared_letter_by_letter_is_found(shop, told, severity):
    note = step("write_note", order_id="W100", note="Please ring twice and wait")

    (finding,) = found(shop(note, told=told), "free text is compared")

    assert finding.severity == severity
    assert "In short: please ring twice and wait" in finding.evidence[0]


def test_calls_and_lists_whose_order_counts_are_found(shop):
    cards = [step("pay", order_id="W100", card_id=f"card_{n}") for n in (1, 2)]
    packed = step("pack", order_id="W100", items=["bolts", "nuts"])
    domain = shop(*cards, packed, told="Pay with the gift card and the credit card.")

    (writes,) = found(domain, "order of writes is compared")
    (items,) = found(domain, "order in a list is compared")

    assert 'tried: pay(order_id="W100", card_id="card_2")' in writes.evidence
    assert items.evidence[0] == 'tried: pack(order_id="W100", items=["nuts", "bolts"])'


@pytest.mark.parametrize(
    ("said", "severities"),
    [
        ("50.00", ["warning"]),
        ("delivered", ["warning"]),
        ("77", ["info"]),
        ("50.0", []),
        ("pending", []),
    ],
)
def test_what_must_be_said_and_no_tool_answers_is_found(shop, said, severities):
    domain = shop(step("get_user", user_id="ada_1"), PAY, communicate_info=[said])

    assert [each.severity for each in found(domain, "text is in no answer")] == severities


def test_the_same_request_with_another_solution_is_found(shop):
    other = {
        "id": "two",
        "user_scenario": {"instructions": "You are Ada. Do it."},
        "evaluation_criteria": {"actions": [{"action_id": "0", **step("cancel", order_id="W100")}]},
    }

    (finding,) = found(shop(PAY, more=(other,)), "stored twice with different gold")

    assert finding.severity == "error" and "tasks one and two" in finding.text


def test_tools_that_work_have_no_defect_but_what_can_be_done_twice(shop):
    assert not found(shop(step("get_user", user_id="ada_1"), PAY), "tool defect")
    (finding,) = found(shop(step("cancel", order_id="W100")), "tool defect")
    assert finding.rule == "cancel is done once"
    assert finding.evidence[-1] == "used by: one"


def test_tools_with_a_fault_are_found_by_trying_them(shop):
    shown = step("get_order", order_id="W100")
    findings = found(shop(shown, PAY, toolkit=FaultyShopTools), "tool defect")

    assert {each.rule for each in findings} == {
        "get_user finds what is there",
        "get_order reads only",
        "pay fails as a whole",
    }


@pytest.mark.parametrize(
    ("action", "tool"), [(PAY, "pay"), (step("cancel", order_id="W100"), "cancel")]
)
def test_a_call_that_does_something_else_each_time_is_found(shop, action, tool):
    findings = found(shop(action, toolkit=ChancyShopTools), "tool defect")

    rules = {each.rule: each.severity for each in findings}
    assert rules[f"{tool} does the same each time"] == "error"


@pytest.mark.parametrize(("ticket", "count"), [("Ada wants 3 more.", 0), ("Ada wants more.", 1)])
def test_a_number_that_only_the_user_is_told_is_found(shop, ticket, count):
    domain = shop(step("raise", order_id="W100", by=3.0), told="You want 3 more.", ticket=ticket)

    assert len(found(domain, "ticket leaves something out")) == count


@pytest.mark.parametrize(("by", "count"), [("3 points", 1), (3.0, 0), ("3rd", 0)])
@pytest.mark.parametrize("write", [dict, json.dumps])
def test_an_amount_that_is_a_text_is_found_also_within_an_inner_call(shop, by, count, write):
    texts = found(
        shop(step("raise", order_id="W100", more=write({"by": by}))), "free text is compared"
    )

    assert sum("has by '3 points'" in each.text for each in texts) == count


class OrderTools(ToolKitBase[ShopDB]):
    @is_tool(ToolType.READ)
    def get_order(self, order_id: str) -> Order:
        """Show an order."""
        return self._order(order_id)

    def _order(self, order_id: str) -> Order:
        return self.db.orders.view(order_id)


def test_a_table_that_no_reading_tool_looks_at_is_found(shop):
    (finding,) = found(shop(toolkit=OrderTools), "table nobody can read")

    assert finding.text.startswith("users has 2 records")
    assert not found(shop(PAY), "table nobody can read")


def test_one_task_is_audited_by_itself(shop):
    domain = shop(step("write_note", order_id="W100", note="Please ring twice and wait"))

    assert {finding.task_id for finding in audit(domain, task_id="one")} == {"one"}
    with pytest.raises(UnknownTaskError, match="shop has no task 'nine'; it has 'one'"):
        audit(domain, task_id="nine")


def test_progress_is_reported_to_the_end(shop):
    seen: list[tuple[int, int]] = []

    audit(shop(PAY), on_progress=lambda done, total: seen.append((done, total)))

    assert seen == [(0, 1), (1, 1), (1, 1)]
