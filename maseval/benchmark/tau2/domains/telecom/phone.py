"""The phone's behaviour: what its radio finds, what then works, and what its screen shows.

After tau2-bench v0.2.0, src/tau2/domains/telecom/user_tools.py (MIT, Sierra Research).
"""

from typing import NamedTuple

from maseval.benchmark.tau2.domains.telecom.user_models import (
    APNNames,
    NetworkModePreference,
    NetworkStatus,
    NetworkTechnology,
    PerformanceLevel,
    PhoneDevice,
    SignalStrength,
    SimStatus,
    Surroundings,
    TelecomUserDB,
    VpnDetails,
)


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
    """Return True if the phone reaches the internet through the mobile network."""
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
    """Return True if a picture message would leave the phone."""
    device = db.device
    if not mobile_data_works(db):
        return False
    if device.network_technology_connected == NetworkTechnology.TWO_G:
        return False
    if device.wifi_calling_enabled and device.wifi_calling_mms_over_wifi:
        return False
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
