"""The tools of the customer, over the phone.

After tau2-bench v0.2.0, src/tau2/domains/telecom/user_tools.py (MIT, Sierra Research).
"""

from typing import Any

from maseval.benchmark.tau2.domains.base import ToolType, is_tool
from maseval.benchmark.tau2.domains.telecom import phone
from maseval.benchmark.tau2.domains.telecom.models import (
    APNSettings,
    AppPermissions,
    NetworkModePreference,
    NetworkStatus,
    SimStatus,
)
from maseval.benchmark.tau2.domains.telecom.phone import PhoneStage, on_off, yes_no

_SIM_TEXT = {
    SimStatus.ACTIVE: "Your SIM card is active and working.",
    SimStatus.MISSING: "No SIM card detected in the phone.",
    SimStatus.LOCKED_PIN: "The SIM card is locked with a PIN code.",
    SimStatus.LOCKED_PUK: "The SIM card is locked with a PUK code.",
}
_SPEED_ADVICE = {
    "Very Poor": "Connection is very slow. Basic web browsing might be difficult.",
    "Poor": "Connection is slow. Web browsing may be sluggish, streaming difficult.",
    "Fair": "Connection is okay for web browsing and some standard definition streaming.",
    "Good": "Connection is good for most activities, including HD streaming.",
    "Excellent": "Connection is very fast.",
}


