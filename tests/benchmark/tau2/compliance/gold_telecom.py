"""Conversations of the carrier that keep its policy, made from reference solutions."""

from collections.abc import Mapping
from typing import Any

from tests.benchmark.tau2.compliance.gold_talk import Do, Say, Step
from tests.benchmark.tau2.staged import gold

Task = Mapping[str, Any]

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
