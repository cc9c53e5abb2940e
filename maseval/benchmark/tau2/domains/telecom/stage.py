"""Functions for task files: set the phone up, and assert its state; no tools of the customer.

After tau2-bench v0.2.0, src/tau2/domains/telecom/user_tools.py (MIT, Sierra Research).
"""

from collections.abc import Callable

from maseval.benchmark.tau2.domains.base import for_checks, for_tasks
from maseval.benchmark.tau2.domains.telecom import phone
from maseval.benchmark.tau2.domains.telecom.models import TelecomDB
from maseval.benchmark.tau2.domains.telecom.tools import CoupledTools
from maseval.benchmark.tau2.domains.telecom.user_models import (
    APNNames,
    AppPermissions,
    NetworkStatus,
    PerformanceLevel,
    SimStatus,
    TelecomUserDB,
    VpnDetails,
)


def _phone_of(company: TelecomDB) -> TelecomUserDB:
    """The customer's database that belongs to the company's; a new one if there is none."""
    if not isinstance(company.user_db, TelecomUserDB):
        company.user_db = TelecomUserDB()
    assert isinstance(company.user_db, TelecomUserDB)
    return company.user_db


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
        """Take the customer abroad, or home."""
        self.db.surroundings.is_abroad = abroad

    @for_tasks
    def simulate_network_search(self) -> None:
        """Make the phone look for a network."""
        phone.search_network(self.db)

    @for_tasks
    def turn_airplane_mode_on(self) -> str:
        """Toggle until on. As for all switches here, at least once."""
        self._toggle_until(True, phone.toggle_airplane_mode)
        return "Airplane Mode is now ON."

    @for_tasks
    def turn_airplane_mode_off(self) -> str:
        self._toggle_until(False, phone.toggle_airplane_mode)
        return "Airplane Mode is now OFF."

    @for_tasks
    def turn_data_on(self) -> str:
        """Set the switch without a search, unlike every other one."""
        self.db.device.data_enabled = True
        return "Data connection restored."

    @for_tasks
    def turn_data_off(self) -> str:
        self._toggle_until(False, phone.toggle_data)
        return "Data connection broken."

    @for_tasks
    def turn_roaming_on(self) -> str:
        self._toggle_until(True, phone.toggle_roaming)
        return "Data Roaming is now ON."

    @for_tasks
    def turn_roaming_off(self) -> str:
        self._toggle_until(False, phone.toggle_roaming)
        return "Data Roaming is now OFF."

    @for_tasks
    def turn_data_saver_mode_on(self) -> str:
        self._toggle_until(True, phone.toggle_data_saver_mode)
        return "Data Saver Mode is now ON."

    @for_tasks
    def turn_data_saver_mode_off(self) -> str:
        self._toggle_until(False, phone.toggle_data_saver_mode)
        return "Data Saver Mode is now OFF."

    def _toggle_until(self, wanted: bool, toggle: Callable[[TelecomUserDB], bool]) -> None:
        # Also where the switch is already as wanted: the searches and side effects count.
        while toggle(self.db) != wanted:
            pass

    @for_tasks
    def unseat_sim_card(self) -> str:
        self.db.device.sim_card_missing = True
        phone.search_network(self.db)
        return "SIM card un-seated successfully."

    @for_tasks
    def lock_sim_card(self, mode: str) -> str:
        """Lock by "pin" or "puk"; any other mode locks nothing."""
        if mode in ("pin", "puk"):
            self.db.device.sim_card_status = SimStatus(f"locked_{mode}")
        phone.search_network(self.db)
        return f"SIM card locked successfully in {mode} mode."

    @for_tasks
    def break_apn_settings(self) -> str:
        self.db.device.active_apn_settings.apn_name = APNNames.BROKEN
        phone.search_network(self.db)
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
        return f"Wi-Fi Calling is now {phone.on_off(device.wifi_calling_enabled)}."

    @for_tasks
    def break_vpn(self) -> str:
        """Connect, if need be, and slow the server down for good."""
        device = self.db.device
        phone.connect_vpn(device, self.default_vpn)
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
        return phone.mobile_data_works(self.db) == expected_status

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
        speed = phone.speed_test(self.db)
        fast_enough = (speed.mbps or 0.0) >= expected_speed
        if expected_desc is None:
            return fast_enough
        return fast_enough and speed.description.lower() == expected_desc.lower()

    @for_checks
    def assert_internet_not_excellent(self) -> bool:
        return phone.speed_test(self.db).description != "Excellent"

    @for_checks
    def assert_can_send_mms(self, expected_status: bool) -> bool:
        return phone.can_send_mms(self.db) == expected_status

    @for_checks
    def assert_mobile_data_usage_exceeded(self, expected_status: bool) -> bool:
        return self.db.surroundings.mobile_data_usage_exceeded == expected_status
