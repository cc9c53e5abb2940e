"""The library's desk: its tools, its data, and twelve tasks that can be solved."""

from typing import Any

import pytest

from maseval.benchmark.tau2 import score_simulation
from maseval.benchmark.tau2.data_loader import load_raw_tasks
from maseval.benchmark.tau2.domains.library import LIBRARY, LibraryDB, LibraryTools
from maseval.benchmark.tau2.formats.message import assistant_message, user_message
from maseval.benchmark.tau2.review.audit import check_domain
from maseval.benchmark.tau2.world.setting import Setting, gold_state
from maseval.benchmark.tau2.world.tasks import TaskSpec
from maseval.benchmark.tau2.world.world import World

FOLDER = LIBRARY.data_dir
TASKS = {raw["id"]: raw for raw in load_raw_tasks("library")}
each_task = pytest.mark.parametrize("raw", TASKS.values(), ids=TASKS)


@pytest.fixture
def desk() -> LibraryTools:
    return LibraryTools(LibraryDB.load(FOLDER / "db.json"))


def world_of(raw: dict[str, Any], *, solo: bool = False) -> World:
    world, start = World(LIBRARY, FOLDER, solo=solo), raw["initial_state"]
    world.set_state(start["initialization_data"], start["initialization_actions"], [])
    return world


def conversation(raw: dict[str, Any], *, solo: bool = False) -> dict[str, Any]:
    """The reference solution as a recorded simulation, with what must be said at its end."""
    world, messages = world_of(raw, solo=solo), []
    for number, action in enumerate(raw["evaluation_criteria"]["actions"]):
        side = "assistant" if solo else action["requestor"]
        make = assistant_message if side == "assistant" else user_message
        call = {
            "id": str(number),
            "name": action["name"],
            "arguments": action["arguments"],
            "requestor": side,
        }
        messages += [make(None, tool_calls=[call]), world.respond(call)]
    said = raw["evaluation_criteria"]["communicate_info"] or ["Goodbye"]
    messages.append(assistant_message(". ".join(said)))
    return {
        "id": "s",
        "task_id": raw["id"],
        "termination_reason": "agent_stop",
        "messages": messages,
    }


# The tools


def test_a_member_is_found_by_card_with_or_without_its_spaces(desk):
    assert desk.get_member("B 1184 2011") == desk.get_member("B11842011")
    assert desk.find_member("ingrid solheim", "1984-06-02").member_id == "M-2011"


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("get_member", {"card_number": "B 0"}, "No member has card number B 0"),
        ("find_member", {"name": "Ingrid Solheim", "birth_date": "1984-06-03"}, "No member"),
        ("get_account", {"member_id": "M-1"}, "no member M-1"),
        ("renew_loan", {"loan_id": "L-5015"}, "closed on 2025-02-28"),
        ("renew_loan", {"loan_id": "L-1"}, "no loan L-1"),
        ("check_in", {"barcode": "3110 0010"}, "not on loan"),
        ("place_hold", {"member_id": "M-2047", "title_id": "T-104"}, "already has a hold"),
        ("place_hold", {"member_id": "M-2047", "title_id": "T-1"}, "no title T-1"),
        ("cancel_hold", {"hold_id": "H-306"}, "already cancelled"),
        ("pay_fine", {"fine_id": "F-406"}, "already paid"),
        ("waive_fine", {"fine_id": "F-1"}, "no fine F-1"),
        ("renew_membership", {"member_id": "M-1"}, "no member M-1"),
    ],
)
def test_a_refused_call_says_why_and_leaves_the_desk_as_it_was(desk, tool, arguments, message):
    before = desk.get_db_hash()

    with pytest.raises(ValueError, match=message):
        desk.use_tool(tool, **arguments)

    assert desk.get_db_hash() == before


def test_a_fine_cannot_be_charged_to_a_bank_card_that_is_not_there(desk):
    desk.db.members["M-2075"].bank_card_on_file = False

    with pytest.raises(ValueError, match="no bank card on file"):
        desk.pay_fine("F-401")


