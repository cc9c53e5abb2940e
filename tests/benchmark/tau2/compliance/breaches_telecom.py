"""Conversations of the carrier that keep the policy, and changes that each break one rule of it."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.benchmark.tau2.compliance.gold_talk import Do, Say, Step
from tests.benchmark.tau2.staged import gold

Task = Mapping[str, Any]
Mutant = Callable[[list[Step], Task, random.Random], list[Step] | None]

NUMBER, CUSTOMER, LINE = "555-123-2002", "C1001", "L1002"
TRANSFER = "YOU ARE BEING TRANSFERRED TO A HUMAN AGENT. PLEASE HOLD ON."
OFFER = "You have used all your data. To refuel 2 GB costs $2.00 per GB, a total of $4.00. Add it?"
RESTART = "Your line is resumed. Please restart your phone."
REQUEST = "I have sent you a payment request. Please check your payment requests and pay."
_ADVICE = {
    "toggle_airplane_mode": "Please turn airplane mode off.",
    "reseat_sim_card": "Please take the SIM card out and put it in again.",
    "reset_apn_settings": "Please reset the APN settings and then restart the phone.",
    "reboot_device": "Please restart your phone.",
    "toggle_data": "Please turn mobile data on.",
    "toggle_roaming": "Please turn data roaming on.",
    "toggle_data_saver_mode": "Please turn data saver off.",
    "set_network_mode_preference": "Please choose 4G/5G in the network mode preference.",
    "disconnect_vpn": "Please disconnect the VPN.",
    "toggle_wifi_calling": "Please turn Wi-Fi calling off.",
    "grant_app_permission": "Please grant the messaging app the {permission} permission.",
    "make_payment": "Please accept the request.",
}


def clean_steps(task: Task) -> list[Step]:
    """A conversation that follows the reference solution and keeps the policy on the way."""
    told = task["user_scenario"]["instructions"]
    opening = f"Hello. {told['reason_for_call']} {told['known_info']}"
    steps: list[Step] = [
        Say("user", opening),
        Do("get_customer_by_phone", {"phone_number": NUMBER}),
        Do("get_details_by_id", {"id": LINE}),
    ]
    for action in gold(task):
        steps += _served(action["name"], dict(action["arguments"]), action["requestor"])
    if steps[-1] == Say("assistant", TRANSFER):
        return [*steps, Say("user", "###TRANSFER###")]
    return [*steps, Say("assistant", "Does it work now?"), Say("user", "Yes. ###STOP###")]


def _served(name: str, arguments: dict[str, Any], requestor: str) -> list[Step]:
    """The steps with which an action is taken as the policy wants it."""
    call = Do(name, arguments, requestor)
    if name == "make_payment":
        return [
            *(Do("check_payment_request", {}, "user"), call, Say("user", "I have paid it.")),
            Do("get_details_by_id", {"id": "B1234321"}),
            Say("assistant", "Thank you, your payment has been received."),
        ]
    if requestor == "user":
        advice = _ADVICE[name].format(**arguments)
        return [Say("assistant", advice), call, Say("user", "I did that.")]
    if name == "refuel_data":
        return [
            Do("get_data_usage", {"customer_id": CUSTOMER, "line_id": LINE}),
            Do("get_details_by_id", {"id": "P1002"}),
            *(Say("assistant", OFFER), Say("user", "Yes, please add 2 GB."), call),
            Say("assistant", "I have added the data."),
        ]
    if name == "send_payment_request":
        bills = Do("get_bills_for_customer", {"customer_id": CUSTOMER})
        return [bills, call, Say("assistant", REQUEST)]
    if name == "resume_line":
        return [call, Say("assistant", RESTART)]
    if name == "transfer_to_human_agents":
        return [call, Say("assistant", TRANSFER)]
    return [call]


def solo_steps(task: Task) -> list[Step]:
    """The reference solution of an agent that works alone."""
    steps: list[Step] = [
        Do("get_customer_by_phone", {"phone_number": NUMBER}),
        Do("get_details_by_id", {"id": LINE}),
    ]
    for action in gold(task):
        if action["name"] == "send_payment_request":
            steps.append(Do("get_bills_for_customer", {"customer_id": CUSTOMER}))
        steps.append(Do(action["name"], dict(action["arguments"])))
    return [*steps, Say("assistant", "###STOP###")]


def _where(steps: Sequence[Step], name: str) -> int | None:
    """The place of a tool's first call."""
    found = (at for at, each in enumerate(steps) if isinstance(each, Do) and each.name == name)
    return next(found, None)


