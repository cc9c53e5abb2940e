"""The remedies that the manual still has for a phone as it is, and the words that speak of them.

A fault further down hides those above it: without service there is no data, without data there are
no picture messages. So only the remedies of the lowest broken layer are left to try.
"""

import re
from typing import NamedTuple

from maseval.benchmark.tau2.domains.telecom import phone
from maseval.benchmark.tau2.domains.telecom.models import Line, LineStatus
from maseval.benchmark.tau2.domains.telecom.user_models import (
    APNNames,
    NetworkModePreference,
    NetworkStatus,
    NetworkTechnology,
    PerformanceLevel,
    SimStatus,
    TelecomUserDB,
)
from maseval.benchmark.tau2.review.policy.telecom.refuel_rules import is_cut_off


class Remedy(NamedTuple):
    """A way out that the manual knows, and how an agent speaks of it."""

    name: str
    words: re.Pattern[str]


def _remedy(name: str, words: str) -> Remedy:
    return Remedy(name, re.compile(words))


_AIRPLANE = _remedy("turn airplane mode off", r"air ?plane|aeroplane|flight mode")
_SIM = _remedy("reseat the SIM card", r"\bsim\b")
_APN = _remedy("reset the access point settings", r"\bapns?\b|access point")
_LINE = _remedy("have the bill paid and resume the line", r"suspen|overdue|payment|resum|reactivat")
_RESTART = _remedy("restart the phone", r"re-?boot|re-?start|power[ -]cycl|turn (?:it|your)")
_DATA = _remedy("turn mobile data on", r"(?:mobile|cellular) data|data (?:switch|is|on|enabled)")
# Roaming of the line is spoken of as well: only what is said of the phone counts here.
_ROAMING = _remedy(
    "turn data roaming on",
    r"toggle_roaming|\b(?:turn|toggl|switch)\w* (?:\w+ ){0,4}roaming|roaming (?:\w+ ){0,3}turned|"
    r"(?:check|verify|ensure|make sure|enable|confirm)[^.?!\n]{0,40}roaming[^.?!\n]{0,40}"
    r"\b(?:phone|device|settings?)|\b(?:phone|device|settings?)\b[^.?!\n]{0,60}\broaming",
)
_LINE_ROAMING = _remedy("enable roaming on the line", r"roaming")
MORE_DATA = _remedy(
    "offer more data", r"refuel|more data|add\w* (?:\S+ ){0,8}?data|data limit|exceed|cap\b"
)
_SAVER = _remedy("turn data saver off", r"data[ -]sav")
_MODE = _remedy("choose a newer network", r"network (?:mode|pref|type)|prefer|[45]g")
_VPN = _remedy("disconnect the VPN", r"\bvpn\b")
_WIFI = _remedy("turn Wi-Fi calling off", r"wi-?fi[ -]calling")
_RIGHTS = _remedy("grant the messaging app its permissions", r"permission")


def find_hopeless_fault(db: TelecomUserDB, line: Line | None) -> str | None:
    """Return the fault that only a human agent can see to, if there is one."""
    if db.device.sim_card_status in (SimStatus.LOCKED_PIN, SimStatus.LOCKED_PUK):
        return "the SIM card is locked"
    if line is not None and is_cut_off(line):
        return "the line is suspended and its contract has ended"
    return None


def list_remedies(db: TelecomUserDB, line: Line | None, concern: str) -> list[Remedy]:
    """Return what can still be tried; ``concern`` is "service", "data" or "mms"."""
    left = _for_service(db, line)
    if left or concern == "service":
        return left
    if not phone.mobile_data_works(db):
        return _for_data(db)
    if concern == "mms":
        return [] if phone.can_send_mms(db) else _for_messages(db)
    return [] if phone.speed_test(db).description == "Excellent" else _for_speed(db)


def _for_service(db: TelecomUserDB, line: Line | None) -> list[Remedy]:
    device = db.device
    suspended = line is not None and line.status == LineStatus.SUSPENDED
    faults = (
        (device.airplane_mode, _AIRPLANE),
        (device.sim_card_missing, _SIM),
        (device.active_apn_settings.apn_name == APNNames.BROKEN, _APN),
        (suspended, _LINE),
    )
    left = [remedy for is_there, remedy in faults if is_there]
    if not left and device.network_connection_status == NetworkStatus.NO_SERVICE:
        return [_RESTART]
    return left


def _for_data(db: TelecomUserDB) -> list[Remedy]:
    device, surroundings = db.device, db.surroundings
    faults = (
        (not device.data_enabled, _DATA),
        (surroundings.is_abroad and not device.roaming_enabled, _ROAMING),
        (surroundings.is_abroad and not surroundings.roaming_allowed, _LINE_ROAMING),
        (surroundings.mobile_data_usage_exceeded, MORE_DATA),
    )
    return [remedy for is_there, remedy in faults if is_there]


def _for_messages(db: TelecomUserDB) -> list[Remedy]:
    device = db.device
    messaging = device.app_statuses.get("messaging")
    rights = messaging is not None and messaging.permissions
    faults = (
        (device.network_technology_connected == NetworkTechnology.TWO_G, _MODE),
        (device.wifi_calling_enabled and device.wifi_calling_mms_over_wifi, _WIFI),
        (device.active_apn_settings.mmsc_url is None, _APN),
        (not (rights and rights.storage and rights.sms), _RIGHTS),
    )
    return [remedy for is_there, remedy in faults if is_there]


def _for_speed(db: TelecomUserDB) -> list[Remedy]:
    device = db.device
    vpn = device.vpn_details if device.vpn_connected else None
    preferred = NetworkModePreference.FOUR_G_5G_PREFERRED
    faults = (
        (device.data_saver_mode, _SAVER),
        (device.network_mode_preference != preferred, _MODE),
        (vpn is not None and vpn.server_performance == PerformanceLevel.POOR, _VPN),
    )
    return [remedy for is_there, remedy in faults if is_there]
