import pytest

from maseval.core import call_policy
from tests.interface.provider_server import serving


@pytest.fixture
def server():
    with serving() as running:
        yield running


@pytest.fixture(autouse=True)
def one_attempt(monkeypatch):
    """What an adapter does with one request is the question here, not what comes after it."""
    monkeypatch.setattr(call_policy, "_default", call_policy.CallPolicy(max_attempts=1))