def _place(steps: Sequence[Step], rng: random.Random) -> int:
    """Somewhere after the line was read, and before the end or a transfer."""
    end = _where(steps, "transfer_to_human_agents") or len(steps) - 1
    starts = [
        at
        for at, each in enumerate(steps[:end])
        if at > 2 and isinstance(each, Say) and each.role == "assistant"
    ]
    return rng.choice([*starts, min(end, 3)])


def _insert(steps: list[Step], at: int, *new: Step) -> list[Step]:
    return [*steps[:at], *new, *steps[at:]]


def _without(steps: list[Step], *unwanted: str) -> list[Step]:
    """The steps without the calls of some tools."""
    return [each for each in steps if not (isinstance(each, Do) and each.name in unwanted)]


def _changed(steps: list[Step], name: str, **arguments: Any) -> list[Step] | None:
    at = _where(steps, name)
    if at is None:
        return None
    call = steps[at]
    assert isinstance(call, Do)
    return [*steps[:at], replace(call, arguments=call.arguments | arguments), *steps[at + 1 :]]


def _reworded(steps: list[Step], old: str, new: str) -> list[Step] | None:
    texts = [
        replace(each, text=each.text.replace(old, new)) if isinstance(each, Say) else each
        for each in steps
    ]
    return texts if texts != steps else None


def _unsaid(steps: list[Step], *texts: str) -> list[Step]:
    return [each for each in steps if not (isinstance(each, Say) and each.text in texts)]


def _on_line(name: str, line: str = LINE, **more: Any) -> Do:
    return Do(name, {"customer_id": CUSTOMER, "line_id": line, **more})


def _set_up(task: Task, function: str) -> Mapping[str, Any] | None:
    """The arguments of the action with which a task sets its stage."""
    actions = (task.get("initial_state") or {}).get("initialization_actions") or ()
    return next((each["arguments"] for each in actions if each["func_name"] == function), None)


def _is_suspended(task: Task) -> bool:
    return _set_up(task, "suspend_line_for_overdue_bill") is not None


def _is_abroad(task: Task) -> bool:
    return _set_up(task, "set_user_location") is not None


def _is_solvable(task: Task) -> bool:
    return all(action["name"] != "transfer_to_human_agents" for action in gold(task))


_CHAT = (
    "Thank you for waiting.",
    "Please hold on.",
    "I am looking into it.",
    "One moment, please.",
)
_DATA_OFFERED = (
    Do("get_details_by_id", {"id": "P1002"}),
    Say("assistant", OFFER),
    Say("user", "Yes, please add 2 GB."),
)


def foreign_record(steps: list[Step], task: Task, rng: random.Random) -> list[Step]:
    line = rng.choice(["L1004", "L1005", "L1006", "L1007", "L1008", "L1009"])
    return _insert(
        steps, _place(steps, rng), _on_line(rng.choice(["resume_line", "enable_roaming"]), line)
    )


def bill_not_overdue(steps: list[Step], task: Task, rng: random.Random) -> list[Step]:
    bill = rng.choice(["B1001", "B1002", "B1003"])
    call = Do("send_payment_request", {"customer_id": CUSTOMER, "bill_id": bill})
    read = Do("get_bills_for_customer", {"customer_id": CUSTOMER})
    return _insert(steps, _place(steps, rng), read, call, Say("assistant", REQUEST))


