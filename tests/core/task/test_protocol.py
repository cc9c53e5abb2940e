import pytest

from maseval.core.exceptions import (
    ConfigurationError,
    TaskFormatError,
)
from maseval.core.task import (
    TaskProtocol,
    TimeoutAction,
)


def test_a_protocol_becomes_a_dictionary_in_field_order():
    protocol = TaskProtocol(2.5, TimeoutAction.RETRY, 1, 3, {"slow": True})
    assert list(protocol.to_dict().items()) == [
        ("timeout_seconds", 2.5),
        ("timeout_action", "retry"),
        ("max_retries", 1),
        ("priority", 3),
        ("tags", {"slow": True}),
    ]
    assert protocol.to_dict()["tags"] is not protocol.tags
    assert TaskProtocol.from_dict(protocol.to_dict()) == protocol


def test_a_protocol_has_no_limits_by_default():
    assert TaskProtocol() == TaskProtocol(None, TimeoutAction.SKIP, 0, 0, {})
    assert TaskProtocol.from_dict({}) == TaskProtocol()


@pytest.mark.parametrize(
    "fault",
    [
        {"timeout_seconds": -1},
        {"timeout_seconds": float("nan")},
        {"timeout_seconds": "10"},
        {"max_retries": -1},
        {"max_retries": 1.5},
        {"priority": "high"},
        {"timeout_action": "retry"},
    ],
)
def test_a_protocol_out_of_range_is_refused(fault):
    (name, value) = next(iter(fault.items()))
    with pytest.raises(ConfigurationError, match=f"{name} is {value!r}; give"):
        TaskProtocol(**fault)


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        ({"timeout": 3}, "no 'timeout'; it has timeout_seconds, timeout_action"),
        ({"timeout_action": "give up"}, "'give up'; choose one of: skip, retry, extend"),
        ({"tags": ["slow"]}, "'tags' of a task must be a dict"),
    ],
)
def test_a_misspelt_protocol_is_refused(fault, complaint):
    with pytest.raises(TaskFormatError, match=complaint):
        TaskProtocol.from_dict(fault)
