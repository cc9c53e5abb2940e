"""Where the recorded vectors and the data files lie, for every test that needs them."""

import gc
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import HealthCheck, settings

from maseval.benchmark.tau2.data_loader import (
    VALID_DOMAINS,
    DataUnavailableError,
    ensure_data_exists,
)
from maseval.core import model as model_module
from maseval.core import providers as providers_module
from tests.file_server import FileServer

CHECKOUT = Path(__file__).parents[1]

# A shell starts background jobs with Ctrl-C ignored, and the tests of Ctrl-C would wait in vain.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The tests start hundreds of processes, and each would compile the whole package again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Servers of the tests are on this machine, whatever proxy leads out of it.
for name in ("NO_PROXY", "no_proxy"):
    os.environ[name] = ",".join(filter(None, (os.environ.get(name), "127.0.0.1", "localhost")))

# How long an example takes says more about the machine than about the code.
STEADY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("steady", STEADY)
settings.register_profile("quick", STEADY, max_examples=10)
settings.load_profile(os.environ.get("MASEVAL_EXAMPLES", "steady"))


# What a clone has not by itself: vectors and data that lie beside it.
BESIDE = {"contract_dir", "macs_contract", "shared_data"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that need what lies beside the checkout, for a pass of their own.

    Files with slow tests come first, so that no process is still busy with one when the others
    have nothing left to do.
    """
    for item in items:
        if not BESIDE.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker("beside")
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture(scope="session", autouse=True)
def clients_of_providers_are_closed() -> Iterator[None]:
    """Each local server of a test leaves behind a client that was to be shared."""
    yield
    if provider := sys.modules.get("maseval.interface.inference.provider"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            provider.shared_client.cache_clear()
            gc.collect()


@pytest.fixture(scope="session", autouse=True)
def state_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What commands remember about this user's files is not what tests leave behind."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="module", autouse=True)
def folders_of_own_code_are_forgotten() -> Iterator[None]:
    """Each agent in a file makes its folder importable; hundreds of them slow down every import."""
    before = [*sys.path]
    yield
    sys.path[:] = before


@pytest.fixture(autouse=True)
def no_registration_outlives_its_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model named ``mine`` in an executed example must not answer for the next test's."""
    for providers in (model_module.MODELS, providers_module.EMBEDDERS):
        monkeypatch.setattr(providers, "registered", dict(providers.registered))


@pytest.fixture
def file_server() -> Iterator[FileServer]:
    """A server of untrue data files, for tests that need no true ones."""
    with FileServer() as server:
        yield server


@pytest.fixture(scope="session")
def contract_dir() -> Path:
    """The folder of vectors: beside the checkout, or where MASEVAL_CONTRACT_DIR points."""
    beside = CHECKOUT.parent / "shared" / "contract"
    folder = Path(os.environ.get("MASEVAL_CONTRACT_DIR", beside))
    if not folder.is_dir():
        absent("MASEVAL_REQUIRE_CONTRACT", f"no contract vectors in {folder}")
    return folder


@pytest.fixture(scope="session")
def tau2_data() -> Path:
    """The folder that holds ``domains`` and ``user_simulator``, complete and verified."""
    try:
        return ensure_data_exists(verbose=0)
    except DataUnavailableError as error:
        absent("MASEVAL_REQUIRE_DATA", f"no tau2 data: {error}")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Files of tau2-bench v1.0.1 and texts, beside the checkout or where MASEVAL_SHARED_DATA is."""
    beside = CHECKOUT.parent / "shared" / "data"
    folder = Path(os.environ.get("MASEVAL_SHARED_DATA", beside))
    if not folder.is_dir():
        absent("MASEVAL_REQUIRE_DATA", f"no shared data in {folder}")
    return folder


@pytest.fixture(scope="session")
def macs_data(shared_data: Path) -> Path:
    """The files of MACS by the original's paths."""
    folder = shared_data / "macs"
    if not folder.is_dir():
        absent("MASEVAL_REQUIRE_DATA", f"no MACS data in {folder}")
    return folder


@pytest.fixture(scope="session")
def tau2_data_of_1_0_1(tau2_data: Path, shared_data: Path) -> Path:
    """The same for v1.0.1: what did not change is v0.2.0's, the rest is in the shared data."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MASEVAL_TAU2_DATA", str(shared_data / "tau2-v1.0.1"))
        for domain in VALID_DOMAINS:
            folder = ensure_data_exists(domain=domain, version="1.0.1", verbose=0)
    return folder


@pytest.fixture(scope="session")
def tau2_data_verified(tau2_data_of_1_0_1: Path, shared_data: Path) -> Path:
    """The same for tau2-bench-verified, which shares files with both other releases."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MASEVAL_TAU2_DATA", str(shared_data / "tau2-verified"))
        for domain in VALID_DOMAINS:
            folder = ensure_data_exists(domain=domain, version="verified", verbose=0)
    return folder


@pytest.fixture(scope="session")
def banking_data(shared_data: Path) -> Path:
    """The folder of banking_knowledge's files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MASEVAL_TAU2_DATA", str(shared_data / "tau2-v1.0.1"))
        root = ensure_data_exists(domain="banking_knowledge", version="1.0.1", verbose=0)
    return root / "domains" / "banking_knowledge"


@pytest.fixture(scope="module")
def tau2_texts(shared_data: Path) -> Iterator[None]:
    """The words of the original, without which the bank has no policy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MASEVAL_TAU2_TEXTS", str(shared_data / "tau2-texts"))
        yield


def absent(required_by: str, reason: str) -> NoReturn:
    if os.environ.get(required_by) == "1":
        pytest.fail(f"{reason}, and {required_by}=1 asks for it", pytrace=False)
    pytest.skip(reason.partition(" Tried:")[0])