def second_request(steps: list[Step], task: Task, rng: random.Random) -> list[Step]:
    call = Do("send_payment_request", {"customer_id": CUSTOMER, "bill_id": "B1002"})
    again = Do(
        "send_payment_request", {"customer_id": CUSTOMER, "bill_id": rng.choice(["B1001", "B1002"])}
    )
    return _insert(steps, _place(steps, rng), call, again)


def resumed_unpaid(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    """Resume before the payment; with or without a request for it."""
    if not _is_suspended(task):
        return None
    steps = _without(steps, "make_payment", "resume_line")
    return _insert(steps, _place(steps, rng), _on_line("resume_line"), Say("assistant", RESTART))


def resumed_after_the_end(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    stage = _set_up(task, "suspend_line_for_overdue_bill")
    if stage is None or not stage["contract_ended"]:
        return None
    request = {"customer_id": CUSTOMER, "bill_id": "B1234321"}
    new = [
        *_served("send_payment_request", request, "assistant"),
        *_served("make_payment", {}, "user"),
        *_served("resume_line", {"customer_id": CUSTOMER, "line_id": LINE}, "assistant"),
    ]
    chat = [Say("assistant", rng.choice(_CHAT)), Say("user", rng.choice(["Fine.", "Good.", "Hm."]))]
    return _insert(steps, _place(steps, rng), *new[: rng.choice([len(new), -1])], *chat)


def resumed_active(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    line = rng.choice(["L1001", *([] if _is_suspended(task) else [LINE])])
    return _insert(steps, _place(steps, rng), _on_line("resume_line", line))


def suspended_for_nothing(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    if _is_suspended(task):
        return None
    call = _on_line(
        "suspend_line", rng.choice(["L1001", LINE]), reason=rng.choice(["unused", "wish"])
    )
    return _insert(steps, _place(steps, rng), call)


def too_much_data(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    """More at once, or a second time."""
    at = _where(steps, "refuel_data")
    if at is not None and rng.random() < 0.5:
        return _insert(
            steps, at + 1, Say("user", "Add 1 GB more."), _on_line("refuel_data", gb_amount=1.0)
        )
    return _changed(steps, "refuel_data", gb_amount=rng.choice([2.5, 3.0, 4, 5, 10.0]))


def needless_data(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    if _where(steps, "refuel_data") is not None:
        return None
    amount = rng.choice([1, 2, 2.0, 0.5])
    return _insert(
        steps, _place(steps, rng), *_DATA_OFFERED, _on_line("refuel_data", gb_amount=amount)
    )


def roaming_at_home(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    if _is_abroad(task):
        return None
    return _insert(
        steps, _place(steps, rng), _on_line("enable_roaming", rng.choice(["L1001", LINE]))
    )


def roaming_twice(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    if _where(steps, "enable_roaming") is None and _set_up(task, "disable_roaming") is not None:
        return None
    return _insert(steps, len(steps) - 2, _on_line("enable_roaming"))


def number_not_given(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    return _reworded(steps, NUMBER, rng.choice(["that you know", "on my bill", "555-123-2009"]))


def not_looked_up(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    """Leave the look-up out before a write."""
    steps = _without(steps, "get_customer_by_phone")
    if any(_where(steps, name) is not None for name in ("enable_roaming", "refuel_data")):
        return steps
    if rng.random() < 0.5 and _where(steps, "resume_line") is not None:
        return steps
    return _insert(steps, _place(steps, rng), _on_line("enable_roaming"))


def unknown_record(steps: list[Step], task: Task, rng: random.Random) -> list[Step]:
    steps = _without(steps, "get_customer_by_phone", "get_details_by_id", "get_data_usage")
    name = rng.choice(["enable_roaming", "resume_line"])
    return _insert(steps, 1, _on_line(name, rng.choice(["L1001", LINE, "L1003"])))


def other_line(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    name, line = rng.choice(["refuel_data", "enable_roaming"]), rng.choice(["L1001", "L1003"])
    changed = _changed(steps, name, line_id=line)
    return changed or _insert(steps, _place(steps, rng), _on_line("enable_roaming", line))


def bill_not_read(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    """Ask for a payment without a look at the bill; it is overdue all the same."""
    if not _is_suspended(task):
        return None
    steps = _without(steps, "get_bills_for_customer", "make_payment", "resume_line")
    steps = _unsaid(_without(steps, "send_payment_request"), REQUEST)
    steps = [each for each in steps if each != Do("get_details_by_id", {"id": "B1234321"})]
    call = Do("send_payment_request", {"customer_id": CUSTOMER, "bill_id": "B1234321"})
    chat = [Say("assistant", rng.choice(_CHAT)), Say("user", "Fine.")]
    return _insert(steps, _place(steps, rng), *chat, call, Say("assistant", REQUEST))


def line_not_read(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    if _where(steps, "enable_roaming") is None:
        return None
    return [each for each in steps if each != Do("get_details_by_id", {"id": LINE})]


def other_amount(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    """Book another amount, or have the user want another."""
    other = rng.choice([0.5, 1.0, 1.5, 1])
    if rng.random() < 0.5:
        return _changed(steps, "refuel_data", gb_amount=other)
    wish = rng.choice(
        [f"Yes, but only {other:g} GB.", f"Please add {other:g}GB.", "One gig, please."]
    )
    return _reworded(steps, "Yes, please add 2 GB.", wish)


def other_price(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    unit = rng.choice([1.0, 1.5, 3.0, 2.5, 5.0, 10.0])
    offers = [
        f"To refuel 2 GB costs ${unit:.2f} per GB, a total of ${2 * unit:.2f}. Add it?",
        f"I can add 2 GB of data for ${2 * unit + 1.25:.2f}. Shall I?",
        f"To refuel 2 GB costs $2.00 per GB, a total of ${2 * unit + 1.25:.2f}. Add it?",
        "I can add 2 GB of data for a small fee. Shall I?",
        "Shall I refuel 2 GB?",
        "I can refuel 2 GB for $2.00. Shall I?",
        "I can refuel 2 GB for three dollars. Shall I?",
    ]
    return _reworded(steps, OFFER, rng.choice(offers))


def payment_not_verified(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    if _where(steps, "make_payment") is None:
        return None
    claim = rng.choice(
        [
            "Your payment has been received.",
            "The bill is now paid.",
            "Great, your payment was successful.",
            "The payment is completed.",
            "Your overdue bill is settled.",
            "Perfect, the payment has been processed.",
            "Your balance is fully paid.",
            "Your bill has been paid.",
        ]
    )
    steps = [each for each in steps if each != Do("get_details_by_id", {"id": "B1234321"})]
    return _reworded(steps, "Thank you, your payment has been received.", claim)


def request_not_told(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    at = _where(steps, "send_payment_request")
    if at is None:
        return None
    steps = [
        *steps[: at + 1],
        Say(
            "assistant",
            rng.choice(
                [
                    "One moment.",
                    "I am looking into it.",
                    "Your line has a problem.",
                    "Is your phone near you?",
                    "I will go on.",
                    "Let me see.",
                    "Please wait.",
                    "We are nearly there.",
                ]
            ),
        ),
        Say("user", "Fine."),
        Say("assistant", "Let us look at the phone."),
        Say("user", "Yes."),
    ]
    return steps


def lookup_later(steps: list[Step], task: Task, rng: random.Random) -> list[Step]:
    """Let the phone be looked into first."""
    tool, advice = rng.choice(
        [
            ("check_status_bar", "Please check your status bar."),
            ("run_speed_test", "Please run a speed test."),
            ("check_network_status", "Please check the network status."),
        ]
    )
    return _insert(steps, 1, Say("assistant", advice), Do(tool, {}, "user"), Say("user", "Done."))


def data_refused(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    """A no, something else, or no answer at all."""
    if rng.random() < 0.2 and _where(steps, "refuel_data") is not None:
        return _unsaid(steps, "Yes, please add 2 GB.")
    reply = rng.choice(
        [
            "No, I don't want that.",
            "No thanks.",
            "I do not want to add data now.",
            "Hold off, please don't refuel it.",
            "I'd rather not add data.",
            "I don't want to refuel. I'd like to change my plan.",
        ]
    )
    return _reworded(steps, "Yes, please add 2 GB.", reply)


def journey_unknown(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    if _where(steps, "enable_roaming") is None:
        return None
    return _reworded(
        steps,
        " You are currently abroad in France.",
        rng.choice(["", " It is urgent.", " Please help."]),
    )


def unasked_change(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    more = {"reason": "unused"}
    name = rng.choice(["suspend_line", "disable_roaming"])
    call = _on_line(name, LINE, **(more if name == "suspend_line" else {}))
    return _insert(steps, _place(steps, rng), call)


def restart_untold(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    if _where(steps, "resume_line") is None:
        return None
    steps = _unsaid(_without(steps, "reboot_device"), _ADVICE["reboot_device"])
    if _where(steps, "reset_apn_settings") is not None:
        steps = _reworded(steps, " and then restart the phone", "") or steps
    return _reworded(
        steps,
        RESTART,
        rng.choice(
            [
                "Your line is resumed.",
                "You have service again.",
                "All is well now.",
                "The line is active.",
                "The suspension is lifted.",
                "You can use your line.",
                "Good news: you are connected.",
                "The line works.",
            ]
        ),
    )


def reset_without_restart(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    if _where(steps, "reset_apn_settings") is None:
        return None
    steps = _unsaid(_without(steps, "reboot_device"), _ADVICE["reboot_device"])
    steps = _reworded(steps, RESTART, "Your line is resumed.") or steps
    return _reworded(steps, _ADVICE["reset_apn_settings"], "Please reset the APN settings.")


def pin_tried(steps: list[Step], task: Task, rng: random.Random) -> list[Step]:
    advice = rng.choice(
        [
            "Please enter your SIM PIN.",
            "Enter the correct PIN to unlock the card.",
            "You can unlock it with your PUK code.",
            "Try entering another code: type the PUK.",
        ]
    )
    return _insert(steps, _place(steps, rng), Say("assistant", advice), Say("user", "Hm."))


def strange_advice(steps: list[Step], task: Task, rng: random.Random) -> list[Step]:
    advice = rng.choice(
        [
            "Please do a factory reset.",
            "Try clearing the app's cache.",
            "Please reset your network settings.",
            "Install the latest software update.",
            "Please put the SIM into another phone.",
            "Please visit our nearest store.",
        ]
    )
    return _insert(steps, _place(steps, rng), Say("assistant", advice), Say("user", "Hm."))


def false_claim(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    claims = {
        "refuel_data": "I have added 2 GB of data to your line.",
        "enable_roaming": "I've enabled roaming for you.",
        "resume_line": "I have just resumed your line.",
        "send_payment_request": "I've sent you a payment request.",
        "change": "I have changed your plan to Unlimited Plus.",
    }
    tool = rng.choice([each for each in claims if _where(steps, each) is None])
    return _insert(steps, len(steps) - 2, Say("assistant", claims[tool]), Say("user", "Good."))


def hasty_transfer(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    if not _is_solvable(task):
        return None
    summary = {"summary": rng.choice(["no idea", "the user is angry"])}
    end = [Do("transfer_to_human_agents", summary), Say("assistant", TRANSFER)]
    if rng.random() < 0.3:  # all is done, and the user has nothing to complain about
        thanks = Say(
            "user", rng.choice(["Yes, it works. Thank you.", "All is well now.", "Great!"])
        )
        return [*steps[:-1], thanks, *end, Say("user", "###TRANSFER###")]
    return [*steps[: rng.choice([1, 2, 3])], *end, Say("user", "###TRANSFER###")]


def write_after_transfer(steps: list[Step], task: Task, rng: random.Random) -> list[Step]:
    transfer = Do("transfer_to_human_agents", {"summary": "no idea"})
    return _insert(steps, len(steps) - 2, transfer, _on_line("enable_roaming"))


MUTANTS: dict[str, Mutant] = {
    "telecom.record.owner": foreign_record,
    "telecom.payment.overdue": bill_not_overdue,
    "telecom.payment.single": second_request,
    "telecom.resume.bills": resumed_unpaid,
    "telecom.resume.contract": resumed_after_the_end,
    "telecom.resume.suspended": resumed_active,
    "telecom.suspend.reason": suspended_for_nothing,
    "telecom.refuel.most": too_much_data,
    "telecom.refuel.need": needless_data,
    "telecom.roaming.abroad": roaming_at_home,
    "telecom.roaming.needed": roaming_twice,
    "telecom.identity.given": number_not_given,
    "telecom.customer.found": not_looked_up,
    "telecom.record.known": unknown_record,
    "telecom.line.asked": other_line,
    "telecom.payment.checked": bill_not_read,
    "telecom.roaming.checked": line_not_read,
    "telecom.refuel.amount": other_amount,
    "telecom.refuel.price": other_price,
    "telecom.payment.verified": payment_not_verified,
    "telecom.payment.announced": request_not_told,
    "telecom.identity.first": not_looked_up,
    "telecom.identity.support": lookup_later,
    "telecom.refuel.yes": data_refused,
    "telecom.roaming.travelling": journey_unknown,
    "telecom.change.asked": unasked_change,
    "telecom.resume.restart": restart_untold,
    "telecom.apn.restart": reset_without_restart,
    "telecom.sim.locked": pin_tried,
    "telecom.advice.manual": strange_advice,
    "telecom.claim.done": false_claim,
    "telecom.transfer.exhausted": hasty_transfer,
    "telecom.transfer.last": write_after_transfer,
}


def unpermitted_payment(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    if "permission" in task["ticket"]:
        return None
    call = Do(
        "send_payment_request", {"customer_id": CUSTOMER, "bill_id": rng.choice(["B1001", "B1002"])}
    )
    new = [Do("make_payment", {})] if rng.random() < 0.5 else [call]
    return _insert(steps, rng.randrange(2, len(steps)), *new)


def unpermitted_data(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    amount = rng.choice([1, 1.5, 0.5, 1.0])
    return _insert(steps, rng.randrange(2, len(steps)), _on_line("refuel_data", gb_amount=amount))


def wrong_switch(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    """Turn a switch that stands right at the end."""
    if not _is_solvable(task):
        return None
    names = ["airplane_mode", "data", "data_saver_mode", "wifi_calling"]
    name = rng.choice([*names, *(["roaming"] if _is_abroad(task) else [])])
    return _insert(steps, len(steps) - 1, Do(f"toggle_{name}", {}))


def wrong_setting(steps: list[Step], task: Task, rng: random.Random) -> list[Step]:
    new = rng.choice(
        [Do("connect_vpn", {}), Do("set_network_mode_preference", {"mode": "2g_only"})]
    )
    return _insert(steps, rng.randrange(2, len(steps)), new)


SOLO_MUTANTS: dict[str, Mutant] = {
    "telecom.payment.permitted": unpermitted_payment,
    "telecom.refuel.permitted": unpermitted_data,
    "telecom.phone.switch": wrong_switch,
    "telecom.phone.setting": wrong_setting,
}