@pytest.mark.parametrize(("loan_id", "due"), [("L-5001", "2025-04-04"), ("L-5006", "2025-03-21")])
def test_a_renewal_gives_a_full_period_from_today(desk, loan_id, due):
    before = desk.db.loans.view(loan_id).renewals

    loan = desk.renew_loan(loan_id)

    assert (loan.due.isoformat(), loan.renewals) == (due, before + 1)


@pytest.mark.parametrize(
    ("barcode", "due", "amount"),
    [
        ("3106 0016", "2025-03-14", None),
        ("3106 0016", "2025-03-13", 1.00),
        ("3106 0016", "2025-01-01", 8.00),
        ("3101 0011", "2025-03-11", 0.60),
        ("3101 0011", "2025-01-01", 8.00),
    ],
)
def test_a_late_return_is_fined_by_the_day_and_up_to_a_limit(desk, barcode, due, amount):
    loan = next(loan for loan in desk.db.loans.values() if loan.barcode == barcode)
    desk.set_loan(loan.loan_id, due, 0)

    fine = desk.check_in(barcode).get("fine")

    assert (fine and fine.amount) == amount
    assert desk.member_owes(loan.member_id, amount or 0.0)


def test_a_returned_copy_is_kept_for_whoever_has_waited_longest(desk):
    desk.place_hold("M-2104", "T-102")

    desk.check_in("3102 0010")

    assert desk.db.copies.view("3102 0010").status == "kept for a hold"
    assert desk.hold_is("H-301", "ready")
    assert desk.hold_is("H-307", "waiting")


def test_a_cancelled_hold_releases_its_copy_to_the_next_member_and_then_to_the_shelf(desk):
    desk.cancel_hold("H-304")
    assert desk.db.holds.view("H-305").barcode == "3111 0019"

    desk.cancel_hold("H-305")
    assert desk.db.copies.view("3111 0019").status == "on shelf"


@pytest.mark.parametrize("text", ["lost words", "FRAYNE", "t-113", "3113 0017"])
def test_a_title_is_found_by_any_part_of_its_name_by_author_and_by_ids(desk, text):
    (found,) = desk.search_catalogue(text)

    assert found["title_id"] == "T-113"
    assert [copy.status for copy in found["copies"]] == ["on loan", "on loan"]


def test_what_the_member_drops_reaches_the_desk_and_leaves_it_when_registered():
    world = world_of(TASKS["late_film_into_the_box"])
    drop = {"name": "drop_into_box", "arguments": {"barcode": "3106 0016"}, "requestor": "user"}
    check_in = {"name": "check_in", "arguments": {"barcode": "3106 0016"}}

    assert not world.respond({"id": "1", **drop})["error"]
    assert [loan.loan_id for loan in world.tools.look_in_drop_box()] == ["L-5008"]
    assert world.respond({"id": "2", **drop})["error"], "it is no longer in the bag"

    world.respond({"id": "3", **check_in, "requestor": "assistant"})
    assert world.tools.look_in_drop_box() == []


# The data


# The tasks


def test_the_domain_has_no_problems():
    assert check_domain("library") == []


@each_task
def test_the_reference_solution_works_and_leads_where_it_is_compared_with(raw):
    world = world_of(raw)
    answers = [m for m in conversation(raw)["messages"] if m["role"] == "tool"]
    for action in raw["evaluation_criteria"]["actions"]:
        world.respond({"id": "", **{k: action[k] for k in ("name", "arguments", "requestor")}})
    gold = gold_state(Setting(LIBRARY, FOLDER, TaskSpec.of(raw)))

    assert not any(answer["error"] for answer in answers)
    assert gold.errors == ()
    assert world.state() == gold.state
    assert all(world.check(a) for a in raw["evaluation_criteria"]["env_assertions"] or ())


@each_task
def test_doing_nothing_earns_none(raw):
    silent = {**conversation(raw), "messages": [assistant_message("Goodbye")]}

    assert score_simulation(silent, domain="library")["reward"] == 0.0


@each_task
def test_a_task_with_a_ticket_can_be_settled_alone(raw):
    if raw["ticket"] is None:
        assert "COMMUNICATE" in raw["evaluation_criteria"]["reward_basis"]
        return
    alone = conversation(raw, solo=True)

    assert score_simulation(alone, domain="library", solo=True)["reward"] == 1.0
