import asyncio
import gc
import warnings
from collections.abc import Iterator

import pytest

from maseval.core import call_policy
from maseval.testing.provider_server import ProviderServer, serving


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    with serving() as running:
        yield running


@pytest.fixture(autouse=True)
def one_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an adapter does with one request is the question here, not what comes after it."""
    monkeypatch.setattr(call_policy, "_default", call_policy.CallPolicy(max_attempts=1))


@pytest.fixture(autouse=True, scope="module")
def leftovers_of_the_libraries() -> Iterator[None]:
    """Some of the libraries leave event loops and connections open; no other test is to blame."""
    gc.freeze()  # so that only what this module leaves behind is looked through
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        asyncio.set_event_loop(None)  # one that was made on the way and is still remembered
        gc.collect()
