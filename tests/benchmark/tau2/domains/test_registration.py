"""Domains of one's own: by a call, or by an entry point of an installed package."""

import logging
import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest

from maseval.benchmark.tau2 import load_tasks
from maseval.benchmark.tau2.domains import (
    DOMAINS,
    DuplicateDomainError,
    InvalidDomainError,
    UnknownDomainError,
    domain_named,
    domain_names,
    register_domain,
    registration,
)
from maseval.benchmark.tau2.domains.registration import GROUP, DomainRegistry
from tests.benchmark.tau2.domains.kiosk import KioskTools, kiosk


@pytest.fixture
def offers(monkeypatch):
    """A module of some installed package, in which entry points find what it offers."""
    module = ModuleType("some_package")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


def registry_with(*names: str) -> DomainRegistry:
    points = [EntryPoint(name, f"some_package:{name}", GROUP) for name in names]
    return DomainRegistry(DOMAINS, lambda: points)


def test_a_registered_domain_is_known_by_its_name_everywhere(tmp_path, monkeypatch):
    monkeypatch.setattr(registration, "_registry", registry_with())
    mine = register_domain(kiosk(tmp_path))

    assert domain_named("kiosk") is mine
    assert domain_names() == sorted([*DOMAINS, "kiosk"])
    assert [task.id for task in load_tasks("kiosk")] == ["two"]
    assert "kiosk" not in DOMAINS


def test_a_second_domain_of_a_name_is_refused_unless_it_is_to_replace_the_first(tmp_path):
    registry, first, second = registry_with(), kiosk(tmp_path), kiosk(tmp_path)
    registry.register(first)

    with pytest.raises(DuplicateDomainError, match=r"'kiosk' is already.*replace=True"):
        registry.register(second)
    assert registry.find("kiosk") is first

    registry.register(second, replace=True)
    assert registry.find("kiosk") is second


@pytest.mark.parametrize("replace", [True, False])
def test_nobody_can_take_the_name_of_a_built_in_domain(tmp_path, replace):
    with pytest.raises(DuplicateDomainError, match="'retail' is a domain of maseval itself"):
        register_domain(kiosk(tmp_path, name="retail"), replace=replace)

    assert domain_named("retail") is DOMAINS["retail"]


def test_a_domain_that_cannot_work_is_refused_with_all_its_faults(tmp_path):
    broken = kiosk(tmp_path, name="My Kiosk", db_file="other.json")

    with pytest.raises(InvalidDomainError, match=r"(?s)lower-case letters.*has no other\.json"):
        register_domain(broken)


def test_what_is_no_domain_is_refused():
    with pytest.raises(InvalidDomainError, match="not a Domain"):
        register_domain("retail")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("libary", r"Invalid domain 'libary'; did you mean 'library'\? choose one of: airline"),
        ("shop", r"Invalid domain 'shop'; choose one of: airline, banking_knowledge, library"),
        (None, "Invalid domain None"),
    ],
)
def test_an_unknown_name_is_answered_with_the_known_and_the_nearest(name, expected):
    with pytest.raises(UnknownDomainError, match=expected) as refusal:
        registry_with().find(name)

    assert isinstance(refusal.value, ValueError)


def test_an_entry_point_may_give_a_domain_or_a_function_that_makes_one(tmp_path, offers):
    offers.kiosk = kiosk(tmp_path)
    offers.stall = lambda: kiosk(tmp_path, name="stall")
    registry = registry_with("kiosk", "stall")

    assert registry.find("kiosk") is offers.kiosk
    assert registry.find("stall") is registry.find("stall")
    assert registry.names() == sorted([*DOMAINS, "kiosk", "stall"])


def test_packages_are_asked_only_when_a_name_is_not_known_and_only_once(tmp_path, offers):
    asked = []
    offers.kiosk = lambda: asked.append("kiosk") or kiosk(tmp_path)
    registry = registry_with("kiosk")

    registry.find("retail")
    assert asked == []
    for _ in range(2):
        registry.find("kiosk")
        registry.names()
    assert asked == ["kiosk"]


def test_a_broken_entry_point_is_named_and_spoils_nothing_but_itself(tmp_path, offers, caplog):
    def torn():
        raise RuntimeError("no paper left")

    offers.torn, offers.kiosk, offers.number = torn, kiosk(tmp_path), 7
    offers.stall = kiosk(tmp_path, name="booth")
    offers.retail = kiosk(tmp_path, name="retail")
    registry = registry_with("torn", "missing", "number", "stall", "retail", "kiosk")

    with caplog.at_level(logging.WARNING):
        assert registry.names() == sorted([*DOMAINS, "kiosk"])

    assert len(caplog.records) == 5
    assert registry.find("retail") is DOMAINS["retail"]
    for name, why in {
        "torn": "'some_package:torn' in maseval.domains failed with RuntimeError: no paper left",
        "missing": "AttributeError",
        "number": "7 is not a Domain",
        "stall": "it gives a domain named 'booth'",
    }.items():
        with pytest.raises(UnknownDomainError, match=rf"Invalid domain '{name}': .*{why}"):
            registry.find(name)
    with pytest.raises(UnknownDomainError, match="failed to load: missing, number"):
        registry.find("bank")


def test_an_entry_point_may_look_at_other_domains_while_it_is_loaded(tmp_path, offers):
    registry = registry_with("kiosk")
    offers.kiosk = lambda: kiosk(tmp_path, db_file=registry.find("retail").db_file)

    assert registry.find("kiosk").toolkit is KioskTools


def test_a_package_on_the_path_is_found_by_every_command(tmp_path):
    package, info = tmp_path / "my_kiosk", tmp_path / "my_kiosk-1.0.dist-info"
    for folder in (package, info):
        folder.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-kiosk\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[maseval.domains]\nkiosk = my_kiosk:domain\ngone = my_kiosk:nowhere\n"
    )
    kiosk(package)
    (package / "__init__.py").write_text(
        "from pathlib import Path\n"
        "from tests.benchmark.tau2.domains.kiosk import KioskDB, KioskTools\n"
        "from maseval.benchmark.tau2.domains import Domain\n"
        "def domain():\n"
        "    return Domain('kiosk', KioskDB, KioskTools, data_dir=Path(__file__).parent)\n"
    )
    program = (
        "from maseval.benchmark.tau2 import load_tasks\n"
        "from maseval.benchmark.tau2.domains import domain_names\n"
        "print(load_tasks('kiosk')[0].id, *domain_names())\n"
    )
    path = os.pathsep.join([str(tmp_path), os.getcwd()])

    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )

    assert done.returncode == 0, done.stderr
    words = done.stdout.split()
    assert words[0] == "two"
    assert "kiosk" in words[1:]
    assert "gone = 'my_kiosk:nowhere' of my-kiosk" in done.stderr
