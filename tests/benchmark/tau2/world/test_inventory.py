"""What a record says of the world it took place in."""

from hashlib import sha256

from maseval.benchmark.tau2.domains.records import canonical_json
from maseval.benchmark.tau2.environment import db_statistics, tool_types, tools_sha256
from tests.benchmark.tau2.domains.kiosk import KioskTools, kiosk
from tests.benchmark.tau2.rooms import room_domain


def test_a_domain_with_one_side_has_one_sides_tools(tmp_path):
    domain = kiosk(tmp_path)
    definitions = canonical_json(KioskTools.definitions())

    assert tool_types(domain) == {"sell": "write"}
    assert tools_sha256(domain) == {"tools_sha256": sha256(definitions.encode()).hexdigest()}
    assert db_statistics(domain, tmp_path) == {}


def test_a_domain_with_two_sides_has_both_sides_tools(tmp_path):
    domain = room_domain(tmp_path)

    assert tool_types(domain) == {
        "press_switch": "write",
        "set_lamp": "write",
        "look": "read",
        "paint": "write",
    }
    assert tools_sha256(domain).keys() == {"tools_sha256", "user_tools_sha256"}
