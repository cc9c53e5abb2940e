"""Records of the customer's side: a phone, its settings, and its surroundings.

After tau2-bench v0.2.0, src/tau2/domains/telecom/user_data_model.py (MIT, Sierra Research).
"""

from enum import StrEnum
from typing import Self

from pydantic import Field

from maseval.benchmark.tau2.domains.base import DB
from maseval.benchmark.tau2.domains.telecom.models import TelecomRecord
from maseval.benchmark.tau2.world.state.records import freeze


class SimStatus(StrEnum):
    ACTIVE = "active"
    MISSING = "missing"
    LOCKED_PIN = "locked_pin"
    LOCKED_PUK = "locked_puk"


class NetworkTechnology(StrEnum):
    NONE = "none"
    TWO_G = "2G"
    THREE_G = "3G"
    FOUR_G = "4G"
    FIVE_G = "5G"


class NetworkModePreference(StrEnum):
    FOUR_G_5G_PREFERRED = "4g_5g_preferred"
    FOUR_G_ONLY = "4g_only"
    THREE_G_ONLY = "3g_only"
    TWO_G_ONLY = "2g_only"


class SignalStrength(StrEnum):
    NONE = "none"
    POOR = "poor"
    FAIR = "fair"
    GOOD = "good"
    EXCELLENT = "excellent"


class PerformanceLevel(StrEnum):
    UNKNOWN = "unknown"
    POOR = "poor"
    FAIR = "fair"
    GOOD = "good"
    EXCELLENT = "excellent"


class NetworkStatus(StrEnum):
    CONNECTED = "connected"
    SEARCHING = "searching"
    NO_SERVICE = "no_service"
    EMERGENCY_ONLY = "emergency_only"


class APNNames(StrEnum):
    INTERNET = "internet"
    BROKEN = "broken"


class APNSettings(TelecomRecord):
    """Access point settings: the carrier's data network and its picture-message centre."""

    apn_name: APNNames = APNNames.INTERNET
    reset_at_reboot: bool = False
    mms_apn: str | None = "mms"
    mmsc_url: str | None = "http://mms.carrier.com/mms/wapenc"
    mms_proxy: str | None = None
    mms_port: int | None = None


class VpnDetails(TelecomRecord):
    server_address: str | None = None
    protocol: str | None = None
    server_performance: PerformanceLevel = PerformanceLevel.UNKNOWN


class AppPermissions(TelecomRecord):
    sms: bool = False
    storage: bool = False
    phone: bool = False
    network: bool = False

    def granted_names(self) -> list[str]:
        return [name for name, is_granted in self if is_granted]


class AppStatus(TelecomRecord):
    app_name: str
    permissions: AppPermissions = Field(default_factory=AppPermissions)


def _installed_apps() -> dict[str, AppStatus]:
    messaging = AppPermissions(sms=True, storage=True, phone=True)
    browser = AppPermissions(storage=True, network=True)
    return {
        "messaging": AppStatus(app_name="messaging", permissions=messaging),
        "browser": AppStatus(app_name="browser", permissions=browser),
    }


class PhoneDevice(TelecomRecord):
    """The phone: what is set on it, and what its radio found at the last search."""

    sim_card_status: SimStatus = SimStatus.ACTIVE
    sim_card_missing: bool = False
    airplane_mode: bool = False
    network_signal_strength: SignalStrength = SignalStrength.GOOD
    network_technology_connected: NetworkTechnology = NetworkTechnology.FIVE_G
    network_connection_status: NetworkStatus = NetworkStatus.CONNECTED
    battery_level: int = 80
    data_enabled: bool = True
    roaming_enabled: bool = False
    network_mode_preference: NetworkModePreference = NetworkModePreference.FOUR_G_5G_PREFERRED
    active_apn_settings: APNSettings = Field(default_factory=APNSettings)
    wifi_enabled: bool = False
    wifi_connected: bool = False
    wifi_ssid: str | None = None
    wifi_signal_strength: SignalStrength = SignalStrength.NONE
    wifi_calling_enabled: bool = False
    wifi_calling_mms_over_wifi: bool = False
    data_saver_mode: bool = False
    vpn_enabled_setting: bool = False
    vpn_connected: bool = False
    vpn_details: VpnDetails | None = None
    app_statuses: dict[str, AppStatus] = Field(default_factory=_installed_apps)

    def permit(self, app: AppStatus, permission: str, granted: bool) -> None:
        """Grant an app a permission, or take it away; the records of apps may be shared."""
        permissions = app.permissions.model_copy(update={permission: granted})
        changed = app.model_copy(update={"permissions": permissions})
        apps = self.app_statuses.items()
        self.app_statuses = {name: changed if each is app else each for name, each in apps}


class PaymentRequest(TelecomRecord):
    """A bill that the company asks the customer to pay."""

    bill_id: str
    amount_due: float
    paid: bool = False


def _usual_reception() -> dict[NetworkTechnology, SignalStrength]:
    return {
        NetworkTechnology.TWO_G: SignalStrength.POOR,
        NetworkTechnology.THREE_G: SignalStrength.FAIR,
        NetworkTechnology.FOUR_G: SignalStrength.GOOD,
        NetworkTechnology.FIVE_G: SignalStrength.EXCELLENT,
    }


class Surroundings(TelecomRecord):
    """The customer's name, the phone's place, and what the company grants its line."""

    name: str | None = None
    phone_number: str | None = None
    is_abroad: bool = False
    roaming_allowed: bool = False
    signal_strength: dict[NetworkTechnology, SignalStrength] = Field(
        default_factory=_usual_reception
    )
    mobile_data_usage_exceeded: bool = False
    line_active: bool = True
    payment_request: PaymentRequest | None = None


class TelecomUserDB(DB):
    """The customer's side of the world."""

    device: PhoneDevice = Field(default_factory=PhoneDevice)
    surroundings: Surroundings = Field(default_factory=Surroundings)

    @property
    def user_db(self) -> Self:
        """This database, under the name that it has in the company's."""
        return self

    def share_rows(self) -> Self:
        """Share what hardly a call changes, and ``PhoneDevice.permit`` replaces."""
        self.device.app_statuses = freeze(self.device.app_statuses)
        self.surroundings.signal_strength = freeze(self.surroundings.signal_strength)
        return super().share_rows()
