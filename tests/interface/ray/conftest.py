"""A cluster of three nodes on this machine, which all tests of Ray share."""

import os
import secrets
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from maseval.interface.ray.engine import RayEngine
from tests.interface.libraries import needing

NODES = 3
# The least that Ray accepts.
STORE = 80_000_000
CHECKOUT = Path(__file__).parents[3]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in (each for each in items if here in each.path.parents):
        # Ray's own code leaves files and sockets open, and processes that did not start in time.
        item.add_marker(pytest.mark.filterwarnings("ignore"))
        if item.path.name.startswith("test_on_"):
            for mark in (*needing("ray"), pytest.mark.slow, pytest.mark.timeout(900)):
                item.add_marker(mark)


def patiently(start: Callable[[], Any]) -> Any:
    """Ray gives a node 30 s to start, which on a busy machine is not always enough."""
    for _ in range(9):
        with suppress(Exception):
            return start()
    return start()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("", 0))
        return int(found.getsockname()[1])


class Nodes:
    """A real cluster; every node is a set of processes of its own."""

    def __init__(self, folder: Path, number: int = NODES) -> None:
        from ray._private.utils import get_ray_address_file
        from ray.cluster_utils import Cluster

        # Ray notes the address there, and makes that folder for a Ray of its own alone.
        Path(get_ray_address_file(None)).parent.mkdir(parents=True, exist_ok=True)

        def start() -> Any:
            self._client_port = free_port()
            head = {
                **{"num_cpus": 1, "object_store_memory": STORE, "include_dashboard": False},
                **{"temp_dir": str(folder), "ray_client_server_port": self._client_port},
            }
            return Cluster(initialize_head=True, head_node_args=head)

        self.folder = folder
        self._cluster = patiently(start)
        for _ in range(number - 1):
            self.add()

    @property
    def address(self) -> str:
        return str(self._cluster.address)

    @property
    def client_address(self) -> str:
        return f"ray://{self.address.partition(':')[0]}:{self._client_port}"

    def add(self, **variables: str) -> Any:
        return patiently(
            lambda: self._cluster.add_node(
                num_cpus=1, object_store_memory=STORE, env_vars=variables or None
            )
        )

    def kill(self) -> bool:
        """kill -9 of all processes of a node that neither keeps the books nor has the driver.

        False if there is none.
        """
        from ray._private.worker import global_worker

        here = getattr(global_worker.node, "node_id", None)
        node = next((one for one in self._cluster.worker_nodes if one.node_id != here), None)
        if node is None:
            return False
        self._cluster.worker_nodes.remove(node)
        node.kill_all_processes(check_alive=False, allow_graceful=False, wait=True)
        return True

    def processes(self, name: str) -> list[int]:
        """The processes of the head that are called like this."""
        every = self._cluster.head_node.all_processes.get(name, ())
        return [one.process.pid for one in every]

    def kill_head(self) -> None:
        self._cluster.head_node.kill_all_processes(
            check_alive=False, allow_graceful=False, wait=True
        )

    def remove(self, node: Any) -> None:
        self._cluster.remove_node(node)

    def repair(self) -> None:
        """As many nodes as in the beginning; Ray lets only the main thread add one."""
        while len(self._cluster.list_all_nodes()) < NODES:
            self.add()

    def shutdown(self) -> None:
        self._cluster.shutdown()


@pytest.fixture(autouse=True)
def one_attempt() -> None:
    """Runs have the usual policy, in every process."""


@contextmanager
def short_folder() -> Iterator[Path]:
    """A folder with a short path, as Ray's sockets need one."""
    folder = Path(tempfile.mkdtemp(prefix="mr", dir="/tmp"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def ray_folder() -> Iterator[Path]:
    with short_folder() as folder:
        yield folder


@pytest.fixture(scope="session")
def nodes() -> Iterator[Nodes]:
    with short_folder() as folder, pytest.MonkeyPatch.context() as patch:
        # As in a cluster that others can reach: all its machines share a token.
        (folder / "token").write_text(secrets.token_hex(32))
        patch.setenv("RAY_AUTH_MODE", "token")
        patch.setenv("RAY_AUTH_TOKEN_PATH", str(folder / "token"))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_worker_niceness", "0")  # or they starve on a busy machine
        patch.setenv("PYTHONPATH", str(CHECKOUT), prepend=os.pathsep)
        cluster = Nodes(folder)
        patch.setenv("RAY_ADDRESS", cluster.address)
        try:
            yield cluster
        finally:
            cluster.shutdown()


@pytest.fixture
def engine(nodes: Nodes) -> RayEngine:
    """One process on each node."""
    return RayEngine("auto", processes=NODES)
