"""The phone: what its radio finds, what then works, what its screen shows, how tasks set it up.

After tau2-bench v0.2.0, src/tau2/domains/telecom/user_tools.py (MIT, Sierra Research).
"""

from collections.abc import Callable
from typing import NamedTuple

from maseval.benchmark.tau2.domains.base import for_checks, for_tasks
from maseval.benchmark.tau2.domains.telecom.models import (
    APNNames,
    AppPermissions,
    NetworkModePreference,
    NetworkStatus,
    NetworkTechnology,
    PerformanceLevel,
    PhoneDevice,
    SignalStrength,
    SimStatus,
    Surroundings,
    TelecomDB,
    TelecomUserDB,
    VpnDetails,
)
from maseval.benchmark.tau2.domains.telecom.tools import CoupledTools


class Speed(NamedTuple):
    """The outcome of a speed test; no ``mbps`` where there is no connection."""

    mbps: float | None
    description: str


_ONLY = {
    NetworkModePreference.FOUR_G_ONLY: NetworkTechnology.FOUR_G,
    NetworkModePreference.THREE_G_ONLY: NetworkTechnology.THREE_G,
    NetworkModePreference.TWO_G_ONLY: NetworkTechnology.TWO_G,
}
_MBPS = {
    NetworkTechnology.NONE: (0.0, 0.0),
    NetworkTechnology.TWO_G: (0.1, 0.4),
    NetworkTechnology.THREE_G: (1.0, 5.0),
    NetworkTechnology.FOUR_G: (10.0, 100.0),
    NetworkTechnology.FIVE_G: (50.0, 500.0),
}
_SIGNAL_FACTOR = {
    SignalStrength.NONE: 0.0,
    SignalStrength.POOR: 0.2,
    SignalStrength.FAIR: 0.5,
    SignalStrength.GOOD: 0.8,
    SignalStrength.EXCELLENT: 1.0,
}
_SLOW_VPN_FACTOR = 0.1
_DATA_SAVER_FACTOR = 0.2
_DESCRIBED_BELOW = ((1, "Very Poor"), (5, "Poor"), (25, "Fair"), (100, "Good"))
_SIGNAL_SIGN = {
    SignalStrength.NONE: "📵 No Signal",
    SignalStrength.POOR: "📶¹ Poor",
    SignalStrength.FAIR: "📶² Fair",
    SignalStrength.GOOD: "📶³ Good",
    SignalStrength.EXCELLENT: "📶⁴ Excellent",
}


def sim_status(device: PhoneDevice) -> SimStatus:
    """The state of the SIM card as the phone sees it: a card that is not in is missing."""
    return SimStatus.MISSING if device.sim_card_missing else device.sim_card_status


def search_network(db: TelecomUserDB) -> None:
    """Look for a network, and register with what is found."""
    device = db.device
    if sim_status(device) == SimStatus.ACTIVE:
        _register(device, db.surroundings)
    else:
        _lose_service(device)
    # Each of these is looked at every time: settings that are no settings fail here even in
    # airplane mode.
    if device.airplane_mode:
        _lose_service(device)
    if device.active_apn_settings.apn_name == APNNames.BROKEN:
        _lose_service(device)
    if not db.surroundings.line_active:
        _lose_service(device)


def _register(device: PhoneDevice, surroundings: Surroundings) -> None:
    technology = _technology(device.network_mode_preference, surroundings)
    device.put(
        network_connection_status=NetworkStatus.CONNECTED,
        network_technology_connected=technology,
        network_signal_strength=_reception(surroundings, technology),
    )


def _technology(preference: NetworkModePreference, surroundings: Surroundings) -> NetworkTechnology:
    if preference == NetworkModePreference.FOUR_G_5G_PREFERRED:
        five_g = _reception(surroundings, NetworkTechnology.FIVE_G)
        if five_g != SignalStrength.NONE:
            return NetworkTechnology.FIVE_G
    # Compared one by one, since any value at all may have been stored as the preference.
    for only, technology in _ONLY.items():
        if preference == only:
            return technology
    # A phone that prefers 5G falls back to 4G where it has no reception of 5G.
    return NetworkTechnology.FOUR_G


