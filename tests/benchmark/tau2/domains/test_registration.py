"""Domains of one's own, known by their names."""

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
from tests.benchmark.tau2.domains.kiosk import kiosk


@pytest.fixture(autouse=True)
def nobody_has_registered_any(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registration, "_added", {})
    monkeypatch.setattr(registration, "_find_elsewhere", None)


def test_a_registered_domain_is_known_by_its_name_everywhere(tmp_path):
    mine = register_domain(kiosk(tmp_path))

    assert domain_named("kiosk") is mine
    assert domain_names() == sorted([*DOMAINS, "kiosk"])
    assert [task.id for task in load_tasks("kiosk")] == ["two"]
    assert "kiosk" not in DOMAINS


def test_a_second_domain_of_a_name_is_refused_unless_it_is_to_replace_the_first(tmp_path):
    first, second = kiosk(tmp_path), kiosk(tmp_path)
    register_domain(first)

    with pytest.raises(DuplicateDomainError, match=r"'kiosk' is already.*replace=True"):
        register_domain(second)
    assert domain_named("kiosk") is first

    register_domain(second, replace=True)
    assert domain_named("kiosk") is second


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
        register_domain("retail")


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
        domain_named(name)

    assert isinstance(refusal.value, ValueError)