class TelecomUserTools(PhoneStage, predictable=True):
    """The customer's phone, as buttons to press and screens to read."""

    @is_tool(ToolType.READ)
    def check_status_bar(self) -> str:
        """Read the status bar at the top of the phone's screen.

        It shows airplane mode or else signal strength, network type and whether mobile data and
        data saver are on; then Wi-Fi, VPN and battery level.
        """
        return f"Status Bar: {phone.status_bar(self.db.device)}"

    @is_tool(ToolType.READ)
    def check_network_status(self) -> str:
        """Look at the phone's connection screen.

        It lists airplane mode, the SIM card, the mobile connection with its signal and network
        type, whether mobile data and data roaming are switched on, and the state of Wi-Fi.
        """
        device = self.db.device
        lines = [
            f"Airplane Mode: {on_off(device.airplane_mode)}",
            f"SIM Card Status: {phone.sim_status(device).value}",
            f"Cellular Connection: {device.network_connection_status.value}",
            f"Cellular Signal: {device.network_signal_strength.value}",
            f"Cellular Network Type: {device.network_technology_connected.value}",
            f"Mobile Data Enabled: {yes_no(device.data_enabled)}",
            f"Data Roaming Enabled: {yes_no(device.roaming_enabled)}",
            f"Wi-Fi Radio: {on_off(device.wifi_enabled)}",
            f"Wi-Fi Connected: {yes_no(device.wifi_connected)}",
        ]
        if device.wifi_connected:
            lines.append(f"Connected Wi-Fi Network: {device.wifi_ssid}")
        return "\n".join(lines)

    @is_tool(ToolType.READ)
    def check_network_mode_preference(self) -> str:
        """Look up which generations of mobile network the phone is set to use."""
        return f"Network Mode Preference: {self.db.device.network_mode_preference.value}"

    @is_tool(ToolType.WRITE)
    def set_network_mode_preference(self, mode: NetworkModePreference | str) -> str:
        """Choose which generations of mobile network the phone uses; it then searches anew.

        Args:
            mode: One of "4g_5g_preferred" (the fastest there is), "4g_only", "3g_only" and
                "2g_only".
        """
        chosen: NetworkModePreference | None = self._choose_network_mode(mode)
        if chosen is None:
            options = ", ".join(NetworkModePreference)
            return self._with_status_bar(
                f"Failed to set network mode: '{mode}' is not a valid option. "
                f"Please use one of: {options}"
            )
        return self._with_status_bar(f"Preferred Network Mode set to: {chosen.value}")

    # As in the original, unknown names are refused and anything that is no text is stored.
    def _choose_network_mode(
        self, mode: NetworkModePreference | str
    ) -> NetworkModePreference | None:
        if isinstance(mode, str):
            try:
                mode = NetworkModePreference(mode)
            except ValueError:
                return None
        self.db.device.network_mode_preference = mode
        phone.search_network(self.db)
        return mode

    @is_tool(ToolType.READ)
    def run_speed_test(self) -> str:
        """Measure the download speed of mobile data, in Mbps, and learn what it is good for."""
        speed = phone.speed_test(self.db)
        if speed.mbps is None:
            return f"Speed test failed: {speed.description}."
        advice = _SPEED_ADVICE[speed.description]
        return f"Speed Test Result: {speed.mbps:.2f} Mbps ({speed.description}). {advice}"

    @is_tool(ToolType.WRITE)
    def toggle_airplane_mode(self) -> str:
        """Switch airplane mode on if it is off, off if it is on.

        Switching it on cuts mobile network, Wi-Fi and VPN; switching it off makes the phone search
        for a mobile network.
        """
        return self._switch_message("Airplane Mode", phone.toggle_airplane_mode(self.db))

    @is_tool(ToolType.READ)
    def check_sim_status(self) -> str:
        """Find out whether the SIM card works, is missing, or is locked by a PIN or PUK code."""
        return _SIM_TEXT[phone.sim_status(self.db.device)]

    @is_tool(ToolType.WRITE)
    def reseat_sim_card(self) -> str:
        """Take the SIM card out and put it in again; the phone then searches for a network."""
        self.db.device.sim_card_missing = False
        phone.search_network(self.db)
        return self._with_status_bar("SIM card re-seated successfully.")

    @is_tool(ToolType.WRITE)
    def toggle_data(self) -> str:
        """Switch mobile data on if it is off, off if it is on."""
        return self._switch_message("Mobile Data", phone.toggle_data(self.db))

    @is_tool(ToolType.WRITE)
    def toggle_roaming(self) -> str:
        """Switch data roaming, which mobile data needs abroad, on if it is off, off if it is on."""
        return self._switch_message("Data Roaming", phone.toggle_roaming(self.db))

    @is_tool(ToolType.READ)
    def check_data_restriction_status(self) -> str:
        """Find out whether data saver mode, which slows mobile data down, is on."""
        if self.db.device.data_saver_mode:
            return "Data Saver mode is ON (limits data usage)."
        return "Data Saver mode is OFF."

    @is_tool(ToolType.WRITE)
    def toggle_data_saver_mode(self) -> str:
        """Switch data saver mode on if it is off, off if it is on."""
        return self._switch_message("Data Saver Mode", phone.toggle_data_saver_mode(self.db))

    @is_tool(ToolType.READ)
    def check_apn_settings(self) -> str:
        """Look up the access point: its name (APN) and the address for picture messages (MMSC)."""
        settings = self.db.device.active_apn_settings
        if type(settings) is not APNSettings:  # anything can be stored, and fails at the copy
            settings = settings.model_copy()
        return (
            f"Current APN Name: {settings.apn_name.value}\n"
            f"MMSC URL (for picture messages): {settings.mmsc_url or 'Not Set'}\n"
            "(These are technical settings, usually best left unchanged.)"
        )

    @is_tool(ToolType.WRITE)
    def set_apn_settings(self, apn_settings: APNSettings | dict[str, Any]) -> str:
        """Replace the access point settings as a whole; the phone then searches for a network.

        Args:
            apn_settings: The new settings, by field name. A field left out gets its default value,
                not the one it has now.
        """
        if isinstance(apn_settings, dict):
            apn_settings = APNSettings.model_validate(apn_settings)
        # Stored before it is read: what is no set of settings fails at the next line, and stays.
        self.db.device.active_apn_settings = apn_settings
        name = apn_settings.apn_name.value
        phone.search_network(self.db)
        return self._with_status_bar(f"APN settings set to: {name}")

    @is_tool(ToolType.WRITE)
    def reset_apn_settings(self) -> str:
        """Have the access point settings reset to their defaults at the next reboot, not before."""
        self.db.device.active_apn_settings.reset_at_reboot = True
        phone.search_network(self.db)
        return self._with_status_bar("APN settings will reset at reboot.")

    @is_tool(ToolType.READ)
    def check_wifi_status(self) -> str:
        """Find out whether Wi-Fi is on, and to which network with which signal it is connected."""
        device = self.db.device
        if not device.wifi_enabled:
            return "Wi-Fi is turned OFF."
        if not device.wifi_connected:
            return "Wi-Fi is ON but not connected to any network."
        return (
            f"Wi-Fi is ON and connected to '{device.wifi_ssid}'. "
            f"Signal strength: {device.wifi_signal_strength.value}."
        )

    @is_tool(ToolType.WRITE)
    def toggle_wifi(self) -> str:
        """Switch the Wi-Fi radio on if it is off, off if it is on; impossible in airplane mode."""
        device = self.db.device
        if device.airplane_mode:
            return self._with_status_bar("Cannot change Wi-Fi settings while Airplane Mode is ON.")
        device.wifi_enabled = not device.wifi_enabled
        if not device.wifi_enabled:
            phone.leave_wifi(device)
        return self._switch_message("Wi-Fi", device.wifi_enabled)

    @is_tool(ToolType.READ)
    def check_wifi_calling_status(self) -> str:
        """Find out whether Wi-Fi calling (calls and messages over Wi-Fi) is on."""
        return f"Wi-Fi Calling is currently turned {on_off(self.db.device.wifi_calling_enabled)}."

    @is_tool(ToolType.WRITE)
    def toggle_wifi_calling(self) -> str:
        """Switch Wi-Fi calling on if it is off, off if it is on."""
        device = self.db.device
        device.wifi_calling_enabled = not device.wifi_calling_enabled
        return self._switch_message("Wi-Fi Calling", device.wifi_calling_enabled)

    @is_tool(ToolType.READ)
    def check_vpn_status(self) -> str:
        """Find out whether a VPN is connected, and through which server with what performance."""
        device = self.db.device
        # The original answers with Python's own form of a dict.
        if device.vpn_connected and device.vpn_details:
            return f"VPN is ON and connected. Details: {device.vpn_details.model_dump()}"
        if device.vpn_connected:
            return "VPN is ON and connected (no specific details available)."
        if device.vpn_enabled_setting:
            return "VPN is turned ON in settings, but currently not connected."
        return "VPN is turned OFF."

    @is_tool(ToolType.WRITE)
    def connect_vpn(self) -> str:
        """Connect to the phone's usual VPN server."""
        # This is the only refusal of a switch without a status bar, as in the original.
        if not phone.connect_vpn(self.db.device, self.default_vpn):
            return "VPN already connected."
        return self._with_status_bar("VPN connected successfully.")

    @is_tool(ToolType.WRITE)
    def disconnect_vpn(self) -> str:
        """End the VPN connection."""
        if not self.db.device.vpn_connected:
            return self._with_status_bar("No active VPN connection to disconnect.")
        phone.disconnect_vpn(self.db.device)
        return self._with_status_bar("VPN disconnected successfully.")

    @is_tool(ToolType.READ)
    def check_installed_apps(self) -> str:
        """List the apps on the phone by name."""
        names = ", ".join(self.db.device.app_statuses)
        return f"The following apps are installed on the phone: {names}"

    @is_tool(ToolType.READ)
    def check_app_status(self, app_name: str) -> str:
        """Look at an app's page in the settings, with the permissions it has.

        Args:
            app_name: The app's name as the list of installed apps shows it, e.g. "messaging".
        """
        app = self.db.device.app_statuses.get(app_name)
        if app is None:
            return f"App '{app_name}' not found on this phone."
        title = f"Status for App: {app_name}"
        granted = app.permissions.granted_names()
        if not granted:
            return f"{title}\n - Permissions: None granted."
        return "\n   - ".join([f"{title}\n - Permissions Granted:", *granted])

    @is_tool(ToolType.READ)
    def check_app_permissions(self, app_name: str) -> str:
        """List the permissions that an app has.

        Args:
            app_name: The app's name as the list of installed apps shows it, e.g. "messaging".
        """
        app = self.db.device.app_statuses.get(app_name)
        if app is None:
            return f"App '{app_name}' not found on this phone."
        granted = app.permissions.granted_names()
        if not granted:
            return f"App '{app_name}' currently has no permissions granted."
        return f"App '{app_name}' has permission for: {', '.join(granted)}."

    @is_tool(ToolType.WRITE)
    def grant_app_permission(self, app_name: str, permission: str) -> str:
        """Give an app a permission.

        Args:
            app_name: The app's name as the list of installed apps shows it, e.g. "messaging".
            permission: One of "sms", "storage", "phone" and "network", in upper or lower case.
        """
        app = self.db.device.app_statuses.get(app_name)
        # This stands before the check of the app: what is not a text fails even for an unknown app.
        permission = permission.lower()
        if app is None:
            return self._with_status_bar(
                f"Error. App '{app_name}' not found. Cannot grant permission."
            )
        # What cannot be granted is an ordinary answer, and no error.
        tracked = list(AppPermissions.model_fields)
        if permission not in tracked:
            return self._with_status_bar(
                f"Error. Permission '{permission}' not tracked for app '{app_name}', "
                f"available permissions: {tracked}"
            )
        self.db.device.permit(app, permission, True)
        return self._with_status_bar(
            f"Success. Permission '{permission}' granted to app '{app_name}'."
        )

    @is_tool(ToolType.READ)
    def can_send_mms(self) -> str:
        """Try whether the messaging app can send picture messages (MMS)."""
        can = "can" if phone.can_send_mms(self.db) else "cannot"
        return f"Your messaging app {can} send MMS messages."

    @is_tool(ToolType.WRITE)
    def reboot_device(self) -> str:
        """Restart the phone, which then searches for a network.

        Access point settings that were marked for a reset get their defaults.
        """
        device = self.db.device
        lines = ["Restarting network services..."]
        if device.active_apn_settings.reset_at_reboot:
            lines.insert(0, "Resetting APN settings...")
            device.active_apn_settings = APNSettings()
        device.network_connection_status = NetworkStatus.SEARCHING
        phone.search_network(self.db)
        return self._with_status_bar("\n".join(lines))

    @is_tool(ToolType.READ)
    def check_payment_request(self) -> str:
        """Find out whether the company asks for a payment: for which bill, and how much."""
        request = self.db.surroundings.payment_request
        if request is None:
            return "No payment request has been made."
        return f"You have a payment request for bill {request.bill_id} of {request.amount_due} USD."

    @is_tool(ToolType.WRITE)
    def make_payment(self) -> str:
        """Pay the bill for which the company has sent a payment request."""
        request = self.db.surroundings.payment_request
        if request is None:
            return "You do not have a payment request."
        # Paying resumes no line: that is for the company to do.
        request.paid = True
        return f"Payment of {request.amount_due} USD has been made for bill {request.bill_id}."

    def _switch_message(self, switch: str, on: bool) -> str:
        return self._with_status_bar(f"{switch} is now {on_off(on)}.")

    def _with_status_bar(self, text: str) -> str:
        return f"{text}\n{self.check_status_bar()}"