def _reception(surroundings: Surroundings, technology: NetworkTechnology) -> SignalStrength:
    return surroundings.signal_strength.get(technology, SignalStrength.NONE)


def _lose_service(device: PhoneDevice) -> None:
    device.put(
        network_connection_status=NetworkStatus.NO_SERVICE,
        network_technology_connected=NetworkTechnology.NONE,
        network_signal_strength=SignalStrength.NONE,
    )


def mobile_data_works(db: TelecomUserDB) -> bool:
    device, surroundings = db.device, db.surroundings
    if device.airplane_mode or device.network_signal_strength == SignalStrength.NONE:
        return False
    if device.network_connection_status == NetworkStatus.NO_SERVICE:
        return False
    if surroundings.is_abroad and not (device.roaming_enabled and surroundings.roaming_allowed):
        return False
    return device.data_enabled and not surroundings.mobile_data_usage_exceeded


def speed_test(db: TelecomUserDB) -> Speed:
    """Return the speed of mobile data, halfway between the best and the worst of its technology."""
    if not mobile_data_works(db):
        return Speed(None, "No Connection")
    device = db.device
    slowest, fastest = _MBPS[device.network_technology_connected]
    signal = _SIGNAL_FACTOR[device.network_signal_strength]
    # The factors stand in the original's order, because another order may round differently.
    mbps = round((slowest + fastest) / 2 * signal * _speed_factor(device), 2)
    words = next((text for limit, text in _DESCRIBED_BELOW if mbps < limit), "Excellent")
    return Speed(mbps, words)


def _speed_factor(device: PhoneDevice) -> float:
    factor = 1.0
    vpn = device.vpn_details if device.vpn_connected else None
    if vpn is not None and vpn.server_performance == PerformanceLevel.POOR:
        factor *= _SLOW_VPN_FACTOR
    if device.data_saver_mode:
        factor *= _DATA_SAVER_FACTOR
    return factor


def can_send_mms(db: TelecomUserDB) -> bool:
    device = db.device
    if not mobile_data_works(db):
        return False
    if device.network_technology_connected == NetworkTechnology.TWO_G:
        return False
    # Sending over Wi-Fi counts as impossible, even where there is a Wi-Fi network.
    if device.wifi_calling_enabled and device.wifi_calling_mms_over_wifi:
        return False
    # An empty address passes, as in the original.
    if device.active_apn_settings.mmsc_url is None:
        return False
    messaging = device.app_statuses.get("messaging")
    return messaging is not None and messaging.permissions.storage and messaging.permissions.sms


def toggle_airplane_mode(db: TelecomUserDB) -> bool:
    """Flip the switch; returns whether airplane mode is now on. So do the other toggles."""
    device = db.device
    device.airplane_mode = not device.airplane_mode
    if device.airplane_mode:
        leave_wifi(device)
        if device.vpn_connected:
            disconnect_vpn(device)
    else:
        device.network_connection_status = NetworkStatus.SEARCHING
        # Wi-Fi is left only if its radio is on, unlike when airplane mode is switched on.
        if device.wifi_enabled:
            leave_wifi(device)
    search_network(db)
    return device.airplane_mode


def toggle_data(db: TelecomUserDB) -> bool:
    db.device.data_enabled = not db.device.data_enabled
    search_network(db)
    return db.device.data_enabled


def toggle_roaming(db: TelecomUserDB) -> bool:
    db.device.roaming_enabled = not db.device.roaming_enabled
    search_network(db)
    return db.device.roaming_enabled


def toggle_data_saver_mode(db: TelecomUserDB) -> bool:
    db.device.data_saver_mode = not db.device.data_saver_mode
    return db.device.data_saver_mode


def leave_wifi(device: PhoneDevice) -> None:
    """Forget the Wi-Fi network; the Wi-Fi radio stays as it is."""
    device.put(wifi_connected=False, wifi_ssid=None, wifi_signal_strength=SignalStrength.NONE)


def connect_vpn(device: PhoneDevice, details: VpnDetails) -> bool:
    """Connect, unless already connected; returns whether anything was done."""
    if device.vpn_connected:
        return False
    device.vpn_connected = True
    device.vpn_details = details
    return True


def disconnect_vpn(device: PhoneDevice) -> None:
    device.vpn_connected = False
    device.vpn_details = None


def on_off(flag: bool) -> str:
    return "ON" if flag else "OFF"


def yes_no(flag: bool) -> str:
    return "Yes" if flag else "No"


def status_bar(device: PhoneDevice) -> str:
    """The line of signs at the top of the screen."""
    signs = ["✈️ Airplane Mode"] if device.airplane_mode else _mobile_signs(device)
    if device.wifi_enabled and device.wifi_connected:
        signs.append(f"📡 Connected to {device.wifi_ssid}" if device.wifi_ssid else "📡 Enabled")
    if device.vpn_connected:
        signs.append("🔒 VPN Connected")
    signs.append(f"🔋 {device.battery_level}%")
    return " | ".join(signs)


def _mobile_signs(device: PhoneDevice) -> list[str]:
    # A phone that finds no network shows its data as disabled, whatever the switch says.
    signs = [_SIGNAL_SIGN[device.network_signal_strength]]
    has_network = device.network_technology_connected != NetworkTechnology.NONE
    if has_network:
        signs.append(device.network_technology_connected.value)
    if not (has_network and device.data_enabled):
        return [*signs, "📵 Data Disabled"]
    signs.append("📱 Data Enabled")
    if device.data_saver_mode:
        signs.append("🔽 Data Saver")
    return signs


def _phone_of(company: TelecomDB) -> TelecomUserDB:
    if not isinstance(company.user_db, TelecomUserDB):
        company.user_db = TelecomUserDB()
    assert isinstance(company.user_db, TelecomUserDB)
    return company.user_db


def _switch(
    wanted: bool, toggle: Callable[[TelecomUserDB], bool], answer: str
) -> Callable[["PhoneStage"], str]:
    @for_tasks
    def turn(self: "PhoneStage") -> str:
        # Also where the switch is already as wanted: the searches and side effects count.
        while toggle(self.db) != wanted:
            pass
        return answer

    return turn


class PhoneStage(CoupledTools[TelecomUserDB]):
    """Sets the stage for a task, and checks how the phone was left."""

    def __init__(self, db: TelecomUserDB | TelecomDB | None = None) -> None:
        if isinstance(db, TelecomDB):
            db = _phone_of(db)
        super().__init__(db)
        # Attached and not copied when the phone connects: once broken, it stays broken for every
        # later connection, as in the original.
        self.default_vpn = VpnDetails(
            server_address="192.168.1.1",
            protocol="OpenVPN",
            server_performance=PerformanceLevel.EXCELLENT,
        )

    @for_tasks
    def set_user_info(self, name: str, phone_number: str) -> None:
        """Say whose phone it is; its number couples it to a line of the company."""
        self.db.surroundings.name = name
        self.db.surroundings.phone_number = phone_number

    @for_tasks
    def set_user_location(self, abroad: bool) -> None:
        self.db.surroundings.is_abroad = abroad

    @for_tasks
    def simulate_network_search(self) -> None:
        search_network(self.db)

    turn_airplane_mode_on = _switch(True, toggle_airplane_mode, "Airplane Mode is now ON.")
    turn_airplane_mode_off = _switch(False, toggle_airplane_mode, "Airplane Mode is now OFF.")

    @for_tasks
    def turn_data_on(self) -> str:
        """Set the switch without a search, unlike every other one."""
        self.db.device.data_enabled = True
        return "Data connection restored."

    turn_data_off = _switch(False, toggle_data, "Data connection broken.")
    turn_roaming_on = _switch(True, toggle_roaming, "Data Roaming is now ON.")
    turn_roaming_off = _switch(False, toggle_roaming, "Data Roaming is now OFF.")
    turn_data_saver_mode_on = _switch(True, toggle_data_saver_mode, "Data Saver Mode is now ON.")
    turn_data_saver_mode_off = _switch(False, toggle_data_saver_mode, "Data Saver Mode is now OFF.")

    @for_tasks
    def unseat_sim_card(self) -> str:
        self.db.device.sim_card_missing = True
        search_network(self.db)
        return "SIM card un-seated successfully."

    @for_tasks
    def lock_sim_card(self, mode: str) -> str:
        """Lock by "pin" or "puk"; any other mode locks nothing."""
        if mode in ("pin", "puk"):
            self.db.device.sim_card_status = SimStatus(f"locked_{mode}")
        # The phone searches even if the mode locked nothing, as in the original.
        search_network(self.db)
        return f"SIM card locked successfully in {mode} mode."

    @for_tasks
    def break_apn_settings(self) -> str:
        self.db.device.active_apn_settings.apn_name = APNNames.BROKEN
        search_network(self.db)
        return "APN settings broken."

    @for_tasks
    def break_apn_mms_setting(self) -> str:
        """Lose the address to which picture messages are sent."""
        self.db.device.active_apn_settings.mmsc_url = None
        return "APN settings for picture messages broken."

    @for_tasks
    def set_wifi_calling(self, enabled: bool, mms_over_wifi: bool | None = None) -> str:
        device = self.db.device
        if device.wifi_calling_enabled != enabled:
            device.wifi_calling_enabled = not device.wifi_calling_enabled
        if mms_over_wifi is not None:
            device.wifi_calling_mms_over_wifi = mms_over_wifi
        return f"Wi-Fi Calling is now {on_off(device.wifi_calling_enabled)}."

    @for_tasks
    def break_vpn(self) -> str:
        """Connect, if need be, and slow the server down for good."""
        device = self.db.device
        connect_vpn(device, self.default_vpn)
        if device.vpn_details is None:
            raise ValueError("the VPN is connected without details, so its server has no speed")
        device.vpn_details.server_performance = PerformanceLevel.POOR
        return "VPN connection broken."

    @for_tasks
    def remove_app_permission(self, app_name: str, permission: str) -> tuple[bool, str]:
        """Take it away, and return whether that was possible and what to say about it."""
        permission = permission.lower()
        app = self.db.device.app_statuses.get(app_name)
        if app is None:
            return False, f"App '{app_name}' not found. Cannot remove permission."
        if permission not in AppPermissions.model_fields:
            return False, f"Permission '{permission}' not tracked for app '{app_name}'."
        self.db.device.permit(app, permission, False)
        return True, f"Permission '{permission}' removed from app '{app_name}'."

    @for_checks
    def assert_airplane_mode_status(self, expected_status: bool) -> bool:
        return self.db.device.airplane_mode == expected_status

    @for_checks
    def assert_service_status(self, expected_status: str) -> bool:
        return self.db.device.network_connection_status == NetworkStatus(expected_status)

    @for_checks
    def assert_mobile_data_status(self, expected_status: bool) -> bool:
        """Return True if mobile data works, not if it is merely switched on."""
        return mobile_data_works(self.db) == expected_status

    @for_checks
    def assert_mobile_roaming_status(self, expected_status: bool) -> bool:
        return self.db.device.roaming_enabled == expected_status

    @for_checks
    def assert_mobile_data_saver_mode_status(self, expected_status: bool) -> bool:
        return self.db.device.data_saver_mode == expected_status

    @for_checks
    def assert_internet_speed(
        self, expected_speed: float, expected_desc: str | None = None
    ) -> bool:
        """At least that many Mbps, with that description if one is given."""
        speed = speed_test(self.db)
        # No connection counts as 0 Mbps, so that an expected speed of 0 is met.
        fast_enough = (speed.mbps or 0.0) >= expected_speed
        if expected_desc is None:
            return fast_enough
        return fast_enough and speed.description.lower() == expected_desc.lower()

    @for_checks
    def assert_internet_not_excellent(self) -> bool:
        return speed_test(self.db).description != "Excellent"

    @for_checks
    def assert_can_send_mms(self, expected_status: bool) -> bool:
        return can_send_mms(self.db) == expected_status

    @for_checks
    def assert_mobile_data_usage_exceeded(self, expected_status: bool) -> bool:
        return self.db.surroundings.mobile_data_usage_exceeded == expected_status
